package scripts

import (
	"encoding/binary"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/warpld/warpld/internal/object/objecttest"
)

var le = binary.LittleEndian

// Types of sections and attributes that device code has.
const (
	typeSymtab    = 2
	typeStrtab    = 3
	typeNote      = 7
	typeNobits    = 8
	typeInfo      = 0x70000000
	typeCallGraph = 0x70000001

	flagAlloc, flagExec = 2, 4
	flagNotes           = 0x1000000

	globalFunction = 1<<4 | 2 // binding and type of a symbol
	weakFunction   = 2<<4 | 2
	globalVariable = 1<<4 | 13
	entryPoint     = 0x10 // marks a kernel
	inGlobal       = 0x20 // marks a variable in global memory

	attrFrame     = 0x11
	attrMinStack  = 0x12
	attrRegisters = 0x2f
	attrBarriers  = 0x4c
	attrNotes     = 0x55
)

const globalMemory = 1 // LLVM's address space

// Kinds of members of fat binaries.
const (
	kindELF    = 2
	kindLTOIR  = 8
	obfuscated = 0x10000
)

// objects are the inputs that scripts may ask for, by their kinds: object KIND FILE
// [NAME...]. For most kinds the names are those of kernels, with NAME=REGISTERS for other
// than 8 registers.
var objects = map[string]func(ts *testscript.TestScript, names []string) []byte{
	"archive": archive,
	"bitcode": bitcodeFile,
	"clang":   clangObject,
	"cubin":   cubinOf,
	"damaged": func(ts *testscript.TestScript, names []string) []byte {
		data := cubinOf(ts, []string{"add"})
		return data[:len(data)-100]
	},
	"heavy":      func(*testscript.TestScript, []string) []byte { return heavyKernel() },
	"host":       hostObject,
	"host-only":  func(*testscript.TestScript, []string) []byte { return objecttest.HostObject(nil, "", nil) },
	"lto":        ltoObject,
	"native":     nativeObject,
	"obfuscated": obfuscatedObject,
}

func writeObject(ts *testscript.TestScript, _ bool, args []string) {
	build, ok := objects[args[0]]
	if !ok {
		ts.Fatalf("no kind of object is called %s", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), build(ts, args[2:]), 0o666))
}

// A Cubin is device code for sm_80 that warpld's own merger links.
type Cubin struct {
	Linked    bool
	Functions []Function
	// Lacks are variables that it does not define.
	Lacks []string
}

// A Function is a part of a Cubin. Its instructions are zeros.
type Function struct {
	Name      string
	Kernel    bool
	Weak      bool
	Undefined bool
	Registers int
	Calls     []string
}

// Bytes returns the file.
func (c Cubin) Bytes() []byte {
	var sections []objecttest.Section
	var symbols []objecttest.Symbol
	var info []byte
	graph := le.AppendUint32(le.AppendUint32(nil, 0), 0xffffffff)
	index := map[string]uint32{}
	for i, f := range c.Functions {
		index[f.Name] = uint32(1 + i)
	}
	for _, f := range c.Functions {
		symbol := objecttest.Symbol{Name: f.Name, Info: globalFunction, Size: 128}
		if f.Weak {
			symbol.Info = weakFunction
		}
		if f.Kernel {
			symbol.Other = entryPoint
		}
		if !f.Undefined {
			sections = append(sections, objecttest.Section{Name: ".text." + f.Name, Flags: flagAlloc | flagExec,
				Info: index[f.Name], Data: make([]byte, 128)})
			symbol.Section = uint16(len(sections))
			info = append(info, attribute(attrRegisters, index[f.Name], uint32(max(f.Registers, 8)))...)
			info = append(info, attribute(attrFrame, index[f.Name], 0)...)
			info = append(info, attribute(attrMinStack, index[f.Name], 0)...)
		}
		symbols = append(symbols, symbol)
		for _, callee := range f.Calls {
			graph = le.AppendUint32(le.AppendUint32(graph, index[f.Name]), index[callee])
		}
	}
	for _, name := range c.Lacks {
		symbols = append(symbols, objecttest.Symbol{Name: name, Info: globalVariable, Other: inGlobal, Size: 4})
	}
	sections = append(sections,
		objecttest.Section{Name: ".nv.info", Type: typeInfo, Data: info},
		objecttest.Section{Name: ".nv.callgraph", Type: typeCallGraph, EntSize: 8, Data: graph},
		objecttest.Section{Name: ".note.nv.cuinfo", Type: typeNote, Flags: flagNotes, Data: targetNote()})
	return deviceFile(c.Linked, sections, symbols)
}

// deviceFile puts sections and symbols into a cubin for sm_80.
func deviceFile(linked bool, sections []objecttest.Section, symbols []objecttest.Symbol) []byte {
	rows, names := objecttest.Symbols(symbols...)
	for i := range sections {
		if sections[i].Type >= typeInfo {
			sections[i].Link = uint32(len(sections) + 2)
		}
	}
	sections = append(sections,
		objecttest.Section{Name: ".strtab", Type: typeStrtab, Data: names},
		objecttest.Section{Name: ".symtab", Type: typeSymtab, Link: uint32(len(sections) + 1), EntSize: 24, Data: rows})
	file := objecttest.ELFFile{Machine: 190, ABIVersion: 8, Flags: 80<<8 | 4, Sections: sections}
	if linked {
		file.Type = 2
	}
	return objecttest.ELF(file)
}

// attribute is a row of a table of attributes with two numbers.
func attribute(id byte, first, second uint32) []byte {
	return le.AppendUint32(le.AppendUint32([]byte{4, id, 8, 0}, first), second)
}

// targetNote names the virtual architecture and the release of the toolkit.
func targetNote() []byte {
	const vendor = "NVIDIA Corp\x00"
	desc := le.AppendUint32([]byte{2, 0, 80, 0}, 130)
	note := le.AppendUint32(nil, uint32(len(vendor)))
	note = le.AppendUint32(le.AppendUint32(note, uint32(len(desc))), 1000)
	return append(append(note, vendor...), desc...)
}

// cubinOf returns relocatable device code with some kernels.
func cubinOf(_ *testscript.TestScript, names []string) []byte {
	var c Cubin
	for _, name := range names {
		f := Function{Kernel: true}
		name, number, _ := strings.Cut(name, "=")
		f.Name = name
		if registers, err := strconv.Atoi(number); err == nil {
			f.Registers = registers
		}
		c.Functions = append(c.Functions, f)
	}
	return c.Bytes()
}

// heavyKernel returns device code with one kernel that uses some of everything.
func heavyKernel() []byte {
	const kernel = "_Z5heavyPf"
	info := append(attribute(attrRegisters, 1, 255), attribute(attrFrame, 1, 64)...)
	info = append(info, attribute(attrMinStack, 1, 96)...)
	own := []byte{2, attrBarriers, 3, 0}
	own = append(own, attribute(attrNotes, 1, 0x10)...) // one instruction that spills
	return deviceFile(false, []objecttest.Section{
		{Name: ".text." + kernel, Flags: flagAlloc | flagExec, Info: 1, Data: make([]byte, 256)},
		{Name: ".nv.info", Type: typeInfo, Data: info},
		{Name: ".nv.info." + kernel, Type: typeInfo, Data: own},
		{Name: ".nv.shared." + kernel, Type: typeNobits, Data: make([]byte, 512)},
		{Name: ".nv.constant0." + kernel, Data: make([]byte, 360)},
		{Name: ".note.nv.cuinfo", Type: typeNote, Flags: flagNotes, Data: targetNote()},
	}, []objecttest.Symbol{{Name: kernel, Info: globalFunction, Other: entryPoint, Section: 1, Size: 256}})
}

// hostObject returns what nvcc -dlto makes: device code in two forms, and what the host
// code refers to.
func hostObject(ts *testscript.TestScript, names []string) []byte {
	fat := objecttest.Fatbin(
		objecttest.Member{Kind: kindELF, Arch: 80, Payload: cubinOf(ts, names)},
		objecttest.Member{Kind: kindLTOIR, Arch: 80, Options: "-ftz=1", Payload: objecttest.LTOIR(80, false),
			Compression: "lz4"})
	refs := objecttest.NoRefs()
	refs[".nvHRKE"] = strings.Join(names, "\x00")
	refs[".nvHRDI"] = "counter"
	return objecttest.HostObject(fat, "_00000001_4_a_cu_id", refs)
}

// nativeObject returns what nvcc -dc makes for sm_80, with host code that launches all
// kernels.
func nativeObject(ts *testscript.TestScript, names []string) []byte {
	refs := objecttest.NoRefs()
	for _, name := range names {
		name, _, _ = strings.Cut(name, "=")
		refs[".nvHRKE"] += name + "\x00"
	}
	refs[".nvHRKE"] = strings.TrimSuffix(refs[".nvHRKE"], "\x00")
	fat := objecttest.Fatbin(objecttest.Member{Kind: kindELF, Arch: 80, Payload: cubinOf(ts, names)})
	return objecttest.HostObject(fat, "_native_id", refs)
}

// irMark is between the head of LTO-IR and its PTX.
const irMark = "//ir\n"

// ltoObject returns what nvcc -dlto makes of a source, which here is PTX without its
// head: object lto FILE SOURCE [OPTIONS]. The host code launches all kernels.
func ltoObject(ts *testscript.TestScript, args []string) []byte {
	text := ts.ReadFile(args[0])
	var kernels []string
	for _, f := range functionsOf(text) {
		if f.Kernel {
			kernels = append(kernels, f.Name)
		}
	}
	refs := objecttest.NoRefs()
	refs[".nvHRKE"] = strings.Join(kernels, "\x00")
	ir := append(objecttest.LTOIR(80, false), irMark+text...)
	member := objecttest.Member{Kind: kindLTOIR, Arch: 80, Options: strings.Join(args[1:], " "), Payload: ir}
	return objecttest.HostObject(objecttest.Fatbin(member), "_"+strings.ReplaceAll(args[0], ".", "_"), refs)
}

// obfuscatedObject returns LTO-IR that only NVIDIA's tools can read.
func obfuscatedObject(*testscript.TestScript, []string) []byte {
	return objecttest.HostObject(objecttest.Fatbin(objecttest.Member{Kind: kindLTOIR, Arch: 80, Flags: obfuscated,
		Payload: objecttest.LTOIR(80, false), Compression: "lz4"}), "", nil)
}

// archive returns an archive of a cubin, a host object and a text.
func archive(ts *testscript.TestScript, names []string) []byte {
	return objecttest.Archive(
		objecttest.File{Name: "device.cubin", Data: cubinOf(ts, names)},
		objecttest.File{Name: "native.o", Data: nativeObject(ts, names)},
		objecttest.File{Name: "readme.txt", Data: []byte(strings.Repeat("This is no object. ", 10))})
}

// bitcodeFile returns LLVM bitcode with kernels. A name that ends with "()" is a function,
// and one that begins with "?" a function that is defined elsewhere, or with "?*" such a
// variable. The name "thin" stands for the summary that ThinLTO needs.
func bitcodeFile(_ *testscript.TestScript, names []string) []byte {
	f := objecttest.BitcodeFile{CPU: "sm_80"}
	for _, name := range names {
		if name == "thin" {
			f.Thin = true
			continue
		}
		function, isFunction := strings.CutSuffix(name, "()")
		function, isDeclared := strings.CutPrefix(function, "?")
		function, isVariable := strings.CutPrefix(function, "*")
		y := objecttest.BitcodeSymbol{Name: function, Kernel: !isFunction && !isDeclared && !isVariable,
			Declared: isDeclared}
		if isVariable {
			y.AddressSpace = globalMemory
		}
		f.Symbols = append(f.Symbols, y)
	}
	return objecttest.Bitcode(f)
}

// clangObject returns what clang -fgpu-rdc -foffload-lto makes: a host object with bitcode
// and a list of the kernels that it launches.
func clangObject(ts *testscript.TestScript, names []string) []byte {
	const kindBitcode = 2
	image := objecttest.OffloadImage{Kind: kindBitcode, Triple: "nvptx64-nvidia-cuda", Arch: "sm_80",
		Data: bitcodeFile(ts, names)}
	var kernels []string
	for _, name := range names {
		if name != "thin" && !strings.ContainsAny(name, "?()") {
			kernels = append(kernels, name)
		}
	}
	return objecttest.ClangObject(objecttest.Offloading(image), kernels, nil)
}
