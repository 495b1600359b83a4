//go:build realtools

package merger

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
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
	{"A strong variable takes the place of a weak one, whose bytes stay.", "resolve.go", "v.section, v.value, v.size, v.binding, v.weak = at.section, at.place(y.Value)", "v.section, v.value, v.size, v.binding, v.weak = at.section, v.value"},
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
	{"A row without an addend after the first one names the other kind of section.", "relocation.go", "if !r.rel && r.addend == 0 && !first && !mirrored {", "if false && !first && !mirrored {"},
	{"Constants come before code.", "place.go", "return 9\n", "return 11\n"},
	{"Attributes of functions come before the call graph.", "place.go", "return 4\n", "return 6\n"},

	{"Kernels are live by the patterns of their linkage.", "liveness.go", "if y.binding == elf64.Local {\n\t\tpatterns = k.internal", "if y.binding > elf64.Weak {\n\t\tpatterns = k.internal"},
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
	{"Dynamic memory starts at one place in kernels that reach the same use.", "shared.go", "s.ofKernel(k).dynamic = start[find(k)]", "_, _ = start, k"},
	{"From sm_90 on shared memory has 1024 bytes more.", "shared.go", "!out.dropped {\n\t\tout.size += reservedShared\n\t}\n\tif out.size", "false {\n\t\tout.size += reservedShared\n\t}\n\tif out.size"},
	{"Empty shared memory stays if it is aligned for dynamic memory.", "shared.go", "out.dropped = end == 0 && !(s.anyDynamic && out.align >= dynamicAlign)", "out.dropped = end == 0"},
	{"Common variables align the memory of all kernels.", "shared.go", "out.align = max(out.align, s.commonSection().align)", "_ = out"},
	{"Only those count that code refers to, since 13.4 without what was replaced.", "shared.go", "return s.referred[id] || s.options.Toolkit < toolkit134 && s.symbols[id].referred", "return true"},
	{"Shared memory has a limit.", "shared.go", "limit := s.options.sharedLimit(); end > limit {", "limit := s.options.sharedLimit(); end > limit && false {"},

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
	{"Symbols of empty sections are not written.", "write.go", "s.dropped || s.empty() && !filledLater", "s.dropped || false && filledLater"},
	{"Unified tables are named, but not written.", "write.go", "|| !isUnifiedTable(y.name) && (", "|| ("},
	{"Prototypes are the first names.", "write.go", "\tfor _, name := range w.prototypes.names {\n\t\tw.strings.add(name)\n\t}\n", ""},
	{"Kinds of variables are not in executables.", "layout.go", "kind, other = elf64.Object, other&otherKept", "kind = elf64.Object"},
	{"The null symbol has a value if kernels may be removed.", "layout.go", "\t\treturn w.packing.last\n", "\t\treturn 0\n"},
	{"Code counts its registers in the section header.", "layout.go", "s.registers|w.symbols[s.function].index", "w.symbols[s.function].index"},
	{"Memory of sections without bytes comes after those with.", "layout.go", "memory = alignUp(memory, h.align) + h.size", "memory += h.size"},

	{"Code of a newer toolkit is refused.", "object.go", "case f.Toolkit > options.Toolkit:", "case false:"},
	{"Code that is linked already takes no part.", "object.go", "if f.Type == elf64.Executable {", "if false && f.Type == elf64.Executable {"},
	{"As the first input libcudadevrt is passed over, whatever the options say.", "resolve.go", "if any && l.options.KeepSystemLibraries {", "if l.options.KeepSystemLibraries {"},
	{"Records of the tools that made the inputs follow that of the link.", "device.go", "\tl.records = append(l.records, o.records)\n", ""},
	{"Sections of attributes come after all other ones of their input.", "device.go", "l.mergeSections, l.mergeInfoSections,", "l.mergeInfoSections, l.mergeSections,"},
	{"An undefined function counts only if it is called.", "liveness.go", "y.unresolved() && !y.dead {", "y.unresolved() {"},

	{"An array of unknown size fits any size.", "resolve.go", "was.size == 0 || y.Size == 0 || was.size == y.Size", "was.size == y.Size"},
	{"A function that was referred to first stands among the global symbols.", "resolve.go", "section: noSection,\n\t\tglobal: true, from: o.name, function", "section: noSection,\n\t\tfrom: o.name, function"},
	{"Calls of a replaced function stay.", "resolve.go", "\tf.binding = elf64.Global\n", "\tf.binding, f.function.calls = elf64.Global, nil\n"},
	{"Relocations of a replaced function go.", "resolve.go", "\t\t\tl.sections[text].relocations = nil\n", "\t\t\t_ = text\n"},
	{"Attributes of a replaced function go.", "resolve.go", "\t\tl.sections[f.function.info].attributes = attributeList{}\n", ""},
	{"A replaced function keeps the larger alignment.", "resolve.go", "text.align = max(text.align, s.Align)", "text.align = s.Align"},
	{"Every kernel has a section of attributes, made with its code.", "resolve.go", "\t\tl.infoSection(\".nv.info.\"+y.Name, text)\n", ""},
	{"What is undefined is global, also if it is weak.", "resolve.go", "binding := elf64.Global\n", "binding := y.Binding\n"},
	{"Dynamic memory brings the section of common variables with it.", "resolve.go", "if y.Other == otherShared {\n\t\tl.findOrNew(section{name: commonName", "if false {\n\t\tl.findOrNew(section{name: commonName"},
	{"Local shared variables, parameters and constants of the optimizer are in no table.", "resolve.go", "\ty.hidden = true\n", ""},
	{"The size of bank 0 is a symbol in no table.", "resolve.go", "hidden: y.Name == bankSize, ", ""},

	{"A name in -kernels-used may be a part of the kernel's.", "liveness.go", "!k.fromHost && strings.Contains(y.name, p):", "!k.fromHost && y.name == p:"},
	{"With -variables-used alone no kernel is used.", "liveness.go", "len(o.KernelsUsed)+len(o.VariablesUsed) > 0", "len(o.KernelsUsed) > 0"},
	{"-ignore-host-info keeps all kernels.", "liveness.go", "if o.IgnoreHostInfo {", "if false {"},
	{"Patterns of libcudadevrt's host code don't make a program one that launches.", "liveness.go", "launches || !in.Runtime && len", "launches || len"},
	{"Undefined functions that a taken function calls stay.", "liveness.go", "if to < l.graph.symbols && !l.symbols[to].defined() {", "if false {"},
	{"Names of removed functions go.", "names.go", "return !l.symbols[n.symbol].dead", "return true"},
	{"Names of sections of removed functions go.", "names.go", "return !l.sections[n.section].removed", "return true"},
	{"A taken function's prototype is what later inputs are compared with.", "callgraph.go", "\t\tf.prototype = prototype // not", "\t\t_ = f // not"},
	{"A function that lost has no calls.", "callgraph.go", "if o.lostSymbol(index) {\n", "if false {\n"},
	{"Attributes of a function that lost go.", "attribute.go", "\tcase !o.lostSymbol(index):\n", "\tcase true:\n"},

	{"Common variables count from the newest.", "shared.go", "for i := len(s.shared) - 1; i >= 0; i-- {", "for i := range s.shared {"},
	{"A kernel's variables are sorted from the newest.", "shared.go", "\t\tslices.Reverse(own)\n", ""},
	{"A place has the largest alignment of its variables.", "shared.go", "at := alignUp(end, align)\n", "at := end + 0*align\n"},
	{"Since 13.4 the common section is aligned before the kernels.", "shared.go", "if s.options.Toolkit >= toolkit134 {\n\t\ts.alignCommon()", "if false {\n\t\ts.alignCommon()"},
	{"Dynamic memory aligns the common section.", "shared.go", "\ts.alignCommon()\n\tout.size", "\tout.size"},
	{"The common section stays for dynamic memory only.", "shared.go", "out.size, out.dropped = 0, !s.anyDynamic", "out.size, out.dropped = 0, true"},
	{"Its symbol goes.", "shared.go", "s.symbols[out.symbol].dead = !s.options.Debug || out.size == 0", "_ = out"},

	{"Relocations that would make a YIELD a NOP go.", "relocation.go", "\t\t\tcontinue // the instruction", "\t\t\t_ = r // the instruction"},
	{"Relocations are named by their own input's sections only if they have rows.", "relocation.go", "|| l.noRows(o, s) ||", "||"},
	{"Dynamic memory that no kernel reaches is at -1.", "relocation.go", "case y.isShared() && !y.defined() && len(l.reached.by[target.function]) == 0:\n\t\tp.value = ^uint64(0)", "case y.isShared() && !y.defined() && len(l.reached.by[target.function]) == 0:"},
	{"The size of bank 0 is -1.", "relocation.go", "!l.mirrors():\n\t\tp.value = ^uint64(0)", "!l.mirrors():"},
	{"Dynamic memory starts where the kernels that reach the code agree.", "relocation.go", "p.value = max(p.value, l.sections[l.symbols[k].function.shared].dynamic)", "p.value = max(p.value, l.sections[l.symbols[k].function.shared].size)"},
	{"Constants of functions count from where they moved.", "relocation.go", "p.value, p.bank = y.value+s.moved,", "p.value, p.bank = y.value,"},
	{"Offsets of constants in words are words.", "relocation.go", "setBits(b, 40, 14, (p.value+value)/4)", "setBits(b, 40, 14, p.value+value)"},
	{"Addresses of global variables in debug information stay relocations.", "relocation.go", "!y.isShared() && !y.hidden {\n\t\treturn true, nil", "!y.isShared() && !y.hidden {\n\t\treturn false, nil"},
	{"Debug information has the addresses of shared variables.", "relocation.go", "case y.isShared():\n\t\tp.value = y.address", "case y.isShared():"},
	{"Debug information of removed functions has no relocations.", "relocation.go", "case y.dead || r.lost &&", "case r.lost &&"},
	{"Relocations of functions that lost go.", "relocation.go", "|| o.lost[s.Info] {\n\t\t\tcontinue\n\t\t}\n\t\tat", "{\n\t\t\tcontinue\n\t\t}\n\t\tat"},

	{"What is said of removed functions goes.", "compute.go", "len(x.symbols) == 1 && l.symbols[x.symbols[0]].dead", "false"},
	{"Recursion makes the size of the call stack unknown.", "compute.go", "\t\t\tl.setCallStack(l.attributesOf(k))\n", ""},
	{"Kernels say how much stack they need in the order of the symbol table.", "compute.go", "\tkernels := l.reached.kernels\n", "\tkernels := slices.Sorted(slices.Values(l.reached.kernels))\n"},
	{"Warnings come in the order of the kernels' arrival.", "compute.go", "range slices.Sorted(slices.Values(l.reached.kernels)) { // as", "range l.reached.kernels { // as"},
	{"For the only kernel barriers come before externals.", "compute.go", "if len(l.reached.kernels) == 1 {\n\t\treturn false", "if false {\n\t\treturn false"},
	{"A row of externals that grew comes last for the only kernel.", "compute.go", "\tif row != nil {\n\t\trow.deleted = true\n\t}\n", ""},
	{"The row of externals that grew keeps its place if there are more kernels.", "compute.go", "case row != nil && !alone:", "case false:"},
	{"Externals of functions come in the order of arrival.", "compute.go", "slices.SortStableFunc(order, func", "_ = arrival\n\tslices.SortStableFunc(order[:0], func"},
	{"Rows of externals without an entry go.", "compute.go", "x.deleted = x.deleted || len(x.symbols) == 0", "_ = x"},
	{"Rows of attributes come in the reverse order.", "attribute.go", "for i := len(a.rows) - 1; i >= 0; i-- {\n\t\tif !a.rows[i].deleted {\n\t\t\tdo", "for i := range a.rows {\n\t\tif !a.rows[i].deleted {\n\t\t\tdo"},
	{"The features of a program are those that all its inputs have.", "attribute.go", "\t\t\tbits[i] &= f.bits[i]\n", ""},
	{"Features of inputs of which no code remains don't count.", "attribute.go", "if left == 0 {", "if false {"},

	{"Names of global symbols come last.", "write.go", "\tfor id := range w.symbols {\n\t\tif y := &w.symbols[id]; y.global && w.written(y) && (", "\tfor id := range slices.Backward(w.symbols) {\n\t\tif y := &w.symbols[id]; y.global && w.written(y) && ("},
	{"Kinds of sections of variables are not in executables.", "place.go", "case t == typeInit || isConstant(t):\n\t\treturn typeProgBits", "case t == typeInit || isConstant(t):\n\t\treturn t"},
	{"Sections without bytes are of one type in executables.", "place.go", "case occupiesOnly(t):\n\t\treturn typeNoBits", "case occupiesOnly(t):\n\t\treturn t"},
	{"Every program says how the driver treats relocations.", "place.go", "\tl.sections[id].setData(relAction)\n", "\t_ = id\n"},
	{"Relocations come before constants.", "place.go", "return 8\n", "return 10\n"},
	{"Variables with values come after code.", "place.go", "return 11\n", "return 9\n"},
	{"Debug information comes first.", "place.go", "return 0\n", "return 14\n"},
	{"The program for sm_90 knows the note about its architecture by what it demands.", "linker.go", "\t\tnote.owner = l.compat\n", ""},
	{"The note about the architecture refers to that about the tools.", "layout.go", "\t\tlink = w.sections[w.toolNote].index\n", ""},
	{"Code comes with one segment, variables with another.", "layout.go", "case h.flags&flagWrite != 0 && h.source != nil:", "case false:"},
	{"The segment of variables ends in the file at the last section without bytes.", "layout.go", "\t\tend = last.offset\n", "\t\tend = last.offset + last.size\n"},
	{"The flags of the file have the index of the note about the architecture.", "layout.go", "note := min(w.sections[w.archNote].index, 0xff)", "note := min(w.sections[w.archNote].index, 0)"},
	{"Potential calls are kept.", "write.go", "\tgroup(groupPotential, func(y *symbol) {\n\t\tfor _, callee := range slices.Backward(y.function.potential) {", "\tgroup(groupPotential, func(y *symbol) {\n\t\tfor _, callee := range y.function.potential[:0] {"},
	{"Calls of removed functions are not in the call graph.", "write.go", "\tgroup(groupCalls, func(y *symbol) {\n\t\tfor _, callee := range slices.Backward(y.function.calls) {\n\t\t\tif !w.symbols[callee].dead {", "\tgroup(groupCalls, func(y *symbol) {\n\t\tfor _, callee := range slices.Backward(y.function.calls) {\n\t\t\tif true {"},
	{"Indirect calls: the newest first.", "write.go", "slices.Backward(y.function.indirect)", "slices.All(y.function.indirect)"},
	{"With -r nothing is removed.", "liveness.go", "if o.Relocatable || o.Debug {", "if o.Debug {"},
	{"With -r calls keep their order.", "relink.go", "\t\t\tslices.Reverse(f.calls)\n", ""},
	{"With -r weak symbols stay weak.", "relink.go", "\t\t\ty.binding = elf64.Weak\n", "\t\t\ty.binding = max(y.binding, elf64.Local)\n"},
	{"With -r there are no names for relocations of bank 0.", "linker.go", "s.owner != noSection && !l.options.Relocatable {", "s.owner != noSection {"},
	{"With -r symbols keep their kinds.", "layout.go", "kind == typeData && !w.options.Relocatable {", "kind == typeData {"},
	{"With -r shared variables are written.", "write.go", "case w.options.Relocatable || !isUnifiedTable(y.name) && (", "case !isUnifiedTable(y.name) && ("},
	{"With -r relocations of debug information on functions that lost go.", "relink.go", `case debug && r.lost && target.name != ".debug_info":`, "case false:"},
	{"With -r externals that are defined now are dropped.", "relink.go", "\tview{l, func(s *section) *attributeList { return &s.attributes }}.dropResolvedExternals()\n", ""},
	{"-v counts the memory of variables with and without values.", "verbose.go", "s.live() && (s.kind == typeGlobal || s.kind == typeInit)", "s.live() && s.kind == typeGlobal"},
	{"-v shows the newest kernel first.", "verbose.go", "slices.Backward(slices.Sorted(slices.Values(l.reached.kernels)))", "slices.All(slices.Sorted(slices.Values(l.reached.kernels)))"},
	{"-v shows no stack where recursion makes it unknown.", "verbose.go", "\t\tstack = 0 // it", "\t\t_ = stack // it"},
	{"Prototypes without rows are not written.", "write.go", "s.dropped = prototypes == 0", "s.dropped = false"},
	{"Attributes without rows are not written.", "write.go", "\t\t\ts.dropped = true\n", ""},

	{"With -r relocations stay.", "relink.go", "\t\t\t\tl.setRelocations(id, append(l.sections[id].relocations, r))\n", ""},
	{"With -r rows keep their order.", "relink.go", "\t\tslices.Reverse(s.attributes.rows) // the file reverses them again\n", ""},
	{"With -r a shared variable has its alignment.", "relink.go", "y.value = y.align // until", "_ = y // until"},
	{"With -r references between debug sections keep their base.", "relink.go", "int64(r.base+field)", "int64(field)"},
	{"A variable has the binding of its definition.", "resolve.go", "y.Binding == elf64.Weak, y.Binding\n", "y.Binding == elf64.Weak, v.binding\n"},
	{"A kernel of another input stays among the externals.", "compute.go", " || y.listedOwn || y.isKernel()", " || y.listedOwn"},
	{"Equal constants of several inputs are laid out once if kernels may be removed.", "constants.go", "leftOut: vector && p.vectors[string(data)]}", "leftOut: false}"},
	{"Addresses in constants of what lost are dropped.", "relocation.go", "leftOut := r.lost || slices.Contains(o.losers[y.Section], y)", "leftOut := false"},
	{"Variables without a value that all lost have no place.", "place.go", "if o.lost[i] || s.Type == typeGlobal {", "if o.lost[i] {"},
	{"Only rows that stay make a second one.", "relocation.go", "\t\tfirst = false\n\t\tif r.offset", "\t\tif r.offset"},
	{".debug_loc keeps what is about functions that lost.", "relocation.go", ` && target.name != ".debug_loc"`, ""},

	{"Debug information has -1 for the shared variables of removed kernels.", "relocation.go", "case y.isShared() && !y.placed: // dynamic", "case y.isShared() && !y.placed && !y.defined(): // dynamic"},
	{"With -g nothing is removed.", "liveness.go", "\tif l.options.Debug {\n\t\treturn nil\n\t}\n", ""},
	{"With -g dynamic memory is at one place for all users of a variable.", "shared.go", "leader[find(k)] = find(group.kernels[0])", "_ = k"},
	{"With -g dynamic memory has an address even if no kernel uses it.", "shared.go", "\t\tgroup.variable.placed = true\n\t\tif len(group.kernels) > 0 {\n", "\t\tif len(group.kernels) > 0 {\n\t\t\tgroup.variable.placed = true\n"},
	{"With -g the section of common shared memory keeps its size.", "shared.go", "out.size, out.dropped = s.end, false", "_ = s.end"},
	{"With -g variables of one kernel are local since 13.4.", "shared.go", "y.binding = elf64.Local", "_ = elf64.Local"},
	{"With -g addresses from sm_90 on begin after what the system reserves.", "shared.go", "y.value += reservedShared", "_ = y"},
	{"A common variable has the largest of its sizes.", "common.go", "was.size = max(was.size, y.Size)", "_ = was"},
	{"Common variables get memory the newest first.", "common.go", "slices.Backward(l.commons)", "slices.All(l.commons)"},
	{"A common variable must not be larger than its value.", "common.go", "\tif y.Size < was.size {\n", "\tif false {\n"},
	{"Debug information of a weak function whose code had rows with an addend is lost when it is replaced.", "resolve.go", "\t\t\t\tl.loseDebug(id)\n", ""},
	{"Since 13.4 a shared variable that no code refers to has no address.", "shared.go", "= s.counts(id), at", "= true, at"},
	{"A kernel may have more shared memory for sm_90a.", "shared.go", "return maxSpecific", "return maxShared"},
	{"A variable is in one kind of memory.", "resolve.go", "\tdefault:\n\t\tl.spaceClash(o, y, was)\n", ""},
	{"An address that an input takes does not count if its definition lost.", "callgraph.go", "if group != groupTaken || !l.options.Mend {", "if group != groupTaken {"},
	{"It does if a kernel of the input may call it.", "callgraph.go", "lost := o.takes[second]; lost {", "lost := o.takes[second]; false && lost {"},
	{"A kernel that device code starts stays although no host code launches it.", "liveness.go", "\t\t\tkernels = append(kernels, id)\n", "\t\t\t_ = id\n"},

	{"Capsules hold the offsets of constants.", "capsule.go", "uint64(at)+size-4, capsuleField", "uint64(at)+size-8, capsuleField"},
	{"A record of a capsule may be about several instructions.", "capsule.go", "return uint64(le.Uint16(record) >> 7)", "return 1"},
	{"There is room after .strtab for what has another name in Mercury code.", "mirrorwrite.go", "unused += uint64(len(name))", "unused += uint64(len(s.name))"},
	{"Bank 0 of Mercury code comes in the order of the kernels.", "finalizer.go", "\tslices.SortStableFunc(l.lateBanks, func(a, b lateBank) int { return int(a.text - b.text) })\n", ""},
	{"Lines of Mercury code come in the order of the symbols.", "lines.go", "\tslices.SortStableFunc(kept, less)\n", ""},
	{"What sm_110 reserves starts after what all reserve.", "mirror.go", "size: systemShared + s.Size}", "size: s.Size}"},
	{"The values of constants are in the file once.", "mirrorwrite.go", " || s.kind == typeConstant0+3 ||", " ||"},
	{"Kernels are scheduled anew that wait for a stack they don't use.", "mirror.go", "waits: waitsForStack(o.bytes(s))}", "waits: false}"},
}

// mutate gives a file for -overlay, in which the merger does without a rule.
func (r *rule) mutate(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../../internal/merge/device", r.file))
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

// mutantVariable marks a run of the tests with a mutant of the merger.
const mutantVariable = "WARPLD_TEST_MERGER_MUTANT"

// suites are the packages whose tests a mutant is held against, the quick one first.
var suites = []struct{ folder, run, skip string }{
	{"../../../internal/merge/device", ".", "^$"},
	{".", ".", "^(TestMutatedInputs|TestRules|TestRulesPage|TestHostile|TestGenerated|TestRandomPrograms|TestLinks)$"},
	{".", "^(TestGenerated|TestRandomPrograms)$", "^$"},
}

var failedTest = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)

// targets are those for which programs are linked without the rule.
func (r *rule) targets() string {
	switch r.file {
	case "capsule.go", "finalizer.go", "lines.go", "mirror.go", "mirrorrelocation.go", "mirrorwrite.go": // of Mercury code
		return "sm_100,sm_110"
	}
	return "sm_80,sm_90"
}

// caught names the test that fails without the rule: the most exact of those that
// failed first.
func (r *rule) caught(t *testing.T) string {
	t.Helper()
	overlay := r.mutate(t)
	for _, suite := range suites {
		binary := filepath.Join(t.TempDir(), "mutant")
		build := exec.Command("go", "test", "-c", "-vet=off", "-tags=realtools", "-overlay="+overlay, "-o", binary, suite.folder)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("without %q: %v\n%s", r.text, err, out)
		}
		run := exec.Command(binary, "-test.failfast", "-test.timeout=5m", "-test.run="+suite.run, "-test.skip="+suite.skip)
		run.Dir = suite.folder
		run.Env = append(os.Environ(), mutantVariable+"=1", "WARPLD_TEST_MERGER_ARCHS="+r.targets(), "WARPLD_TEST_MERGER_RANDOM=20")
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
// takes away each of them, and WARPLD_UPDATE_DOCS=1 does and writes down what caught it.
const rulesPerRun = 12

// TestRules takes away one rule at a time: a test must fail.
func TestRules(t *testing.T) {
	step, update := len(rules)/rulesPerRun, os.Getenv("WARPLD_UPDATE_DOCS") != ""
	all := update || os.Getenv("WARPLD_TEST_MERGER_RULES") == "all"
	if all {
		step = 1
	}
	first := number(t, "WARPLD_TEST_MERGER_SEED", 0) % step
	caught, mu := readRulesPage(t), sync.Mutex{}
	none := rule{"all rules", rules[0].file, rules[0].old, rules[0].old}
	if by := none.caught(t); by != "" {
		t.Fatalf("with all rules: %s", by)
	}
	t.Run("each", func(t *testing.T) {
		for i := range rules {
			r := &rules[i]
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				if i%step != first || caught[r.text] == notYet && !all {
					r.mutate(t) // it can still be taken away
					return
				}
				t.Parallel()
				by := r.caught(t)
				if by == "" {
					t.Errorf("no test fails without this rule: %s", r.text)
					return
				}
				t.Logf("without %q: %s", r.text, by)
				mu.Lock()
				defer mu.Unlock()
				caught[r.text] = "`" + by + "`"
			})
		}
	})
	if update {
		writeRulesPage(t, caught)
	}
}

// notYet is what the page says of a rule that is newer than the last run, or that no test
// caught in it.
const notYet = "nothing yet"

// rulesPage lists the rules and what caught each.
const rulesPage = "../../../docs/merger-rules.md"

const rulesHead = `# Rules of the merger

What our merger has learnt of nvlink, in the order of ` + "`test/suites/merger/rules_test.go`" + `, which has for each the change of the source that takes it away. TestRules
makes that change and runs the tests of the package, then those of ` + "`test/suites/merger`" + ` against nvlink's answers; one of them must fail. The last column names the
first that did, when all rules were taken away one after the other. Written by ` + "`WARPLD_UPDATE_DOCS=1 go test -tags realtools ./test/suites/merger -run TestRules`" + `.

| rule | where | caught by |
|---|---|---|
`

// readRulesPage gives what caught the rules when the page was written.
func readRulesPage(t *testing.T) map[string]string {
	t.Helper()
	caught := map[string]string{}
	for _, line := range strings.Split(string(read(t, rulesPage)), "\n") {
		if cells := strings.Split(strings.Trim(line, "| "), " | "); len(cells) == 3 {
			caught[cells[0]] = strings.TrimSpace(cells[2])
		}
	}
	return caught
}

func writeRulesPage(t *testing.T, caught map[string]string) {
	t.Helper()
	if err := os.WriteFile(rulesPage, []byte(rulesText(caught)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func rulesText(caught map[string]string) string {
	var b strings.Builder
	b.WriteString(rulesHead)
	for _, r := range rules {
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", r.text, r.file, cmp.Or(caught[r.text], notYet))
	}
	return b.String()
}

// The page lists the rules that there are.
func TestRulesPage(t *testing.T) {
	if diff := gocmp.Diff(rulesText(readRulesPage(t)), string(read(t, rulesPage))); diff != "" {
		t.Errorf("%s (-rules +page; WARPLD_UPDATE_DOCS=1 writes it):\n%s", rulesPage, diff)
	}
}
