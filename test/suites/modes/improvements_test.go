//go:build realtools

package modes

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/test/kit"
)

// An improvement is an intended difference: an additional warning, or another
// result.
type improvement struct {
	id     string
	nvlink string // what nvlink does
	warpld string // what we do
	back   string // how to get nvlink's way, if not by --warpld-engine=vendor
	// example is a command line on which the linkers differ.
	example string
	// warning is the additional warning.
	warning *regexp.Regexp
	// applies reports whether nvlink's answer can have the fault in question, and
	// instead compares our answer with what it has to be then.
	applies func(line string, want kit.Result) bool
	instead judgement
}

type judgement func(s setting, tb testing.TB, line string, want, got kit.Result) verdict

var improvements []improvement

func init() { // a judgement may refer to the list
	improvements = []improvement{
		{
			id: "no-devrt",
			nvlink: "A whole program of host objects whose last one is not libcudadevrt: writes the right output, then " +
				"fails with `expected libcudadevrt object`.",
			warpld:  "Succeeds, with the output that nvlink makes when libcudadevrt comes last.",
			example: "LTO FORM/a.o FORM/b.o",
			applies: says("nvlink fatal   : expected libcudadevrt object\n"),
			instead: withRuntimeLast,
		},
		{
			id: "runtime-order",
			nvlink: "libcudadevrt before the last object with LTO-IR, in a link that is not whole: fails with " +
				"`unexpected object after cudadevrt`.",
			warpld:  "Links as if libcudadevrt came last.",
			example: "LTO FORM/a.o $LIB/libcudadevrt.a FORM/b.o -r",
			applies: says("nvlink fatal   : unexpected object after cudadevrt\n"),
			instead: withRuntimeLast,
		},
		{
			id: "bare-ir",
			nvlink: "`.ltoir`, `.nvvm` and `.fatbin` inputs in a link that is not whole, when no host object has " +
				"LTO-IR: compiles their code, and leaves it out of the result.",
			warpld: "Keeps it, at the place of the last of them; as nvlink does when an empty host object with LTO-IR " +
				"stands there.",
			example: "LTO ltoir/a.ltoir rdc/b.o",
			applies: func(line string, _ kit.Result) bool { return bareIR.MatchString(line) },
			instead: withHostObject,
		},
		{
			id:      "endless-loop",
			nvlink:  "A truncated fat binary: never ends, or ignores it, by chance.",
			warpld:  "Says that the file is not a fat binary, and fails.",
			example: "bad/cut.fatbin rdc/a.o -r",
			applies: func(line string, want kit.Result) bool {
				return want.Exit == stopped || strings.Contains(line, "bad/cut.fatbin")
			},
			instead: failsWith("nvlink fatal   : fatbin wrong format?\n"),
		},
		{
			id:      "nvvmpath",
			nvlink:  "Link-time optimization without `-nvvmpath`, or with a wrong one: fails.",
			warpld:  "Without it, takes the libnvvm of its toolkit. A wrong one does not matter if nvJitLink compiles.",
			back:    "call nvlink itself",
			example: "-dlto FORM/a.o FORM/b.o DEVRT",
			applies: func(line string, _ kit.Result) bool {
				return !strings.Contains(line, "LTO ") && strings.Contains(line, "-dlto ")
			},
			instead: withNVVM,
		},
		{
			id:      "prec-sqrt",
			nvlink:  "`-Xnvvm=-prec-sqrt=...`: passes the option twice, which libnvvm refuses.",
			warpld:  "Passes it once.",
			example: "LTO FORM/a.o FORM/b.o DEVRT -Xnvvm=-prec-sqrt=0",
			applies: says("libnvvm : error: -prec-sqrt defined more than once"),
			instead: as("-Xnvvm=-prec-sqrt=0", "-Xnvvm=-link-lto"), // the code has no square root
		},
		{
			id: "virtual-target",
			nvlink: "`-arch=compute_NN`: fails if NN has three digits; writes nothing, with exit code 0, if the link is " +
				"not whole.",
			warpld:  "Links as for `sm_NN`.",
			example: "LTO FORM/a.o rdc/b.o DEVRT -arch=compute_$N",
			applies: func(line string, _ kit.Result) bool { return strings.Contains(line, "-arch=compute_$N") },
			instead: as("-arch=compute_$N", "-arch=sm_$N"),
		},
		{
			id: "split-order",
			nvlink: "`-split-compile-extended`: merges the parts in the order in which they are done, so that no two " +
				"links give the same bytes.",
			warpld:  "Merges them in an order that depends on their contents. The symbols and the code are the same.",
			example: "LTO FORM/many1.o FORM/many2.o DEVRT -split-compile-extended=2",
			applies: func(line string, want kit.Result) bool {
				return strings.Contains(line, "-split-compile-extended") && want.Exit == 0
			},
			instead: sameSymbols,
		},
		{
			id:      "ptx-input",
			nvlink:  "`.ptx` inputs: links them for sm_90 and later; below that assembles them and leaves them out, in silence.",
			warpld:  "Links them for every target.",
			example: "ptx/b.ptx rdc/a.o -r",
			applies: func(line string, _ kit.Result) bool { return strings.Contains(line, "ptx/b.ptx") },
			instead: withAssembled,
		},
		{
			id: "split-crash",
			nvlink: "`-split-compile-extended`: crashes about once in forty times, and always on programs of some " +
				"hundred modules.",
			warpld:  "The compiler runs in a process of its own, whose crash does not end the link.",
			example: "LTO FORM/many1.o FORM/many2.o DEVRT -split-compile-extended=2",
			applies: func(line string, want kit.Result) bool {
				return strings.Contains(line, "-split-compile-extended") && want.Exit > 128 && want.Exit < 160
			},
			instead: succeeds,
		},
		{
			id:      "verbose-keep",
			nvlink:  "`--verbose-keep`, `-vkeep`: do not exist.",
			warpld:  "Keeps the intermediate files and prints the commands that make them.",
			back:    "leave the option out",
			example: "LTO FORM/a.o FORM/b.o DEVRT -vkeep",
			applies: says("nvlink fatal   : Unknown option 'vkeep'\n"),
			instead: withoutKeeping,
		},
		{
			id:      "ignored-input",
			nvlink:  "Inputs that are empty, damaged, of no known kind, or linked already: leaves them out in silence.",
			warpld:  "Leaves them out with a warning, which `--warpld-strict` makes an error.",
			back:    "`-w` hides the warning",
			example: "bad/text.txt rdc/a.o -r",
			warning: regexp.MustCompile(`^nvlink warning : '.*' is not linked: `),
		},
		{
			id:      "missing-library",
			nvlink:  "`-l` of a library that is nowhere: goes on in silence.",
			warpld:  "Goes on with a warning, which `--warpld-strict` makes an error.",
			back:    "`-w` hides the warning",
			example: "-lnosuch rdc/a.o -r",
			warning: regexp.MustCompile(`^nvlink warning : no lib.*\.a found for -l`),
		},
		{
			id:      "bare-kernels",
			nvlink:  "Kernels of bare LTO-IR beside host objects: removes them in silence, because no host code names them.",
			warpld:  "Removes them with a warning, which `--warpld-strict` makes an error.",
			back:    "`-w` hides the warning",
			example: "LTO FORM/hostref.o ltoir/a.ltoir ltoir/b.ltoir DEVRT",
			warning: regexp.MustCompile(`^nvlink warning : kernels of '.*' are removed unless`),
		},
		{
			id:     "member-arch",
			nvlink: "A member of an archive without code for the target: leaves it out in silence; of other inputs it warns.",
			warpld: "The same, with the warning for other inputs, which `--warpld-strict` makes an error and `-Werror` " +
				"does not.",
			back:    "`-suppress-arch-warning`, or `-w`",
			example: "rdc/a.o rdc/b.o ar/libold.a",
			warning: regexp.MustCompile(`^nvlink warning : SM Arch \('.*'\) not found in '.*\.a:.*'`),
		},
		{
			id:      "empty-result",
			nvlink:  "No input has code for the target: writes an empty cubin, with exit code 0.",
			warpld:  "The same, with a warning, which `--warpld-strict` makes an error.",
			back:    "`-w` hides the warning",
			example: "LTO other/b.o",
			warning: regexp.MustCompile(`^nvlink warning : no input has device code for`),
		},
	}
}

// stopped is the exit code of an nvlink that ran into the time limit.
const stopped = 124

// says is for faults that nvlink tells of.
func says(text string) func(string, kit.Result) bool {
	return func(_ string, want kit.Result) bool { return strings.Contains(want.Stderr, text) }
}

// as compares with what nvlink makes of the line with words in the place of
// others.
func as(old, with string) judgement {
	return func(s setting, tb testing.TB, line string, _, got kit.Result) verdict {
		return compare(s.reference(tb, s.job(tb, strings.ReplaceAll(line, old, with))), got)
	}
}

// asWith compares with what nvlink makes of the line with more words at its end.
func asWith(words string) judgement {
	return func(s setting, tb testing.TB, line string, _, got kit.Result) verdict {
		return compare(s.reference(tb, s.job(tb, line+" "+words)), got)
	}
}

// withNVVM compares with what nvlink makes of the line if it is told where
// libnvvm is.
func withNVVM(s setting, tb testing.TB, line string, want, got kit.Result) verdict {
	line = strings.ReplaceAll(line, "-nvvmpath=nowhere ", "")
	return as("-dlto ", "LTO ")(s, tb, line, want, got)
}

// withRuntimeLast compares with what nvlink makes of the line if libcudadevrt
// is the last input.
func withRuntimeLast(s setting, tb testing.TB, line string, want, got kit.Result) verdict {
	return asWith("DEVRT")(s, tb, strings.ReplaceAll(line, "$LIB/libcudadevrt.a ", ""), want, got)
}

var bareIR = regexp.MustCompile(`(FORM|ltoir)/\S+\.(ltoir|nvvm|fatbin) `)

// withHostObject compares with what nvlink makes of the line with a host object
// after the last bare file, which has LTO-IR but no code.
func withHostObject(s setting, tb testing.TB, line string, _, got kit.Result) verdict {
	all := bareIR.FindAllStringIndex(line, -1)
	at := all[len(all)-1][1]
	want := s.reference(tb, s.job(tb, line[:at]+"empty/ir.o "+line[at:]))
	if text, ok := want.Files["register.c"]; ok {
		want.Files["register.c"] = unregister(text)
	}
	if v := compare(want, got); v.outcome != different {
		return v
	}
	return sameSymbols(s, tb, line, want, got) // libnvvm 13.4 gives a single module another order than several
}

var registered = regexp.MustCompile(`DEFINE_REGISTER_FUNC\(.*\)\n`)

// unregister takes the object that withHostObject adds out of a registration file.
func unregister(text []byte) []byte {
	ids := registered.FindAllString(string(text), -1)
	kept := slices.DeleteFunc(ids, func(id string) bool { return strings.Contains(id, emptySource+"_cu") })
	return []byte(fmt.Sprintf("#define NUM_PRELINKED_OBJECTS %d\n", len(kept)) + strings.Join(kept, ""))
}

// ofPTX is ptx/b.ptx after ptxas.
const ofPTX = "assembled.cubin"

// withAssembled compares with what nvlink makes of the line with the cubin in the
// place of the PTX.
func withAssembled(s setting, tb testing.TB, line string, _, got kit.Result) verdict {
	want := s.reference(tb, s.job(tb, strings.ReplaceAll(line, "ptx/b.ptx", "ptx/"+ofPTX)))
	want.Stderr = strings.ReplaceAll(want.Stderr, ofPTX, "b.ptx")
	if text, ok := want.Files["register.c"]; ok {
		want.Files["register.c"] = bytes.ReplaceAll(text, []byte("assembled_cubin"), []byte("b_ptx"))
	}
	return compare(want, got)
}

// withoutKeeping compares with what nvlink makes of the line without -vkeep, but
// for what is kept.
func withoutKeeping(s setting, tb testing.TB, line string, want, got kit.Result) verdict {
	got.Stdout, got.Files = "", maps.Clone(got.Files)
	maps.DeleteFunc(got.Files, func(name string, _ []byte) bool { return strings.HasPrefix(name, output+".keep/") })
	return as(" -vkeep", "")(s, tb, line, want, got)
}

// succeeds wants an output.
func succeeds(_ setting, _ testing.TB, _ string, _, got kit.Result) verdict {
	if got.Exit != 0 || len(got.Files[output]) == 0 {
		return verdict{outcome: different,
			differences: []string{fmt.Sprintf("exit code %d and %d bytes", got.Exit, len(got.Files[output]))}}
	}
	return verdict{outcome: "an output where nvlink has none"}
}

// failsWith wants an exit code of 1 and a message.
func failsWith(text string) judgement {
	return func(_ setting, _ testing.TB, _ string, _, got kit.Result) verdict {
		return compare(kit.Result{Exit: 1, Stderr: text}, got)
	}
}

// sameSymbols wants the symbols and the code of nvlink's result, in any order.
func sameSymbols(_ setting, tb testing.TB, _ string, want, got kit.Result) verdict {
	a, errA := contents(want.Files[output])
	b, errB := contents(got.Files[output])
	if errA != nil || errB != nil || len(a) == 0 || !maps.Equal(a, b) {
		return verdict{outcome: different,
			differences: []string{fmt.Sprintf("the symbols or sizes are not the same (%v, %v)", errA, errB)}}
	}
	want.Files = maps.Clone(want.Files)
	want.Files[output] = got.Files[output]
	v := compare(want, got)
	if v.outcome == sameBytes {
		v.outcome = "same symbols"
	}
	return v
}

// contents gives the size, kind and binding of every symbol, and the size of
// every section of code.
func contents(data []byte) (map[string]string, error) {
	f, err := cubin.Parse(data)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for _, s := range f.Sections {
		if strings.HasPrefix(s.Name, ".text.") {
			found[s.Name] = fmt.Sprint(s.Size)
		}
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	for i := range symbols.Len() {
		if y := symbols.At(i); y.Type != elf64.SectionSymbol {
			found[y.Name] += fmt.Sprintf("%d %d %d;", y.Binding, y.Type, y.Size)
		}
	}
	return found, nil
}
