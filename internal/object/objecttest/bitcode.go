package objecttest

import "strings"

// A BitcodeSymbol is a function or, with an address space, a variable.
type BitcodeSymbol struct {
	Name         string
	Declared     bool
	Kernel       bool
	AddressSpace uint64 // 0: a function
	Linkage      uint64 // as in the record: 0 is external, 3 internal, 19 linkonce_odr
}

// A BitcodeFile is a file of LLVM bitcode to be written. Functions in it have no bodies, so
// that LLVM accepts it only if all of them are declarations.
type BitcodeFile struct {
	Producer string // empty: "LLVM22.1.8"
	Epoch    uint64
	Triple   string // empty: "nvptx64-nvidia-cuda"
	CPU      string
	Features string
	Symbols  []BitcodeSymbol
	Flags    map[string]uint64 // of one name at most, because the order is not fixed
	Thin     bool
	Version  uint64 // of the module; 0 stands for 2
	Modules  int    // how many copies of the module it holds; 0 stands for 1
	Wrapped  bool
}

// Bitcode returns the bytes of the file.
func Bitcode(f BitcodeFile) []byte {
	w := &bitWriter{}
	w.fixed(0xdec04342, 32)
	width := w.width(2)
	for range max(f.Modules, 1) {
		w.block(13, 5, func() {
			w.text(1, orElse(f.Producer, "LLVM22.1.8"))
			w.record(2, f.Epoch)
		})
		w.block(8, 3, func() { f.module(w) })
	}
	w.block(23, 3, func() { w.blob(1, f.names()) })
	w.abbrevWidth = width
	if !f.Wrapped {
		return w.data
	}
	head := make([]byte, 20)
	le.PutUint32(head, 0x0b17c0de)
	le.PutUint32(head[8:], 20)
	le.PutUint32(head[12:], uint32(len(w.data)))
	return append(append(head, w.data...), make([]byte, 12)...)
}

func (f *BitcodeFile) names() string {
	var all strings.Builder
	for _, y := range f.Symbols {
		all.WriteString(y.Name)
	}
	return all.String()
}

func (f *BitcodeFile) module(w *bitWriter) {
	version := f.Version
	if version == 0 {
		version = 2
	}
	w.record(1, version)
	w.block(10, 3, func() {
		const function, textWithValue = 0xffffffff, 4
		ops := []uint64{1, function}
		for _, pair := range [][2]string{{"target-cpu", f.CPU}, {"target-features", f.Features}} {
			if pair[1] != "" {
				ops = append(append(ops, textWithValue), append(zeroEnded(pair[0]), zeroEnded(pair[1])...)...)
			}
		}
		w.record(3, ops...)
	})
	w.text(2, orElse(f.Triple, "nvptx64-nvidia-cuda"))
	w.text(3, "e-i64:64-i128:128-v16:16-v32:32-n16:32:64")
	w.text(16, "a.cu")
	at := uint64(0)
	for _, y := range f.Symbols {
		f.symbol(w, y, at)
		at += uint64(len(y.Name))
	}
	f.flags(w)
	if f.Thin {
		w.block(20, 3, func() { w.record(10, 9) })
	}
}

func (f *BitcodeFile) symbol(w *bitWriter, y BitcodeSymbol, at uint64) {
	size := uint64(len(y.Name))
	if y.AddressSpace != 0 {
		initializer := uint64(1)
		if y.Declared {
			initializer = 0
		}
		w.record(7, at, size, 0, y.AddressSpace<<2|2, initializer, y.Linkage)
		return
	}
	convention, declared := uint64(0), uint64(0)
	if y.Kernel {
		convention = 71
	}
	if y.Declared {
		declared = 1
	}
	w.record(8, at, size, 0, convention, declared, y.Linkage)
}

// flags writes the constants 1 and each value, and the metadata that names them.
func (f *BitcodeFile) flags(w *bitWriter) {
	if len(f.Flags) == 0 {
		return
	}
	first := uint64(len(f.Symbols))
	w.block(11, 4, func() {
		w.record(1, 0)
		w.record(4, 1<<1)
		for _, value := range f.Flags {
			w.record(4, value<<1)
		}
	})
	w.block(15, 4, func() {
		for name := range f.Flags {
			lengths := &bitWriter{}
			lengths.vbr(uint64(len(name)), 6)
			lengths.align()
			w.blob(35, string(lengths.data)+name, 1, uint64(len(lengths.data)))
			w.record(2, 0, first)   // 1: the behaviour
			w.record(2, 0, first+1) // 2: the value
			w.record(3, 2, 1, 3)    // 3: the node; ids plus one
			w.text(4, "llvm.module.flags")
			w.record(10, 3)
		}
	})
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

func zeroEnded(text string) []uint64 {
	var ops []uint64
	for _, c := range []byte(text) {
		ops = append(ops, uint64(c))
	}
	return append(ops, 0)
}

// A bitWriter writes LLVM's bitstreams.
type bitWriter struct {
	data        []byte
	bits        uint64 // written so far
	abbrevWidth uint64
}

func (w *bitWriter) fixed(value, width uint64) {
	for i := range width {
		if w.bits%8 == 0 {
			w.data = append(w.data, 0)
		}
		w.data[w.bits/8] |= byte(value>>i&1) << (w.bits % 8)
		w.bits++
	}
}

func (w *bitWriter) vbr(value, width uint64) {
	for top := uint64(1) << (width - 1); ; value >>= width - 1 {
		if value < top {
			w.fixed(value, width)
			return
		}
		w.fixed(value&(top-1)|top, width)
	}
}

func (w *bitWriter) align() {
	for w.bits%32 != 0 {
		w.fixed(0, 1)
	}
}

// width sets the width of abbreviation ids and returns the old one.
func (w *bitWriter) width(n uint64) uint64 {
	old := w.abbrevWidth
	w.abbrevWidth = n
	return old
}

func (w *bitWriter) block(id, width uint64, fill func()) {
	w.fixed(1, w.abbrevWidth)
	w.vbr(id, 8)
	w.vbr(width, 4)
	w.align()
	length := len(w.data)
	w.fixed(0, 32)
	outer := w.width(width)
	fill()
	w.fixed(0, width)
	w.align()
	w.abbrevWidth = outer
	le.PutUint32(w.data[length:], uint32(len(w.data)-length-4)/4)
}

func (w *bitWriter) record(code uint64, ops ...uint64) {
	w.fixed(3, w.abbrevWidth)
	w.vbr(code, 6)
	w.vbr(uint64(len(ops)), 6)
	for _, op := range ops {
		w.vbr(op, 6)
	}
}

func (w *bitWriter) text(code uint64, text string) {
	ops := zeroEnded(text)
	w.record(code, ops[:len(ops)-1]...)
}

// blob writes a record that ends in bytes, with an abbreviation for it, which must be
// the first of the block.
func (w *bitWriter) blob(code uint64, bytes string, ops ...uint64) {
	w.fixed(2, w.abbrevWidth)
	w.vbr(uint64(len(ops)+2), 5)
	w.fixed(1, 1)
	w.vbr(code, 8)
	for range ops {
		w.fixed(0, 1)
		w.fixed(2, 3)
		w.vbr(6, 5)
	}
	w.fixed(0, 1)
	w.fixed(5, 3)
	w.fixed(4, w.abbrevWidth)
	for _, op := range ops {
		w.vbr(op, 6)
	}
	w.vbr(uint64(len(bytes)), 6)
	w.align()
	for _, c := range []byte(bytes) {
		w.fixed(uint64(c), 8)
	}
	w.align()
}

// An OffloadImage is one piece of device code as clang stores it in host objects.
type OffloadImage struct {
	Kind   uint16 // 2: bitcode, 3: cubin
	Triple string
	Arch   string
	Data   []byte
}

// Offloading returns the contents of the section .llvm.offloading.
func Offloading(images ...OffloadImage) []byte {
	var section []byte
	for _, image := range images {
		const entry, pairs, texts = 32, 72, 104
		c := make([]byte, texts)
		text := func(s string) uint64 {
			at := len(c)
			c = append(append(c, s...), 0)
			return uint64(at)
		}
		for i, word := range []string{"triple", image.Triple, "arch", image.Arch} {
			at := text(word)
			le.PutUint64(c[pairs+8*i:], at)
		}
		for len(c)%8 != 0 {
			c = append(c, 0)
		}
		start := len(c)
		c = append(c, image.Data...)
		for len(c)%8 != 0 {
			c = append(c, 0)
		}
		copy(c, "\x10\xff\x10\xad\x01\x00\x00\x00")
		le.PutUint64(c[8:], uint64(len(c)))
		le.PutUint64(c[16:], entry)
		le.PutUint64(c[24:], 40)
		le.PutUint16(c[entry:], image.Kind)
		le.PutUint16(c[entry+2:], 2)
		le.PutUint64(c[entry+8:], pairs)
		le.PutUint64(c[entry+16:], 2)
		le.PutUint64(c[entry+24:], uint64(start))
		le.PutUint64(c[entry+32:], uint64(len(image.Data)))
		section = append(section, c...)
	}
	return section
}

// ClangObject returns a host object as clang writes it: containers, and entries for kernels
// and variables that the host registers.
func ClangObject(offloading []byte, kernels, variables []string) []byte {
	var entries, names, relocations []byte
	for i, name := range append(append([]string(nil), kernels...), variables...) {
		entry := make([]byte, 56)
		le.PutUint16(entry[8:], 1)
		le.PutUint16(entry[10:], 2)
		if i >= len(kernels) {
			le.PutUint64(entry[32:], 4)
		}
		row := make([]byte, 24)
		le.PutUint64(row, uint64(len(entries)+24))
		le.PutUint32(row[8:], 1)  // a 64-bit address
		le.PutUint32(row[12:], 1) // the symbol of the names
		le.PutUint64(row[16:], uint64(len(names)))
		entries, relocations = append(entries, entry...), append(relocations, row...)
		names = append(append(names, name...), 0)
	}
	const symtab, rela, strtab = 2, 4, 3
	rows, symbolNames := Symbols(Symbol{Info: 3, Section: 3})
	return ELF(ELFFile{Sections: []Section{
		{Name: ".llvm.offloading", Data: offloading},
		{Name: "llvm_offload_entries", Data: entries},
		{Name: ".llvm.rodata.offloading", Data: names},
		{Name: ".relallvm_offload_entries", Type: rela, Link: 5, Info: 2, EntSize: 24, Data: relocations},
		{Name: ".symtab", Type: symtab, Link: 6, EntSize: 24, Data: rows},
		{Name: ".strtab", Type: strtab, Data: symbolNames},
	}})
}
