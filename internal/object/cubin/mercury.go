package cubin

import "strings"

// From sm_100 on a cubin holds the program twice: as instructions, and as Mercury code for
// the driver's finalizer. Sections of the second program mirror those of the first one,
// have SHF_MERCURY, and are called MercuryPrefix and then as the section; those of code
// begin with CapsulePrefix instead.
const (
	MercuryPrefix  = ".nv.merc"
	CapsulePrefix  = ".nv.capmerc"
	MercurySymbols = MercuryPrefix + ".symtab"
)

// mercuryBanks are the banks of constants that have another name in the second program.
var mercuryBanks = []struct{ first, second string }{
	{".nv.constant2", ".nv.constant.optimizer"},
	{".nv.constant3", ".nv.constant.user"},
	{".nv.constant4", ".nv.constant.pic"},
}

// MercuryName is the name of a section in the second program, without the prefix of all
// names there.
func MercuryName(name string) string {
	for _, bank := range mercuryBanks {
		if renamed, ok := replaceBank(name, bank.first, bank.second); ok {
			return renamed
		}
	}
	return name
}

// SassName is the name in the first program of a section of the second one, whose name is
// without the prefix.
func SassName(name string) string {
	for _, bank := range mercuryBanks {
		if renamed, ok := replaceBank(name, bank.second, bank.first); ok {
			return renamed
		}
	}
	return name
}

// replaceBank replaces the bank in the name of a section or of its relocations, which may
// end with a dot and the name of a function.
func replaceBank(name, from, to string) (string, bool) {
	prefix := ""
	for _, p := range []string{".rela", ".rel"} {
		if strings.HasPrefix(name, p+".") {
			prefix = p
			break
		}
	}
	rest, ok := strings.CutPrefix(name[len(prefix):], from)
	if !ok || (rest != "" && rest[0] != '.') {
		return "", false
	}
	return prefix + to + rest, true
}
