package objecttest

// HostObject returns a host object with a section of relocatable fat binaries, the module ids,
// and host references by section name; a NUL is added to a reference without one.
func HostObject(fatbins []byte, ids string, refs map[string]string) []byte {
	sections := []Section{{Name: ".text", Data: []byte("host code")}}
	if ids != "" {
		sections = append(sections, Section{Name: "__nv_module_id", Data: []byte(ids + "\x00")})
	}
	if fatbins != nil {
		sections = append(sections, Section{Name: "__nv_relfatbin", Data: fatbins})
	}
	for _, name := range RefSections {
		if text, ok := refs[name]; ok {
			sections = append(sections, Section{Name: name, Data: []byte(text + "\x00")})
		}
	}
	return ELF(ELFFile{Sections: sections})
}

// RefSections are the sections of host references.
var RefSections = []string{".nvHRKE", ".nvHRKI", ".nvHRDE", ".nvHRDI", ".nvHRCE", ".nvHRCI"}

// NoRefs are host references to nothing.
func NoRefs() map[string]string {
	refs := map[string]string{}
	for _, name := range RefSections {
		refs[name] = ""
	}
	return refs
}

// A CubinFile is device code to be made.
type CubinFile struct {
	Arch     int
	Linked   bool
	Specific bool     // for one architecture only
	Options  []string // recorded by tools, one each
	Kernels  []string
	Text     []byte
}

// Cubin returns device code as CUDA 13.0 writes it.
func Cubin(f CubinFile) []byte {
	const (
		symtab = 2
		strtab = 3
		note   = 7
		compat = 0x70000086
	)
	var tools []byte
	for _, options := range f.Options {
		tools = append(tools, toolRecord(options)...)
	}
	info := le.AppendUint16([]byte{2, 0}, uint16(f.Arch))
	info = le.AppendUint32(info, 130)
	var symbols []Symbol
	for _, name := range f.Kernels {
		symbols = append(symbols, Symbol{Name: name, Info: 1<<4 | 2, Other: 0x10, Section: 6, Size: uint64(len(f.Text))})
	}
	symbols = append(symbols,
		Symbol{Name: "device_function", Info: 1<<4 | 2, Section: 6},
		Symbol{Name: "undefined_kernel", Info: 1<<4 | 2, Other: 0x10})
	rows, names := Symbols(symbols...)
	specific := []byte{2, 9, 0, 0}
	if f.Specific {
		specific[2] = 1
	}
	e := ELFFile{Type: 1, Machine: 190, ABIVersion: 8, Flags: uint32(f.Arch)<<8 | 4, Sections: []Section{
		{Name: ".strtab", Type: strtab, Data: names},
		{Name: ".symtab", Type: symtab, Link: 1, EntSize: 24, Data: rows},
		{Name: ".note.nv.tkinfo", Type: note, Data: tools},
		{Name: ".note.nv.cuinfo", Type: note, Data: noteOf(info)},
		{Name: ".nv.compat", Type: compat, Data: append([]byte{4, 11, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0}, specific...)},
		{Name: ".text.k", Flags: 6, Data: f.Text},
	}}
	if f.Linked {
		e.Type = 2
	}
	return ELF(e)
}

// toolRecord is what ptxas notes about its work.
func toolRecord(options string) []byte {
	texts := []string{"", "ptxas", "release 13.0", "Build 1", options}
	desc := le.AppendUint32(nil, 2)
	var all []byte
	for _, text := range texts {
		desc = le.AppendUint32(desc, uint32(len(all)))
		all = append(append(all, text...), 0)
	}
	return noteOf(append(desc, all...))
}

func noteOf(desc []byte) []byte {
	b := le.AppendUint32(nil, 12)
	b = le.AppendUint32(b, uint32(len(desc)))
	b = le.AppendUint32(b, 2000)
	b = append(b, "NVIDIA Corp\x00"...)
	return pad(append(b, desc...), 4)
}

// LTOIR returns an NVVM container for an architecture; specific is suffix "a".
func LTOIR(arch int, specific bool) []byte {
	fields := []uint16{1, uint16(10 * arch), 2, 2}
	if specific {
		fields = append(fields, 0x20, 1)
	}
	fields = append(fields, 0x63, 0, 0, 0)
	end := uint32(24 + 2*len(fields))
	b := append([]byte("\xed\x43\x4e\x7f\x01\x41\x02\x62\x03\x02\x07\x00\x18\x00\x01\x00"),
		le.AppendUint32(le.AppendUint32(nil, end), end+4)...)
	for _, f := range fields {
		b = le.AppendUint16(b, f)
	}
	return append(b, "tag.opaque code, of no meaning to anybody"...)
}
