package llvm

import (
	"fmt"
	"slices"
	"strings"
)

// repairNames renames what PTX cannot name. LLVM does so for symbols that are nobody
// else's; of the others each module must make the same of the same name.
func (p *program) repairNames() error {
	for _, v := range slices.Concat(p.functions(), p.variables(), p.aliases()) {
		name := p.api.name(v)
		if !p.visible(v) || strings.HasPrefix(name, "llvm.") {
			continue
		}
		valid := validName(name)
		if valid == name {
			continue
		}
		p.api.setName(v, valid, uintptr(len(valid)))
		if p.api.name(v) != valid {
			return &failure{"LLVMSetValueName", -1, fmt.Sprintf("'%s' and '%s' would have the same name in PTX", name, valid)}
		}
	}
	return nil
}

// validName replaces characters that PTX doesn't allow by "_$_", as LLVM does.
func validName(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if c == '_' || c == '$' || ('0' <= c && c <= '9') || ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') {
			b.WriteByte(c)
		} else {
			b.WriteString("_$_")
		}
	}
	return b.String()
}
