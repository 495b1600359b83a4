package assemble

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Command is a command line of ptxas that makes one cubin of one file.
type Command struct {
	Input, Output string
	// Arguments are all other words, in their order.
	Arguments []string
}

// An option is one of ptxas's. Options that are not in the table are left to ptxas.
type option struct {
	long, short string
	value       bool     // it has a value
	joined      bool     // the value may follow the short name at once: -m64
	attached    bool     // the value must be in the word of the short name: -O3, -O=3
	allowed     []string // the values, if a word that is none of them must not be taken for one
	// whole is why code that is made with this option is not composed of kernels.
	whole string
	// impure: the result may depend on more than the text and the options.
	impure bool
}

const (
	relocatableCode = "code that is linked further has functions that kernels share"
	debugCode       = "debug information is not composed"
	otherClones     = "with this option ptxas does not clone functions into kernels"
	untried         = "no rule says what this option does to the parts"
)

var truth = []string{"true", "false"}

var optionTable = []option{
	{long: "Ofast-compile", short: "Ofc", value: true, whole: otherClones},
	{long: "allow-expensive-optimizations", short: "allow-expensive-optimizations", value: true, allowed: truth},
	{long: "compile-only", short: "c", whole: relocatableCode},
	{long: "cuda-api-version", short: "cuda-api-version", value: true},
	{long: "def-load-cache", short: "dlcm", value: true},
	{long: "def-store-cache", short: "dscm", value: true},
	{long: "device-debug", short: "g", whole: debugCode, impure: true},
	{long: "device-function-maxrregcount", short: "func-maxrregcount", value: true},
	{long: "device-stack-protector", short: "device-stack-protector", value: true, allowed: truth},
	{long: "disable-optimizer-constants", short: "disable-optimizer-consts"},
	{long: "disable-warnings", short: "w"},
	{long: "dont-merge-basicblocks", short: "no-bb-merge"},
	{long: "entry", short: "e", value: true, whole: untried},
	{long: "extensible-whole-program", short: "ewp", whole: untried},
	{long: "fmad", short: "fmad", value: true, allowed: truth},
	{long: "force-load-cache", short: "flcm", value: true},
	{long: "force-store-cache", short: "fscm", value: true},
	{long: "generate-line-info", short: "lineinfo", impure: true},
	{long: "gpu-name", short: "arch", value: true},
	{long: "machine", short: "m", value: true, joined: true},
	{long: "make-errors-visible-at-exit", short: "make-errors-visible-at-exit"},
	{long: "maxntid", short: "maxntid", value: true},
	{long: "maxrregcount", short: "maxrregcount", value: true},
	{long: "minnctapersm", short: "minnctapersm", value: true},
	{long: "opt-level", short: "O", value: true, joined: true, attached: true},
	{long: "optimize-float-atomics", short: "opt-fp-atomics"},
	{long: "output-file", short: "o", value: true},
	{long: "override-directive-values", short: "override-directive-values"},
	{long: "position-independent-code", short: "pic", value: true, allowed: truth, whole: untried},
	{long: "preserve-relocs", short: "preserve-relocs", whole: untried},
	{long: "register-usage-level", short: "regUsageLevel", value: true},
	{long: "return-at-end", short: "ret-end"},
	{long: "sp-bounds-check", short: "sp-bounds-check"},
	{long: "split-compile", short: "split-compile", value: true, whole: untried},
	{long: "suppress-debug-info", short: "suppress-debug-info"},
	{long: "suppress-double-demote-warning", short: "suppress-double-demote-warning"},
	{long: "suppress-stack-size-warning", short: "suppress-stack-size-warning"},
	{long: "verbose", short: "v"},
	{long: "warn-on-double-precision-use", short: "warn-double-usage"},
	{long: "warn-on-local-memory-usage", short: "warn-lmem-usage"},
	{long: "warn-on-spills", short: "warn-spills"},
	{long: "warning-as-error", short: "Werror"},
}

// A word is one argument, or two if the second is the value of the first.
type word struct {
	option *option // nil for an input
	value  string
	words  []string
}

// split cuts a command line into options and inputs. The error names what only ptxas
// itself can understand.
func split(arguments []string) (list []word, err error) {
	for i := 0; i < len(arguments); i++ {
		arg := arguments[i]
		if arg == "" {
			return nil, errors.New("there is an empty argument")
		}
		name, isOption := strings.CutPrefix(arg, "-")
		if !isOption {
			list = append(list, word{value: arg, words: arguments[i : i+1]})
			continue
		}
		w, ok := readOption(name)
		switch {
		case !ok:
			return nil, fmt.Errorf("warpld does not know the option '%s'", arg)
		case !w.option.value, w.value != "":
			w.words = arguments[i : i+1]
		case i+1 == len(arguments) || !w.option.accepts(arguments[i+1]), w.option.attached && arg[1] != '-':
			return nil, fmt.Errorf("the option '%s' has no value that warpld knows", arg)
		default:
			i++
			w.value, w.words = arguments[i], arguments[i-1:i+1]
		}
		list = append(list, w)
	}
	return list, nil
}

// readOption reads a word without its first dash. The value is empty if it is not in the
// word. Long names have two dashes and short ones have one, whatever their length.
func readOption(name string) (w word, ok bool) {
	name, long := strings.CutPrefix(name, "-")
	name, value, assigned := strings.Cut(name, "=")
	for i := range optionTable {
		o := &optionTable[i]
		switch {
		case (long && name == o.long) || (!long && name == o.short):
			return word{option: o, value: value}, !assigned || (o.value && o.accepts(value))
		case o.joined && !long && !assigned && isNumberAfter(name, o.short):
			return word{option: o, value: name[len(o.short):]}, true
		}
	}
	return w, false
}

// accepts reports whether a word can be the value of an option.
func (o *option) accepts(value string) bool {
	return value != "" && value[0] != '-' && (o.allowed == nil || slices.Contains(o.allowed, value))
}

func isNumberAfter(word, name string) bool {
	number, ok := strings.CutPrefix(word, name)
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// Parse reads a command line. The error is why it is left to ptxas as it is.
func Parse(arguments []string) (*Command, error) {
	list, err := split(arguments)
	if err != nil {
		return nil, err
	}
	c := &Command{}
	for _, w := range list {
		switch {
		case w.option == nil && c.Input != "":
			return nil, fmt.Errorf("there is more than one input")
		case w.option == nil:
			c.Input = w.value
		case w.option.long == "output-file" && c.Output != "":
			return nil, fmt.Errorf("there is more than one output")
		case w.option.long == "output-file":
			c.Output = w.value
		default:
			c.Arguments = append(c.Arguments, w.words...)
		}
	}
	if c.Input == "" || c.Output == "" {
		return nil, fmt.Errorf("an input or an output is not named")
	}
	return c, nil
}

// WhyWhole returns why code that is made with these arguments is not assembled kernel by
// kernel, or "".
func WhyWhole(arguments []string) string {
	list, err := split(arguments)
	if err != nil {
		return err.Error()
	}
	for _, w := range list {
		switch {
		case w.option == nil:
			return fmt.Sprintf("'%s' is no option", w.value)
		case w.option.whole != "":
			return fmt.Sprintf("'%s': %s", w.words[0], w.option.whole)
		}
	}
	return ""
}

// IsRelocatable reports whether ptxas makes code with these arguments that is linked further.
func IsRelocatable(arguments []string) bool { return hasOption(arguments, "compile-only") }

// hasOption reports whether an option is given, by its long name.
func hasOption(arguments []string, long string) bool {
	list, err := split(arguments)
	return err == nil && slices.ContainsFunc(list, func(w word) bool { return w.option != nil && w.option.long == long })
}

// Impure returns why a result that is made with these arguments may depend on more than
// them and the text, or "".
func Impure(arguments []string) string {
	list, err := split(arguments)
	if err != nil {
		return err.Error()
	}
	for _, w := range list {
		if w.option != nil && w.option.impure {
			return LineTables
		}
	}
	return ""
}

// LineTables is why code with line tables is not cached.
const LineTables = "ptxas of 13.0 writes sizes and times of the source files into line tables"
