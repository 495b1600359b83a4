package command

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
	entryPoint     = 0x10     // marks a kernel

	attrFrame     = 0x11
	attrMinStack  = 0x12
	attrRegisters = 0x2f
	attrBarriers  = 0x4c
	attrNotes     = 0x55
)

// objects are the inputs that scripts may ask for, by their kinds.
var objects = map[string]func(names []string) []byte{
	"cubin":   cubinOf,
	"heavy":   heavyKernel,
	"host":    hostObject,
	"archive": archive,
	"bitcode": bitcodeFile,
	"obfuscated": func([]string) []byte {
		const kindLTOIR, flagObfuscated = 8, 0x10000
		return objecttest.HostObject(objecttest.Fatbin(objecttest.Member{Kind: kindLTOIR, Arch: 80, Flags: flagObfuscated,
			Payload: objecttest.LTOIR(80, false), Compression: "lz4"}), "", nil)
	},
	"damaged": func([]string) []byte {
		data := cubinOf([]string{"add"})
		return data[:len(data)-100]
	},
}

// makeObject writes an input: object KIND FILE [NAME...].
func makeObject(ts *testscript.TestScript, _ bool, args []string) {
	build, ok := objects[args[0]]
	if !ok {
		ts.Fatalf("no kind of object is called %s", args[0])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), build(args[2:]), 0o666))
}

// cubinOf returns relocatable device code for sm_80 that warpld's own merger links.
// A name is NAME or NAME=REGISTERS.
func cubinOf(names []string) []byte {
	var sections []objecttest.Section
	var symbols []objecttest.Symbol
	var info []byte
	for i, name := range names {
		name, number, _ := strings.Cut(name, "=")
		registers, err := strconv.Atoi(number)
		if err != nil {
			registers = 8
		}
		index := uint32(1 + i)
		sections = append(sections, objecttest.Section{Name: ".text." + name, Flags: flagAlloc | flagExec, Info: index,
			Data: make([]byte, 128)})
		symbols = append(symbols, objecttest.Symbol{Name: name, Info: globalFunction, Other: entryPoint,
			Section: uint16(index), Size: 128})
		info = append(info, attribute(attrRegisters, index, uint32(registers))...)
		info = append(info, attribute(attrFrame, index, 0)...)
		info = append(info, attribute(attrMinStack, index, 0)...)
	}
	graph := le.AppendUint32(le.AppendUint32(nil, 0), 0xffffffff)
	sections = append(sections,
		objecttest.Section{Name: ".nv.info", Type: typeInfo, Data: info},
		objecttest.Section{Name: ".nv.callgraph", Type: typeCallGraph, EntSize: 8, Data: graph},
		objecttest.Section{Name: ".note.nv.cuinfo", Type: typeNote, Flags: flagNotes, Data: targetNote()})
	return deviceFile(sections, symbols)
}

// heavyKernel returns device code with one kernel that uses some of everything.
func heavyKernel([]string) []byte {
	const kernel = "_Z5heavyPf"
	info := append(attribute(attrRegisters, 1, 255), attribute(attrFrame, 1, 64)...)
	info = append(info, attribute(attrMinStack, 1, 96)...)
	own := []byte{2, attrBarriers, 3, 0}
	own = append(own, attribute(attrNotes, 1, 0x10)...) // one instruction that spills
	return deviceFile([]objecttest.Section{
		{Name: ".text." + kernel, Flags: flagAlloc | flagExec, Info: 1, Data: make([]byte, 256)},
		{Name: ".nv.info", Type: typeInfo, Data: info},
		{Name: ".nv.info." + kernel, Type: typeInfo, Data: own},
		{Name: ".nv.shared." + kernel, Type: typeNobits, Data: make([]byte, 512)},
		{Name: ".nv.constant0." + kernel, Data: make([]byte, 360)},
		{Name: ".note.nv.cuinfo", Type: typeNote, Flags: flagNotes, Data: targetNote()},
	}, []objecttest.Symbol{{Name: kernel, Info: globalFunction, Other: entryPoint, Section: 1, Size: 256}})
}

// deviceFile puts sections and symbols into a cubin for sm_80.
func deviceFile(sections []objecttest.Section, symbols []objecttest.Symbol) []byte {
	rows, names := objecttest.Symbols(symbols...)
	for i := range sections {
		if sections[i].Type >= typeInfo {
			sections[i].Link = uint32(len(sections) + 2)
		}
	}
	sections = append(sections,
		objecttest.Section{Name: ".strtab", Type: typeStrtab, Data: names},
		objecttest.Section{Name: ".symtab", Type: typeSymtab, Link: uint32(len(sections) + 1), EntSize: 24, Data: rows})
	return objecttest.ELF(objecttest.ELFFile{Machine: 190, ABIVersion: 8, Flags: 80<<8 | 4, Sections: sections})
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

// hostObject returns what nvcc -dlto makes: device code in two forms, and what the host
// code refers to.
func hostObject(names []string) []byte {
	const kindELF, kindLTOIR = 2, 8
	fat := objecttest.Fatbin(
		objecttest.Member{Kind: kindELF, Arch: 80, Payload: cubinOf(names)},
		objecttest.Member{Kind: kindLTOIR, Arch: 80, Options: "-ftz=1", Payload: objecttest.LTOIR(80, false),
			Compression: "lz4"})
	refs := objecttest.NoRefs()
	refs[".nvHRKE"] = strings.Join(names, "\x00")
	refs[".nvHRDI"] = "counter"
	return objecttest.HostObject(fat, "_00000001_4_a_cu_id", refs)
}

// archive returns an archive of a cubin and a text.
func archive(names []string) []byte {
	return objecttest.Archive(
		objecttest.File{Name: "device.cubin", Data: cubinOf(names)},
		objecttest.File{Name: "readme.txt", Data: []byte(strings.Repeat("This is no object. ", 10))})
}

// bitcodeFile returns LLVM bitcode with kernels.
func bitcodeFile(names []string) []byte {
	f := objecttest.BitcodeFile{CPU: "sm_80"}
	for _, name := range names {
		f.Symbols = append(f.Symbols, objecttest.BitcodeSymbol{Name: name, Kernel: true})
	}
	return objecttest.Bitcode(f)
}
