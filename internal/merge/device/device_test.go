package device

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/internal/object/objecttest"
)

// A code describes a cubin: functions without real instructions, in the shape
// that ptxas gives its files.
type code struct {
	functions []fn
	variables []variable
	toolkit   uint32
	arch      uint32 // 0: sm_80
	mercury   bool   // for sm_100, with a second program
	extra     []objecttest.Section
	graph     []byte // rows of the call graph after those of the functions
}

type fn struct {
	name    string
	kernel  bool
	weak    bool
	outside bool // defined elsewhere
	frame   uint32
	calls   []string
}

type variable struct {
	name    string
	outside bool
	size    uint64 // 0: 4
	common  bool
	shared  bool
}

const (
	bindGlobal = 1 << 4
	bindWeak   = 2 << 4
)

// build gives the bytes of the cubin: sections of text, then those of the
// variables, the tables, the notes and the call graph.
func (c code) build() []byte {
	var sections []objecttest.Section
	var symbols []objecttest.Symbol
	var graph, info []byte
	index := map[string]uint32{}
	for i, f := range c.functions {
		index[f.name] = uint32(1 + i)
	}
	graph = le.AppendUint32(le.AppendUint32(graph, 0), 0xffffffff)
	for _, f := range c.functions {
		y := objecttest.Symbol{Name: f.name, Info: bindGlobal | 2, Size: 16}
		if f.weak {
			y.Info = bindWeak | 2
		}
		if f.kernel {
			y.Other = cubin.STO_CUDA_ENTRY
		}
		if !f.outside {
			sections = append(sections, objecttest.Section{Name: ".text." + f.name, Flags: elf64.Alloc | elf64.Exec,
				Info: index[f.name], Data: make([]byte, 16)})
			y.Section = uint16(len(sections))
			info = append(info, byte(cubin.EIFMT_SVAL), byte(cubin.EIATTR_FRAME_SIZE), 8, 0)
			info = le.AppendUint32(le.AppendUint32(info, index[f.name]), f.frame)
		}
		symbols = append(symbols, y)
		for _, callee := range f.calls {
			graph = le.AppendUint32(le.AppendUint32(graph, index[f.name]), index[callee])
		}
	}
	var data []byte
	for _, v := range c.variables {
		y := objecttest.Symbol{Name: v.name, Info: bindGlobal | byte(cubin.STT_CUDA_OBJECT), Other: cubin.STO_CUDA_GLOBAL,
			Size: max(v.size, 4)}
		if v.shared {
			y.Other = cubin.STO_CUDA_SHARED
		}
		if v.common {
			y.Section, y.Value = elf64.Common, 4
		} else if !v.outside {
			y.Section, y.Value = uint16(len(sections)+1), uint64(len(data))
			data = append(data, append([]byte(v.name), make([]byte, max(v.size, 4))...)[:max(v.size, 4)]...)
		}
		symbols = append(symbols, y)
	}
	if len(data) > 0 {
		sections = append(sections, objecttest.Section{Name: ".nv.global.init", Type: uint32(cubin.SHT_CUDA_GLOBAL_INIT),
			Flags: elf64.Alloc | elf64.Write, Data: data})
	}
	graph = append(graph, c.graph...)
	rows, names := objecttest.Symbols(symbols...)
	note := noteRecord(1000, le.AppendUint32([]byte{2, 0, 80, 0}, max(c.toolkit, 130)))
	sections = append(sections,
		objecttest.Section{Name: ".nv.info", Type: uint32(cubin.SHT_CUDA_INFO), Data: info},
		objecttest.Section{Name: ".nv.callgraph", Type: uint32(cubin.SHT_CUDA_CALLGRAPH), EntSize: 8, Data: graph},
		objecttest.Section{Name: ".note.nv.cuinfo", Type: uint32(elf64.Note), Flags: 0x1000000, Data: note})
	sections = append(sections, c.extra...)
	flags := max(c.arch, 80)<<8 | 4
	if c.mercury {
		flags = 100<<8 | 2
		sections = append(sections, mercurySections(c.functions, rows, info)...)
	}
	for i := range sections {
		switch elf64.SectionType(sections[i].Type) {
		case cubin.SHT_CUDA_INFO, cubin.SHT_CUDA_CALLGRAPH, cubin.SHT_CUDA_PROTOTYPE, elf64.Rel, elf64.Rela:
			sections[i].Link = uint32(len(sections) + 2)
		}
	}
	sections = append(sections,
		objecttest.Section{Name: ".strtab", Type: uint32(elf64.Strtab), Data: names},
		objecttest.Section{Name: ".symtab", Type: uint32(elf64.Symtab), Link: uint32(len(sections) + 1),
			EntSize: elf64.SymbolSize, Data: rows})
	return objecttest.ELF(objecttest.ELFFile{Machine: 190, ABIVersion: 8, Flags: flags, Sections: sections})
}

// mercurySections are the second program.
func mercurySections(functions []fn, symbols, info []byte) []objecttest.Section {
	list := []objecttest.Section{
		{Name: cubin.MercurySymbols, Type: uint32(cubin.SHT_MERCURY_SYMTAB), Flags: cubin.SHF_MERCURY,
			EntSize: elf64.SymbolSize, Data: symbols},
		{Name: cubin.MercuryPrefix + ".nv.info", Type: uint32(cubin.SHT_MERCURY_INFO), Flags: cubin.SHF_MERCURY, Data: info},
	}
	for _, f := range functions {
		if !f.outside {
			list = append(list, objecttest.Section{Name: cubin.CapsulePrefix + ".text." + f.name,
				Type: uint32(cubin.SHT_MERCURY_CAPSULE), Flags: cubin.SHF_MERCURY, Data: []byte("capsule")})
		}
	}
	return list
}

var plain = Options{Arch: gpu.Arch{Number: 80}, Release: gpu.Release{Major: 13}, Record: cubin.Tool{Name: "warpld"}}

// merge links codes under the names a.o, b.o and so on.
func merge(options Options, codes ...code) (*Output, error) {
	var inputs []Input
	for i, c := range codes {
		inputs = append(inputs, Input{Name: fmt.Sprintf("%c.o", 'a'+i), Cubin: c.build()})
	}
	return Merge(inputs, options)
}

// functionsOf lists the functions of an output with their sizes of stack, of
// kernels that for all that they call.
func functionsOf(t *testing.T, out *Output) []string {
	t.Helper()
	f, err := cubin.Parse(out.Cubin)
	if err != nil {
		t.Fatal(err)
	}
	table, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, y := range table.All() {
		if y.Type == 2 {
			list = append(list, y.Name)
		}
	}
	return list
}

func kernel(name string, calls ...string) fn { return fn{name: name, kernel: true, calls: calls} }

func TestLiveness(t *testing.T) {
	c := code{functions: []fn{kernel("k", "f"), kernel("other", "g"), {name: "f"}, {name: "g"}, {name: "unused"}}}
	tests := []struct {
		name    string
		options func(*Options)
		inputs  func(*Input)
		want    []string
	}{
		{"all kernels", func(*Options) {}, func(*Input) {}, []string{"k", "other", "f", "g"}},
		{"-kernels-used", func(o *Options) { o.KernelsUsed = []string{"the"} }, func(*Input) {}, []string{"other", "g"}},
		{"-kernels-used with a star", func(o *Options) { o.KernelsUsed = []string{"t*e"} }, func(*Input) {},
			[]string{"other", "g"}},
		{"-variables-used", func(o *Options) { o.VariablesUsed = []string{"x"} }, func(*Input) {}, nil},
		{"host references", func(*Options) {}, func(in *Input) { in.Host, in.LaunchedExternal = HostKnown, []string{"k*"} },
			[]string{"k", "f"}},
		{"of other linkage", func(*Options) {}, func(in *Input) {
			in.Host, in.LaunchedInternal = HostKnown,
				[]string{"k*"}
		}, nil},
		{"no host references", func(*Options) {}, func(in *Input) { in.Host = HostKnown }, []string{"k", "other", "f", "g"}},
		{"-ignore-host-info", func(o *Options) { o.IgnoreHostInfo = true },
			func(in *Input) { in.Host, in.LaunchedExternal = HostKnown, []string{"k"} }, []string{"k", "other", "f", "g"}},
	}
	for _, test := range tests {
		options, in := plain, Input{Name: "a.o", Cubin: c.build()}
		test.options(&options)
		test.inputs(&in)
		out, err := Merge([]Input{in}, options)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff(test.want, functionsOf(t, out)); diff != "" {
			t.Errorf("%s:\n%s", test.name, diff)
		}
		if len(out.Removed)+len(test.want) != len(c.functions) {
			t.Errorf("%s: %d functions remain, and these were removed: %+v", test.name, len(test.want), out.Removed)
		}
	}
}

// All inputs have to say what their host code launches, but libcudadevrt.
func TestLivenessOfSeveral(t *testing.T) {
	launches := Input{Name: "a.o", Cubin: code{functions: []fn{kernel("k"), kernel("other"), {name: "rt", outside: true},
		{name: "f", calls: []string{"rt"}}}}.build(),
		Host: HostKnown, LaunchedExternal: []string{"k"}}
	quiet := launches
	quiet.LaunchedExternal = nil
	bare := Input{Name: "b.cubin", Cubin: code{functions: []fn{kernel("k2")}}.build()}
	runtime := Input{Name: "libcudadevrt.a", Cubin: code{functions: []fn{kernel("k3"), {name: "rt"}}}.build(),
		Runtime: true, LaunchedExternal: []string{"k3"}}
	for name, test := range map[string]struct {
		inputs []Input
		want   []string
	}{
		"a bare cubin":                  {[]Input{launches, bare}, []string{"k", "other", "k2"}},
		"the runtime":                   {[]Input{launches, runtime}, []string{"k", "k3"}},
		"the runtime alone launches":    {[]Input{quiet, runtime}, []string{"k", "other", "k3"}},
		"code that was linked before":   {[]Input{linkedBefore(t), launches}, []string{"k"}},
		"code that was linked before 2": {[]Input{launches, linkedBefore(t)}, []string{"k"}},
	} {
		out, err := Merge(test.inputs, plain)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(test.want, functionsOf(t, out)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// nvlink gets patterns only if they tell it of the same kernels as the host references, and
// of fewer than all.
func TestPatternsOfLaunched(t *testing.T) {
	runtime := Input{Name: "libcudadevrt.a", Cubin: code{functions: []fn{kernel("k3")}}.build(), Runtime: true,
		Host: HostKnown, LaunchedExternal: []string{"k3"}}
	known := plain
	known.KnowsReferences = true
	named := known
	named.KernelsUsed = []string{"k"}
	for name, test := range map[string]struct {
		options  Options
		kernels  []string
		launched []string
		want     []string
	}{
		"one is not launched":       {known, []string{"k", "started"}, []string{"k"}, []string{"k", "k3"}},
		"all are launched":          {known, []string{"k", "started"}, []string{"k", "started"}, nil},
		"nothing is launched":       {known, []string{"k", "started"}, nil, nil},
		"a part of another name":    {known, []string{"start", "started"}, []string{"start"}, nil},
		"a pattern":                 {known, []string{"k", "k2", "started"}, []string{"k*"}, []string{"k*", "k3"}},
		"not known before the link": {plain, []string{"k", "started"}, []string{"k"}, nil},
		"named by an option":        {named, []string{"k", "started"}, []string{"k"}, nil},
	} {
		var c code
		for _, k := range test.kernels {
			c.functions = append(c.functions, kernel(k))
		}
		in := Input{Name: "a.o", Cubin: c.build(), Host: HostKnown, LaunchedExternal: test.launched}
		if diff := cmp.Diff(test.want, PatternsOfLaunched(&test.options, []Input{in, runtime})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	damaged := Input{Name: "a.o", Cubin: []byte("no cubin"), Host: HostKnown, LaunchedExternal: []string{"k"}}
	if got := PatternsOfLaunched(&known, []Input{damaged}); got != nil {
		t.Errorf("a damaged input: %q", got)
	}
}

// linkedBefore is an input that takes no part in a link.
func linkedBefore(t *testing.T) Input {
	t.Helper()
	out, err := merge(plain, code{functions: []fn{kernel("linked")}})
	if err != nil {
		t.Fatal(err)
	}
	return Input{Name: "linked", Cubin: out.Cubin, Host: HostKnown}
}

func TestResolution(t *testing.T) {
	caller := code{functions: []fn{kernel("k", "f"), {name: "f", outside: true}}}
	defines := code{functions: []fn{{name: "f"}}}
	weakly := code{functions: []fn{{name: "f", weak: true}}}
	tests := []struct {
		name  string
		codes []code
		want  string // what the link ends with, empty: well
	}{
		{"defined", []code{caller, defines}, ""},
		{"defined before", []code{defines, caller}, ""},
		{"weak twice", []code{weakly, caller, weakly}, ""},
		{"strong over weak", []code{weakly, defines, caller}, ""},
		{"weak after strong", []code{defines, weakly, caller}, ""},
		{"undefined", []code{caller}, "error: Undefined reference to 'f' in 'a.o'"},
		{"undefined, but not called", []code{{functions: []fn{{name: "f", outside: true},
			{name: "g", calls: []string{"f"}}}}}, ""},
		{"system call", []code{{functions: []fn{kernel("k", "vprintf"), {name: "vprintf", outside: true}}}}, ""},
		{"twice", []code{defines, defines},
			"error: Multiple definition of 'f' in 'b.o', first defined in 'a.o'; fatal: merge_elf failed"},
		{"variable", []code{{variables: []variable{{name: "v", outside: true}}},
			{variables: []variable{{name: "v", outside: false}}}}, ""},
		{"undefined variable", []code{{variables: []variable{{name: "v", outside: true}}}},
			"error: Undefined reference to 'v' in 'a.o'"},
		{"variable twice", []code{{variables: []variable{{name: "v", outside: true}}},
			{variables: []variable{{name: "v", outside: false}}}, {variables: []variable{{name: "v", outside: false}}}},
			"error: Multiple definition of 'v' in 'c.o', first defined in 'a.o'; fatal: merge_elf failed"},
		{"size clash", []code{{variables: []variable{{name: "v", outside: true, size: 8}}},
			{variables: []variable{{name: "v", outside: false, size: 12}}}},
			"error: Size doesn't match for 'v' in 'b.o', first specified in 'a.o'; fatal: merge_elf failed"},
		{"common", []code{{variables: []variable{{name: "v", outside: true}}},
			{variables: []variable{{name: "v", common: true}}}, {variables: []variable{{name: "v", common: true, size: 8}}}},
			""},
		{"common twice", []code{{variables: []variable{{name: "v", common: true}}},
			{variables: []variable{{name: "v", common: true, size: 8}}}}, ""},
		{"common with a value", []code{{variables: []variable{{name: "v", common: true}}},
			{variables: []variable{{name: "v"}}}, {variables: []variable{{name: "v", common: true}}}}, ""},
		{"common larger than a value", []code{{variables: []variable{{name: "v"}}},
			{variables: []variable{{name: "v", common: true, size: 8}}}},
			"error: Common symbol 'v' in file 'b.o' has larger size than initialization; fatal: merge_elf failed"},
		{"newer input", []code{{toolkit: 134}}, "fatal: Input file 'a.o' newer than toolkit (134 vs 130)"},
	}
	for _, test := range tests {
		_, err := merge(plain, test.codes...)
		var said []string
		for _, m := range message.Of(err) {
			said = append(said, m.Severity.String()+": "+m.Text)
		}
		if got := strings.Join(said, "; "); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestRecursionIsSaidOfEveryCall(t *testing.T) {
	out, err := merge(plain, code{functions: []fn{kernel("k", "f", "g"), {name: "f", calls: []string{"g"}},
		{name: "g", calls: []string{"g"}}}})
	if err != nil {
		t.Fatal(err)
	}
	const want = "Stack size for entry function 'k' cannot be statically determined"
	if len(out.Messages) != 2 || out.Messages[0].Text != want || out.Messages[1].Text != want {
		t.Fatalf("messages are %v", out.Messages)
	}
	for i, chain := range []string{"the calls are k -> f -> g -> g", "the calls are k -> g -> g"} {
		if m := out.Messages[i]; !slices.Equal(m.Notes, []string{chain}) || m.Hint == "" {
			t.Errorf("%d: notes %q, want %q; hint %q", i, m.Notes, chain, m.Hint)
		}
	}
}

// TestChains names functions as their sources do, and no more of them than help.
func TestChains(t *testing.T) {
	long := []fn{kernel("k", "f0")}
	for i := range 20 {
		long = append(long, fn{name: fmt.Sprintf("f%d", i), calls: []string{fmt.Sprintf("f%d", i+1)}})
	}
	long = append(long, fn{name: "f20", outside: true})
	tests := map[string]struct {
		functions []fn
		want      string
	}{
		"shortest": {[]fn{kernel("k", "a", "b"), {name: "a", calls: []string{"b"}}, {name: "b", calls: []string{"_Z1xi"}},
			{name: "_Z1xi", outside: true}}, "the calls are k -> b -> x(int)"},
		"recursion": {[]fn{kernel("k", "a"), {name: "a", calls: []string{"a", "x"}}, {name: "x", outside: true}},
			"the calls are k -> a -> x"},
		"long": {long, "the calls are k -> f0 -> f1 -> f2 -> f3 -> f4 -> ... -> f16 -> f17 -> f18 -> f19 -> f20"},
	}
	for name, test := range tests {
		_, err := merge(plain, code{functions: test.functions})
		messages := message.Of(err)
		last := messages[len(messages)-1]
		if last.ID != "undefined-symbol" || !slices.Equal(last.Notes, []string{test.want}) {
			t.Errorf("%s: %v, notes %q, want %q", name, last, last.Notes, test.want)
		}
	}
}

func TestStackDepths(t *testing.T) {
	frames := []uint64{8, 16, 100, 1, 0}
	g := graph{edges: [][]int32{{1, 3}, {2}, {}, {4}, {3}}, symbols: 5}
	got := g.stackDepths([]symbolID{1, 0}, func(node int32) uint64 { return frames[node] })
	if got[1] != (depth{bytes: 116}) || !got[0].recursive || !got[3].recursive {
		t.Errorf("depths are %+v", got)
	}
}

func TestWhatRulesDontCoverIsNamed(t *testing.T) {
	with := func(s objecttest.Section) code {
		return code{functions: []fn{kernel("k")}, extra: []objecttest.Section{s}}
	}
	tests := []struct {
		code code
		want string
	}{
		{with(objecttest.Section{Name: ".nv.uft", Type: 0x7000000e}), ".nv.uft"},
		{with(objecttest.Section{Name: ".x", Type: uint32(elf64.Rela), Flags: elf64.InfoLink, Info: 1,
			EntSize: elf64.RelaSize, Data: make([]byte, 2*elf64.RelaSize)}), ".x"},
		{with(objecttest.Section{Name: ".debug_x", Flags: 0x800}), ".debug_x"},
		{with(objecttest.Section{Name: ".nv.info.f", Type: uint32(cubin.SHT_CUDA_INFO), Data: []byte{1, 0xee, 0, 0}}),
			"0xee"},
		{with(objecttest.Section{Name: ".nv.info.k", Type: uint32(cubin.SHT_CUDA_INFO), Flags: elf64.InfoLink, Info: 1,
			Data: []byte{1, byte(cubin.EIATTR_NUM_BARRIERS), 0, 0}}), "0x4c of form 1"},
		{with(objecttest.Section{Name: ".nv.info.f", Type: uint32(cubin.SHT_CUDA_INFO), Flags: elf64.InfoLink, Info: 1}),
			"'.nv.info.f'"},
		{with(objecttest.Section{Name: ".nv.callgraph", Type: uint32(cubin.SHT_CUDA_CALLGRAPH), EntSize: callSize}),
			"two sections '.nv.callgraph'"},
		{with(objecttest.Section{Name: ".debug_frame", EntSize: 2}), "rows of 2 bytes"},
		{code{functions: []fn{kernel("k")}, graph: []byte{0, 0, 0, 0, 0xf0, 0xff, 0xff, 0xff, 1, 0, 0, 0, 1, 0, 0, 0}},
			"group -16"},
	}
	for _, test := range tests {
		_, err := merge(plain, test.code)
		var u *Unsupported
		if !errors.As(err, &u) || u.Input != "a.o" || !strings.Contains(u.What, test.want) {
			t.Errorf("%s: %v", test.want, err)
		}
	}
	for _, options := range []Options{{Arch: gpu.Arch{Number: 70}, Release: gpu.Release{Major: 13}},
		{Arch: gpu.Arch{Number: 80}, Release: gpu.Release{Major: 13, Minor: 5}}} {
		var u *Unsupported
		if _, err := merge(options); !errors.As(err, &u) {
			t.Errorf("%+v: %v", options, err)
		}
	}
}

// TestSharedLimit: the numbers are those that nvlink names in its message.
func TestSharedLimit(t *testing.T) {
	for name, want := range map[string]uint64{"sm_75": 48 << 10, "sm_89": 48 << 10, "sm_90": 48 << 10,
		"sm_90a": 227 << 10} {
		target, _ := gpu.Parse(name)
		rules, err := newRules(Options{Arch: target, Release: gpu.Release{Major: 13}})
		if err != nil {
			t.Fatal(err)
		}
		if rules.sharedLimit != want {
			t.Errorf("%s: %d bytes, want %d", name, rules.sharedLimit, want)
		}
	}
}

// TestManyDebugSections: the header of the file has a byte for the place of the note
// that says what the file is for, which comes after debug information.
func TestManyDebugSections(t *testing.T) {
	for sections, want := range map[int]uint32{10: 4 + 10 + 1, 300: 0xff} {
		c := code{functions: []fn{kernel("k")}}
		for i := range sections {
			c.extra = append(c.extra, objecttest.Section{Name: fmt.Sprintf(".nv_debug_ptx_txt.%d", i), Data: []byte("x")})
		}
		out, err := merge(plain, c)
		if err != nil {
			t.Fatal(err)
		}
		if got := le.Uint32(out.Cubin[48:]) >> 24; got != want {
			t.Errorf("%d sections: the note is section %d, want %d", sections, got, want)
		}
	}
}

func TestRuntimeOnDemand(t *testing.T) {
	needs := code{functions: []fn{kernel("k", "rt"), {name: "rt", outside: true}}}
	runtime := Input{Name: "libcudadevrt.a", Cubin: code{functions: []fn{{name: "rt"}}}.build(), Runtime: true}
	other := Input{Name: "b.o", Cubin: code{functions: []fn{kernel("k2")}}.build()}
	caller := Input{Name: "a.o", Cubin: needs.build()}
	tests := []struct {
		name   string
		inputs []Input
		keep   bool
		want   []bool // taken, or nil if the link fails
	}{
		{"needed", []Input{caller, runtime, other}, false, []bool{true, true, true}},
		{"not needed", []Input{other, runtime}, false, []bool{true, false}},
		{"kept", []Input{other, runtime}, true, []bool{true, true}},
		{"first", []Input{runtime, other}, true, []bool{false, true}},
		{"too early", []Input{other, runtime, caller}, false, nil},
	}
	for _, test := range tests {
		options := plain
		options.KeepSystemLibraries = test.keep
		out, err := Merge(test.inputs, options)
		switch {
		case test.want == nil && (err == nil || err.Error() != "unexpected object after cudadevrt"):
			t.Errorf("%s: %v", test.name, err)
		case test.want != nil && (err != nil || !slices.Equal(out.Taken, test.want)):
			t.Errorf("%s: %+v, %v", test.name, out, err)
		}
	}
}

// The result of -r is an input like those that it was made of.
func TestRelocatable(t *testing.T) {
	again := plain
	again.Relocatable = true
	for name, inputs := range map[string][]code{
		"one": {relocated()},
		"undefined": {{functions: []fn{kernel("k", "f"), {name: "f", outside: true}},
			variables: []variable{{name: "w", outside: true}}}},
	} {
		part, err := merge(again, inputs...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rest := code{functions: []fn{{name: "f", weak: true}}, variables: []variable{{name: "v"}, {name: "w"}}}
		want, err := merge(plain, append(inputs, rest)...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, err := Merge([]Input{{Name: "part", Cubin: part.Cubin}, {Name: "rest", Cubin: rest.build()}}, plain)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		a, errA := cubin.Parse(want.Cubin)
		b, errB := cubin.Parse(got.Cubin)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		for i := range a.Sections { // their order is another one
			s := &a.Sections[i]
			other := b.Section(s.Name)
			if other == nil || other.Type != s.Type || (other.Size != s.Size && s.Name != ".note.nv.tkinfo") ||
				len(a.Sections) != len(b.Sections) {
				t.Errorf("%s: the section %+v is %+v", name, s, other)
				continue
			}
			x, errX := a.Data(s, 1<<20)
			y, errY := b.Data(other, 1<<20)
			if strings.HasPrefix(s.Name, ".nv.info.") {
				x, y = attributeIDs(x), attributeIDs(y)
			} else if s.Flags&elf64.Alloc == 0 {
				continue
			}
			if !bytes.Equal(x, y) || (errX == nil) != (errY == nil) {
				t.Errorf("%s: the section %s differs: %x and %x", name, s.Name, x, y)
			}
		}
	}
}

// attributeIDs are those of the rows of a section.
func attributeIDs(data []byte) (ids []byte) {
	for len(data) >= 4 {
		ids = append(ids, data[1])
		if data[0] == byte(cubin.EIFMT_SVAL) {
			data = data[le.Uint16(data[2:]):]
		}
		data = data[4:]
	}
	return ids
}

// A program without code demands something of the driver, too.
func TestNothingForHopper(t *testing.T) {
	options := plain
	options.Arch.Number = 90
	out, err := merge(options)
	if err != nil {
		t.Fatal(err)
	}
	f, err := cubin.Parse(out.Cubin)
	if err != nil {
		t.Fatal(err)
	}
	data, err := f.Data(f.Section(".nv.compat"), 100)
	if want := []byte{2, byte(compatSpecific), 0, 0}; err != nil || !bytes.Equal(data, want) {
		t.Errorf(".nv.compat holds %x, want %x, %v", data, want, err)
	}
}

func TestMercuryIsMercuryed(t *testing.T) {
	options := plain
	options.Arch.Number = 100
	out, err := merge(options, code{functions: []fn{kernel("k", "f"), {name: "f"}, {name: "unused"}}, mercury: true})
	if err != nil {
		t.Fatal(err)
	}
	f, err := cubin.Parse(out.Cubin)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"k", "f"} {
		text, capsule := f.Section(".text."+name), f.Section(cubin.CapsulePrefix+".text."+name)
		if text == nil || capsule == nil {
			t.Errorf("%s: code %v, Mercury code %v", name, text, capsule)
			continue
		}
		data, err := f.Data(capsule, 100)
		if want := append(le.AppendUint32(nil, uint32(text.Index)), "ule"...); err != nil || !bytes.Equal(data, want) {
			t.Errorf("%s: the capsule holds %q, want %q, %v", name, data, want, err)
		}
	}
	if f.Section(cubin.CapsulePrefix+".text.unused") != nil || f.Section(cubin.MercurySymbols) == nil {
		t.Error("the second program is not that of the first one")
	}
}

// FuzzMerge sees to it that no input makes the merger panic or hang, and that
// what it gives is a cubin that can be read.
func FuzzMerge(f *testing.F) {
	rich := code{functions: []fn{kernel("k", "f"), {name: "f", weak: true, frame: 8}, {name: "vprintf", outside: true}},
		variables: []variable{{name: "v", outside: false}, {name: "w", outside: true}}}
	f.Add(rich.build(), code{functions: []fn{{name: "f"}}, variables: []variable{{name: "w", outside: false}}}.build())
	f.Add(relocated().build(), relocated().build())
	x := objecttest.Symbol{Name: "x", Info: bindWeak | byte(cubin.STT_CUDA_OBJECT), Size: 24}
	row := objecttest.Relocation{Kind: uint32(cubin.R_CUDA_ABS32_LO_32), Symbol: 2}
	f.Add(weakData(0, []objecttest.Relocation{row}, x), weakData(1, []objecttest.Relocation{row}, x))
	f.Add(code{functions: []fn{kernel("k")}, variables: []variable{{name: "v", common: true}}}.build(),
		code{variables: []variable{{name: "v", common: true, size: 8}}}.build())
	rich.mercury = true
	f.Add(rich.build(), code{functions: []fn{{name: "f"}}, variables: []variable{{name: "w"}}, mercury: true}.build())
	f.Fuzz(func(t *testing.T, a, b []byte) {
		for _, number := range []int{80, 86, 90, 100, -80} { // below zero: with -r
			options := plain
			options.Arch.Number, options.Relocatable = max(number, -number), number < 0
			options.DedupWeakData = len(a)%2 == 0
			options.Debug, options.Verbose = number == 86, number == 86
			out, err := Merge([]Input{{Name: "a.o", Cubin: a}, {Name: "b.o", Cubin: b}}, options)
			if err != nil {
				continue
			}
			if _, err := cubin.Parse(out.Cubin); err != nil {
				t.Errorf("the output cannot be read: %v", err)
			}
		}
	})
}

// relocated is a cubin with every kind of table: shared memory, constants,
// relocations, attributes of functions, debug information.
func relocated() code {
	row := func(offset uint64, kind cubin.Relocation, symbol uint32, addend uint64) []byte {
		b := le.AppendUint64(nil, offset)
		b = le.AppendUint32(le.AppendUint32(b, uint32(kind)), symbol)
		return le.AppendUint64(b, addend)
	}
	return code{functions: []fn{kernel("k", "f"), {name: "f", weak: true}},
		variables: []variable{{name: "v", outside: true}}, extra: []objecttest.Section{
			{Name: ".nv.shared.k", Type: uint32(cubin.SHT_CUDA_SHARED), Flags: elf64.Alloc | elf64.Write | elf64.InfoLink,
				Info: 1, Data: make([]byte, 64)},
			{Name: ".nv.constant2.f", Type: uint32(cubin.SHT_CUDA_CONSTANT_B0) + 2, Flags: elf64.Alloc | elf64.InfoLink,
				Info: 2, Data: make([]byte, 8)},
			{Name: ".nv.info.k", Type: uint32(cubin.SHT_CUDA_INFO), Flags: elf64.InfoLink, Info: 1,
				Data: []byte{2, byte(cubin.EIATTR_NUM_BARRIERS), 1, 0, byte(cubin.EIFMT_SVAL), byte(cubin.EIATTR_EXTERNS), 4, 0,
					2, 0, 0, 0}},
			{Name: ".rela.text.k", Type: uint32(elf64.Rela), Flags: elf64.InfoLink, Info: 1, EntSize: elf64.RelaSize,
				Data: row(0, cubin.R_CUDA_ABS47_34, 2, 0)},
			{Name: ".debug_frame", Data: make([]byte, 64)},
		}}
}

// mutate changes a few places of a file, by bytes or by the words that lengths
// and indices are, or cuts its end off.
func mutate(r *rand.Rand, file []byte) []byte {
	data := slices.Clone(file)
	for range 1 + r.IntN(4) {
		at := r.IntN(len(data) - 8)
		switch r.IntN(4) {
		case 0:
			data[at] = byte(r.IntN(256))
		case 1:
			le.PutUint16(data[at&^1:], uint16(r.IntN(1<<16)))
		case 2:
			le.PutUint32(data[at&^3:], []uint32{0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff, r.Uint32()}[r.IntN(7)])
		case 3:
			le.PutUint64(data[at&^7:], []uint64{0, 1, uint64(len(data)), 1 << 40, 1 << 63, ^uint64(0), r.Uint64()}[r.IntN(7)])
		}
	}
	if r.IntN(16) == 0 {
		data = data[:r.IntN(len(data))]
	}
	return data
}

// TestMutatedInputs damages good inputs: whatever comes of it, the merger
// ends, soon, without a panic, and an error leaves no output.
func TestMutatedInputs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	mercury := code{functions: []fn{kernel("k", "f"), {name: "f"}}, mercury: true}
	for _, seed := range []struct {
		number int
		data   []byte
	}{{80, relocated().build()}, {90, relocated().build()}, {100, mercury.build()}} {
		options := plain
		options.Arch.Number = seed.number
		for range 5000 {
			data := mutate(r, seed.data)
			start := time.Now()
			out, err := Merge([]Input{{Name: "a.o", Cubin: data}, {Name: "b.o", Cubin: seed.data}}, options)
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("a link of %d bytes took %v", len(data), took)
			}
			if err != nil && out != nil {
				t.Errorf("output beside the error %v", err)
			}
		}
	}
}

// The first symbol of a table stands for none. One that is a function once led
// to a section that does not exist.
func TestFirstSymbolIsEmpty(t *testing.T) {
	data := code{functions: []fn{kernel("k")}}.build()
	f, err := cubin.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	row := data[f.Section(".symtab").Offset:]
	row[4] = bindGlobal | 2
	le.PutUint16(row[6:], 0xfff0)
	var u *Unsupported
	if _, err := Merge([]Input{{Name: "a.o", Cubin: data}}, plain); !errors.As(err, &u) {
		t.Errorf("the error is %v", err)
	}
}
