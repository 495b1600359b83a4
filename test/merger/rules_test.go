//go:build realtools

package merger

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A rule is one of nvlink's that the merger follows, and what to change in its source
// so that it does not.
type rule struct {
	text     string
	file     string // of internal/merge/device
	old, new string
}

// rules are what the merger has learnt of nvlink. Each must be needed: without it a
// test fails.
var rules = []rule{
	{"The first weak function stays; later ones are dropped.", "resolve.go", "case y.Binding == elf64.Weak:\n\t\t\to.became[i] = old\n\t\t\to.lost", "case false:\n\t\t\to.became[i] = old\n\t\t\to.lost"},
	{"A strong function replaces a weak one.", "resolve.go", "\t\t\tl.replaceFunction(o, y, old)\n", ""},
	{"What was said of a replaced function goes.", "resolve.go", "\tl.sections[l.info].attributes.forget(id)\n", ""},
	{"The first weak variable stays.", "resolve.go", "case y.Binding == elf64.Weak:\n\t\t\to.became[i] = old\n\t\t\to.losers", "case false:\n\t\t\to.became[i] = old\n\t\t\to.losers"},
	{"A strong variable takes the place of a weak one, whose bytes stay.", "resolve.go", "v.section, v.value, v.size, v.binding, v.weak = at.section, at.offset+y.Value", "v.section, v.value, v.size, v.binding, v.weak = at.section, v.value"},
	{"Relocations in a variable that lost are dropped.", "object.go", "return slices.ContainsFunc(o.losers[section]", "return false && slices.ContainsFunc(o.losers[section]"},
	{"Before 13.4 weak symbols stand among the local ones.", "resolve.go", "y.global = y.binding == elf64.Global || y.binding == elf64.Weak && l.options.Toolkit >= toolkit134", "y.global = y.binding != elf64.Local"},
	{"A function has the binding of its definition.", "resolve.go", "f.section, f.binding = y.Other, y.Value, text, y.Binding", "f.section = y.Other, y.Value, text"},
	{"A variable has one size in all inputs.", "resolve.go", "was.size == 0 || y.Size == 0 || was.size == y.Size", "was.size == 0 || y.Size == 0 || was.size != 0"},
	{"A second definition names the first input that knew the symbol.", "messages.go", `"Multiple definition of '%s' in '%s', first defined in '%s'", y.Name, o.name, old.from)`, `"Multiple definition of '%s' in '%s', first defined in '%s'", y.Name, o.name, o.name)`},
	{"Two prototypes for one function are an error.", "callgraph.go", "\t\t\tl.prototypeClash(o, id, name)\n", ""},
	{"libcudadevrt takes part if something is undefined.", "resolve.go", "if l.symbols[id].unresolved() {\n\t\t\treturn true", "if l.symbols[id].unresolved() {\n\t\t\treturn false"},
	{"No input comes after a libcudadevrt that was passed over.", "device.go", "over = over || any", "over = false"},
	{"The output is for the lowest architecture that an input was written for.", "device.go", "l.virtual = min(l.virtual, o.file.Virtual)", "l.virtual = max(l.virtual, o.file.Virtual)"},

	{"Sections of inputs follow each other, aligned.", "place.go", "offset: alignUp(out.size, s.Align)", "offset: out.size"},
	{"A kernel's shared memory is aligned as its variables are.", "place.go", "if s.Type != typeShared || owner == noSection || l.options.Relocatable {", "if true {"},
	{"Sections of constants of a vector's size leave a trace in the null symbol.", "constants.go", "case 12, 16, 20, 24, 32, 48, 64:", "case 12:"},
	{"Bank 0 comes with a name for relocations.", "linker.go", "\t\tl.shstrtab.addSection(\".rel\"+s.name, id)\n", ""},
	{"The name of a removed kernel's shared memory stays if it had variables.", "resolve.go", "\t\tl.strtab.add(l.sections[at.section].name)\n", ""},
	{"Host references leave the names of shared memory behind.", "linker.go", "if l.keep != nil && l.keep.fromHost && s.kind", "if false && s.kind"},
	{"A row without an addend after the first one names the other kind of section.", "relocation.go", "if !r.rel && r.addend == 0 && !first && !mirrored {", "if false {"},
	{"Constants come before code.", "place.go", "return 9\n", "return 11\n"},
	{"Attributes of functions come before the call graph.", "place.go", "return 4\n", "return 6\n"},

	{"Kernels are live by the patterns of their linkage.", "liveness.go", "if y.binding == elf64.Local {\n\t\tpatterns = k.internal", "if false {\n\t\tpatterns = k.internal"},
	{"A pattern of host code is a whole name.", "liveness.go", "case k.fromHost && p == y.name, !k.fromHost &&", "case"},
	{"An input whose host code says nothing keeps all kernels.", "liveness.go", "if in.Host == HostUnknown && !in.Runtime {", "if false {"},
	{"A program that launches nothing keeps everything.", "liveness.go", "if launches { //", "if true { //"},
	{"Functions whose address is taken stay.", "liveness.go", "\t\tlive[id] = true\n\t\tfor _, to := range l.graph.edges[id]", "\t\tfor _, to := range l.graph.edges[id]"},
	{"What only they call goes.", "liveness.go", "l.graph.spread(live, kernels)", "l.graph.spread(live, append(kernels, taken...))"},
	{"The driver defines some functions.", "liveness.go", `case "vprintf", "malloc", "free", "__assertfail":`, `case "vprintf", "malloc", "free":`},
	{"Indirect calls lead to all functions of the prototype.", "callgraph.go", "out = append(out, l.graph.prototype(p))", "_ = p"},

	{"The sort of shared variables is not stable.", "shared.go", "if before(p[0], q[0]) {", "if before(p[0], q[0]) && !before(q[0], p[0]) {"},
	{"Common variables of which no kernel uses two share a place.", "shared.go", "!overlap(users, c.users)", "false"},
	{"The largest common variable comes first.", "shared.go", "s.symbols[p].size >= s.symbols[q].size", "s.symbols[p].size <= s.symbols[q].size"},
	{"A variable that one kernel uses is placed for it alone.", "shared.go", "len(users) != 1 && len(s.colours)", "len(s.colours)"},
	{"A kernel's variables: the largest alignment, then the smallest size first.", "shared.go", "return a.align > b.align || a.align == b.align && a.size < b.size", "return a.align > b.align || a.align == b.align && a.size > b.size"},
	{"Dynamic memory is aligned to 16.", "shared.go", "end, out.align = alignUp(end, dynamicAlign), max(out.align, dynamicAlign)", "out.align = max(out.align, dynamicAlign)"},
	{"Dynamic memory starts at one place in kernels that reach the same use.", "shared.go", "s.ofKernel(k).dynamic = start[find(k)]", "_ = start"},
	{"From sm_90 on shared memory has 1024 bytes more.", "shared.go", "out.size += reservedShared\n", "out.size += 0\n"},
	{"Empty shared memory stays if it is aligned for dynamic memory.", "shared.go", "out.dropped = end == 0 && !(s.anyDynamic && out.align >= dynamicAlign)", "out.dropped = end == 0"},
	{"Common variables align the memory of all kernels.", "shared.go", "out.align = max(out.align, s.commonSection().align)", "_ = out"},
	{"Only those count that code refers to, since 13.4 without what was replaced.", "shared.go", "return s.referred[id] || s.options.Toolkit < toolkit134 && s.symbols[id].referred", "return true"},
	{"Shared memory has a limit.", "shared.go", "if end > maxShared {", "if false {"},

	{"Constants of functions move in the reverse order.", "constants.go", "for _, id := range slices.Backward(moving) {", "for _, id := range moving {"},
	{"They have one offset in all kernels.", "constants.go", "at, align = max(at, l.sections[bank].size), max", "at, align = l.sections[bank].size, max"},
	{"Banks get the largest alignment.", "constants.go", "\t\tout.align = align\n", ""},
	{"Banks end aligned.", "constants.go", "out.size = alignUp(at+s.size, align)", "out.size = at + s.size"},

	{"Rows of relocations come in the reverse order.", "relocation.go", "for _, r := range slices.Backward(s.relocations) {", "for _, r := range s.relocations {"},
	{"Relocations of unified tables become plain ones.", "relocation.go", "\t\tr.kind = relocLow32\n", ""},
	{"Offsets in unified tables are dropped.", "relocation.go", "case relocUniOffset:\n\t\treturn false, nil", "case relocUniOffset:\n\t\treturn true, nil"},
	{"A call that is never made has no relocation.", "relocation.go", "if y.dead && y.function != nil {\n\t\treturn false, nil // a call", "if y.dead && y.function != nil {\n\t\treturn true, nil // a call"},
	{"The size of a removed function in .debug_frame is cleared.", "relocation.go", "if !r.lost && y.dead {", "if false {"},
	{"References between debug sections count from the input's part.", "relocation.go", "\t\tp.value = r.base\n", ""},
	{"Debug information of a function that lost stays in .debug_info and .debug_loc only.", "relocation.go", `case y.dead || r.lost && target.name != ".debug_info" && target.name != ".debug_loc":`, "case y.dead:"},
	{"Addends may be in the field.", "relocation.go", "value = bits(b, first, count)", "_ = b"},
	{"Instructions name the bank.", "relocation.go", "setBits(b, 54, 5, uint64(p.bank))\n\tcase", "case"},

	{"A kernel has the most registers of all it reaches.", "compute.go", "x.word = max(x.word, l.symbols[f].function.registers)", "_ = f"},
	{"A kernel's stack is the deepest chain.", "callgraph.go", "d.bytes = max(d.bytes, depths[to].bytes)", "d.bytes += depths[to].bytes"},
	{"Recursion makes the stack unknown.", "callgraph.go", "d.recursive || state[to] == open || depths[to].recursive", "d.recursive"},
	{"There is a warning for every call that leads to recursion.", "compute.go", "if l.stacks[node].recursive {", "if false {"},
	{"A kernel has the most barriers of all it reaches.", "compute.go", "\t\trow.value = most\n", "\t\t_ = row\n"},
	{"Externals of all that a kernel reaches are its own.", "compute.go", "append([]symbolID{k}, l.byArrival(counted)...)", "[]symbolID{k}"},
	{"Externals that are defined now are dropped.", "compute.go", "return !y.dead && (!y.defined() || y.listedOwn || y.isKernel())", "return !y.dead"},
	{"Those that their own input defines stay.", "compute.go", "return !y.dead && (!y.defined() || y.listedOwn || y.isKernel())", "return !y.dead && !y.defined()"},
	{"For the only kernel all functions count.", "compute.go", "if len(l.reached.kernels) > 1 {\n\t\treturn l.reached.from[k]", "if true {\n\t\treturn l.reached.from[k]"},
	{"Before 13.4 its externals come in the reverse order.", "compute.go", "\t\tslices.Reverse(list)\n", "\t\t_ = list\n"},
	{"Of externals and barriers, that row is added first that came in first.", "compute.go", "return id == attrExternals", "return false"},
	{"The stack of relocatable code is not in executables.", "attribute.go", "return x.id != attrMaxStack || l.options.Relocatable, nil", "return true, nil"},
	{"Parameters name the symbol of their bank.", "attribute.go", "x.symbols, x.word = []symbolID{l.sections[at.section].symbol}", "x.symbols, x.word = []symbolID{l.sections[l.toolNote].symbol}"},
	{"The program demands the highest version of all inputs.", "attribute.go", "old.value = max(old.value, x.value)", "_ = x"},
	{"Every program for sm_90 says whether it is for that alone.", "linker.go", "attributes.added = []attribute{{form: 2, id: compatSpecific}}", "attributes.added = nil"},
	{"The row of features is in no program for sm_90 before 13.4.", "attribute.go", "return l.mirrors() || l.options.Toolkit >= toolkit134", "return true"},

	{"Rows of the call graph: the newest first.", "write.go", "slices.Backward(y.function.calls)", "slices.All(y.function.calls)"},
	{"Functions whose address is taken have no row of prototypes.", "write.go", " && len(f.takenAs) == 0 {", " {"},
	{"Symbols of empty sections are not written.", "write.go", "s.dropped || s.empty() && !filledLater", "s.dropped"},
	{"Unified tables are named, but not written.", "write.go", "!y.isShared() && !isUnifiedTable(y.name):", "!y.isShared():"},
	{"Prototypes are the first names.", "write.go", "\tfor _, name := range w.prototypes.names {\n\t\tw.strings.add(name)\n\t}\n", ""},
	{"Kinds of variables are not in executables.", "layout.go", "kind, other = elf64.Object, other&otherKept", "kind = elf64.Object"},
	{"The null symbol has a value if kernels may be removed.", "layout.go", "le.PutUint64(b[8:], w.packing.last)", "_ = b"},
	{"Code counts its registers in the section header.", "layout.go", "s.registers|w.symbols[s.function].index", "w.symbols[s.function].index"},
	{"Memory of sections without bytes comes after those with.", "layout.go", "memory = alignUp(memory, h.align) + h.size", "memory += h.size"},

	{"With -r relocations stay.", "relink.go", "\t\t\t\tl.setRelocations(id, append(l.sections[id].relocations, r))\n", ""},
	{"With -r rows keep their order.", "relink.go", "\t\tslices.Reverse(s.attributes.rows) // the file reverses them again\n", ""},
	{"With -r a shared variable has its alignment.", "relink.go", "y.value = y.align // until", "_ = y // until"},
	{"With -r references between debug sections keep their base.", "relink.go", "int64(r.base+field)", "int64(field)"},
	{"A variable has the binding of its definition.", "resolve.go", "y.Binding == elf64.Weak, y.Binding\n", "y.Binding == elf64.Weak, v.binding\n"},
	{"A kernel of another input stays among the externals.", "compute.go", " || y.listedOwn || y.isKernel()", " || y.listedOwn"},
	{"Equal constants of several inputs are laid out once if kernels may be removed.", "constants.go", "if vector && p.vectors[string(data)] {", "if false {"},
	{"Addresses in constants of what lost are dropped.", "relocation.go", "return r.lost || slices.Contains(o.losers[y.Section], y)", "return false"},
	{"Variables without a value that all lost have no place.", "place.go", "if o.lost[i] || s.Type == typeGlobal {", "if o.lost[i] {"},
	{"Only rows that stay make a second one.", "relocation.go", "\t\tfirst = false\n\t\tr.offset", "\t\tr.offset"},
	{".debug_loc keeps what is about functions that lost.", "relocation.go", ` && target.name != ".debug_loc"`, ""},
}

// mutate gives a file for -overlay, in which the merger does without a rule.
func (r *rule) mutate(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../internal/merge/device", r.file))
	if err != nil {
		t.Fatal(err)
	}
	text := string(read(t, path))
	if n := strings.Count(text, r.old); n != 1 {
		t.Fatalf("%s: %q is there %d times", r.file, r.old, n)
	}
	dir := t.TempDir()
	changed, overlay := filepath.Join(dir, r.file), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{changed: []byte(strings.Replace(text, r.old, r.new, 1)), overlay: list} {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}

var failedTest = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)

// caught names the test that fails without the rule: the most exact of those that
// failed first.
func (r *rule) caught(t *testing.T) string {
	t.Helper()
	overlay := r.mutate(t)
	for _, suite := range [][]string{
		{"../../internal/merge/device", ""},
		{".", "sm_80", "TestPrograms|TestLowerTargets|TestReferences"}, {".", "sm_80", "TestRemoval|TestRelink"},
		{".", "sm_90", "TestPrograms|TestLinks"}, {".", "sm_80,sm_90", "TestGenerated|TestRandomPrograms"},
	} {
		binary := filepath.Join(t.TempDir(), "mutant")
		build := exec.Command("go", "test", "-c", "-tags=realtools", "-overlay="+overlay, "-o", binary, suite[0])
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("without %q: %v\n%s", r.text, err, out)
		}
		run := exec.Command(binary, "-test.failfast", "-test.timeout=5m")
		run.Dir = suite[0]
		if len(suite) > 2 {
			run.Args = append(run.Args, "-test.run=^("+suite[2]+")$")
			run.Env = append(os.Environ(), "WARPLD_TEST_MERGER_ARCHS="+suite[1], "WARPLD_TEST_MERGER_RANDOM=40", "WARPLD_TEST_MERGER_GENERATED=40")
		}
		if out, err := run.CombinedOutput(); err != nil {
			names := failedTest.FindAllStringSubmatch(string(out), -1)
			if len(names) == 0 {
				return "a crash"
			}
			return names[len(names)-1][1]
		}
	}
	return ""
}

// rulesPerRun is how many rules a run in CI takes away; WARPLD_TEST_MERGER_RULES=all
// takes away each of them.
const rulesPerRun = 6

// TestRules takes away one rule at a time: a test must fail.
func TestRules(t *testing.T) {
	step := len(rules) / rulesPerRun
	if os.Getenv("WARPLD_TEST_MERGER_RULES") == "all" {
		step = 1
	}
	first := number(t, "WARPLD_TEST_MERGER_SEED", 0) % step
	var table strings.Builder
	for i := range rules {
		r := &rules[i]
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if i%step != first {
				r.mutate(t) // it can still be taken away
				return
			}
			by := r.caught(t)
			if by == "" {
				t.Errorf("no test fails without this rule: %s", r.text)
			}
			fmt.Fprintf(&table, "| %s | %s |\n", r.text, by)
		})
	}
	t.Log("\n" + table.String())
}
