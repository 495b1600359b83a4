package device

import (
	"cmp"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// Compilers and linkers write cubins in one shape only. In a file that says the same
// thing in two places, and not the same, nvlink believes sometimes one and sometimes
// the other; so what has another shape is left to it.

// checkShape sees to it that a file agrees with itself.
func (o *object) checkShape(*ruleSet) error {
	if o.hasProgram() {
		return unsupported(o.name, "relocatable code with an entry or program headers")
	}
	type identity struct {
		name  string
		owner uint32
	}
	known := map[identity]bool{}
	for i := range o.file.Sections {
		s := &o.file.Sections[i]
		if !o.isWhole(s) {
			return unsupported(o.name, "the section '%s' of type %#x aligned to %d", s.Name, uint32(s.Type), s.Align)
		}
		if s.Flags&cubin.SHF_MERCURY != 0 || s.Type == elf64.Null {
			continue
		}
		key := identity{name: s.Name}
		if s.Flags&elf64.InfoLink != 0 || isText(s) {
			key.owner = s.Info // local functions may have the same name
		}
		if known[key] {
			return unsupported(o.name, "two sections '%s'", s.Name)
		}
		known[key] = true
		if s.Addr != 0 || s.EntSize != rowSize(s.Type) || !o.isLinked(s) || !o.isNamedAfterOwner(s) {
			return unsupported(o.name, "the section '%s' in rows of %d bytes, for section or symbol %d", s.Name, s.EntSize,
				s.Info)
		}
	}
	if name := o.overlapping(); name != "" {
		return unsupported(o.name, "the section '%s', which has bytes of others", name)
	}
	return o.checkSymbolShapes()
}

// overlapping names a section that has bytes of another one, or of the header. Those of
// Mercury code may have the bytes of what they mirror.
func (o *object) overlapping() string {
	var list []*elf64.Section
	for i := range o.file.Sections {
		if s := &o.file.Sections[i]; s.Size > 0 && s.Flags&cubin.SHF_MERCURY == 0 && s.Type != elf64.Null &&
			!occupiesOnly(s.Type) {
			list = append(list, s)
		}
	}
	slices.SortFunc(list, func(a, b *elf64.Section) int { return cmp.Compare(a.Offset, b.Offset) })
	end := uint64(elf64.HeaderSize)
	for _, s := range list {
		if s.Offset < end {
			return s.Name
		}
		end = s.Offset + s.Size // in the file: checkSections has seen to that
	}
	return ""
}

// isWhole reports whether a section has what all of its kind have: the first one nothing,
// one of attributes of a function some, and the note about the architecture its version
// and the architecture.
func (o *object) isWhole(s *elf64.Section) bool {
	const (
		header  = 24
		version = 2
	)
	switch {
	case s.Type == elf64.Null:
		return s.Name == "" && s.Flags|s.Addr|s.Offset|s.Size|s.Align|s.EntSize == 0 && s.Link|s.Info == 0
	case s.Type == cubin.SHT_CUDA_INFO && s.Flags&elf64.InfoLink != 0:
		return s.Size > 0 && s.Align > 0
	case s.Name == ".note.nv.cuinfo":
		b := o.bytes(s)
		return len(b) >= header+4 && le.Uint16(b[header:]) == version && le.Uint16(b[header+2:]) > 0 && s.Align > 0
	}
	return s.Align > 0
}

// hasProgram reports whether the header of the file is that of an executable.
func (o *object) hasProgram() bool {
	const (
		entry, programHeaders = 24, 32
		programHeaderCount    = 56
	)
	return le.Uint64(o.data[entry:])|le.Uint64(o.data[programHeaders:]) != 0 ||
		le.Uint16(o.data[programHeaderCount:]) != 0
}

// rowSize is the size of the rows of a table, or 0 if it is none.
func rowSize(t elf64.SectionType) uint64 {
	switch t {
	case elf64.Symtab, elf64.Rela:
		return elf64.SymbolSize
	case elf64.Rel:
		return elf64.RelSize
	case cubin.SHT_CUDA_CALLGRAPH, cubin.SHT_CUDA_PROTOTYPE:
		return callSize
	}
	return 0
}

// isLinked reports whether a section refers to the section that all of its kind refer to.
func (o *object) isLinked(s *elf64.Section) bool {
	switch s.Type {
	case cubin.SHT_CUDA_INFO, cubin.SHT_CUDA_CALLGRAPH, cubin.SHT_CUDA_PROTOTYPE, elf64.Rel, elf64.Rela:
		return uint64(s.Link) < uint64(len(o.file.Sections)) && o.file.Sections[s.Link].Type == elf64.Symtab
	case elf64.Symtab, elf64.Note, elf64.ProgBits:
		return true
	}
	return s.Link == 0
}

// isNamedAfterOwner reports whether a section is called as what it belongs to.
func (o *object) isNamedAfterOwner(s *elf64.Section) bool {
	if s.Flags&elf64.InfoLink == 0 {
		return isText(s) || s.Type == elf64.Symtab || s.Info == 0
	}
	owner := o.file.Sections[s.Info].Name
	switch s.Type {
	case elf64.Rel:
		return s.Name == ".rel"+owner
	case elf64.Rela:
		return s.Name == ".rela"+owner
	case elf64.Note:
		return owner == ".nv.compat"
	}
	function, isText := strings.CutPrefix(owner, ".text.")
	return isText && ((s.Type != cubin.SHT_CUDA_SHARED && s.Type != cubin.SHT_CUDA_CONSTANT_B0) || o.isKernel(s.Info)) &&
		strings.HasSuffix(s.Name, "."+function) && len(s.Name) == len(ownedPrefix(s.Type))+len(function)
}

// isKernel reports whether a section of code is that of a kernel.
func (o *object) isKernel(text uint32) bool {
	index := o.file.Sections[text].Info & symbolBits
	return uint64(index) < uint64(len(o.symbols)) && o.symbols[index].Other&cubin.STO_CUDA_ENTRY != 0
}

// ownedPrefix is how the names of sections of functions begin.
func ownedPrefix(t elf64.SectionType) string {
	switch t {
	case cubin.SHT_CUDA_INFO:
		return ".nv.info."
	case cubin.SHT_CUDA_SHARED:
		return ".nv.shared."
	}
	return bankName(t) + "."
}

// checkSymbolShapes sees to it that symbols agree with the sections that they are in.
func (o *object) checkSymbolShapes() error {
	for i := 1; i < len(o.symbols); i++ {
		y := &o.symbols[i]
		if y.Section == elf64.Undefined || int64(y.Section) >= int64(len(o.file.Sections)) {
			continue
		}
		s := &o.file.Sections[y.Section]
		if !fits(y, s, uint32(i)) {
			return unsupported(o.name, "the symbol '%s' of %d bytes at %#x of the section '%s'", y.Name, y.Size, y.Value,
				s.Name)
		}
	}
	return nil
}

// symbolBits are those of sh_info of code that are the symbol; the rest counts registers.
const symbolBits = 0xffffff

// fits reports whether a symbol and its section say the same.
func fits(y *elf64.Symbol, s *elf64.Section, index uint32) bool {
	switch {
	case y.Type == elf64.SectionSymbol:
		return y.Name == s.Name && y.Value == 0 && y.Size == 0 && y.Other == 0 && y.Binding == elf64.Local
	case y.Type == elf64.Function:
		return s.Name == ".text."+y.Name && y.Value == 0 && y.Size == s.Size && s.Info&symbolBits == index
	case y.Other == cubin.STO_CUDA_SHARED || y.Other == cubin.STO_CUDA_RESERVED_SHARED: // its value is its alignment
		return isAlignment(y.Value)
	}
	return y.Value <= s.Size && y.Size <= s.Size-y.Value
}

// isAligned reports whether something that a relocation may be about is at an offset:
// an instruction, an address in data, anything in debug information other than frames.
func isAligned(offset uint64, target *elf64.Section) bool {
	switch {
	case isText(target):
		return offset%instruction == 0
	case isDebug(target.Name) && target.Name != ".debug_frame":
		return true
	}
	return offset%4 == 0
}

// A rowShape is what the row of an attribute looks like. That of an unknown one is
// empty, and like no row.
type rowShape struct {
	form  cubin.Format
	bytes int      // of EIFMT_SVAL; 0 stands for any number of words
	only  []uint32 // what the value, or the first word, may be; nil allows anything
}

var zero = []uint32{0}

// copied are the attributes that mean the same in the output as in the input.
var copied = map[cubin.Attribute]rowShape{
	cubin.EIATTR_CTAIDZ_USED:                 {form: cubin.EIFMT_NVAL, only: zero},
	cubin.EIATTR_MAX_THREADS:                 {form: cubin.EIFMT_SVAL, bytes: 12},
	cubin.EIATTR_REQNTID:                     {form: cubin.EIFMT_SVAL, bytes: 12},
	cubin.EIATTR_KPARAM_INFO:                 {form: cubin.EIFMT_SVAL, bytes: 12, only: zero},
	cubin.EIATTR_CBANK_PARAM_SIZE:            {form: cubin.EIFMT_HVAL},
	cubin.EIATTR_MAXREG_COUNT:                {form: cubin.EIFMT_HVAL},
	cubin.EIATTR_EXIT_INSTR_OFFSETS:          {form: cubin.EIFMT_SVAL},
	cubin.EIATTR_CRS_STACK_SIZE:              {form: cubin.EIFMT_SVAL, bytes: 4},
	cubin.EIATTR_COOP_GROUP_INSTR_OFFSETS:    {form: cubin.EIFMT_SVAL},
	cubin.EIATTR_COOP_GROUP_MASK_REGIDS:      {form: cubin.EIFMT_SVAL},
	cubin.EIATTR_WMMA_USED:                   {form: cubin.EIFMT_NVAL, only: zero},
	cubin.EIATTR_ATOM16_EMUL_INSTR_REG_MAP:   {form: cubin.EIFMT_SVAL},
	cubin.EIATTR_INT_WARP_WIDE_INSTR_OFFSETS: {form: cubin.EIFMT_SVAL},
	cubin.EIATTR_INDIRECT_BRANCH_TARGETS:     {form: cubin.EIFMT_SVAL},
	cubin.EIATTR_SW2861232_WAR:               {form: cubin.EIFMT_NVAL, only: zero},
	cubin.EIATTR_SW_WAR:                      {form: cubin.EIFMT_SVAL, bytes: 4},
	cubin.EIATTR_CUDA_API_VERSION:            {form: cubin.EIFMT_SVAL, bytes: 4},
	cubin.EIATTR_NUM_MBARRIERS:               {form: cubin.EIFMT_HVAL},
	cubin.EIATTR_MBARRIER_INSTR_OFFSETS:      {form: cubin.EIFMT_SVAL},
	cubin.EIATTR_CTA_PER_CLUSTER:             {form: cubin.EIFMT_SVAL, bytes: 12},
	cubin.EIATTR_EXPLICIT_CLUSTER:            {form: cubin.EIFMT_NVAL, only: zero},
	cubin.EIATTR_MAX_CLUSTER_RANK:            {form: cubin.EIFMT_SVAL, bytes: 4},
	cubin.EIATTR_INSTR_REG_MAP:               {form: cubin.EIFMT_SVAL},
	cubin.EIATTR_UNUSED_LOAD_BYTE_OFFSET:     {form: cubin.EIFMT_SVAL},
	cubin.EIATTR_KPARAM_INFO_V2:              {form: cubin.EIFMT_SVAL, bytes: 12, only: zero},
	cubin.EIATTR_RESERVED_SMEM_USED:          {form: cubin.EIFMT_NVAL, only: zero},
	cubin.EIATTR_VRC_CTA_INIT_COUNT:          {form: cubin.EIFMT_BVAL, only: zero},
	cubin.EIATTR_NUM_BARRIERS:                {form: cubin.EIFMT_BVAL},
	cubin.EIATTR_SPARSE_MMA_MASK:             {form: cubin.EIFMT_HVAL},
	cubin.EIATTR_GEN_ERRBAR_AT_EXIT:          {form: cubin.EIFMT_NVAL, only: zero},
	cubin.EIATTR_ANNOTATIONS:                 {form: cubin.EIFMT_SVAL},
	cubin.EIATTR_MERCURY_FINALIZER_OPTIONS:   {form: cubin.EIFMT_SVAL},
	cubin.EIATTR_MERCURY_ISA_VERSION:         {form: cubin.EIFMT_HVAL},
	cubin.EIATTR_LANGUAGE:                    {form: cubin.EIFMT_SVAL, bytes: 4, only: []uint32{3}},
	cubin.EIATTR_NVSAL_SW_WAR:                {form: cubin.EIFMT_HVAL},
	cubin.EIATTR_PREEXIT_USED:                {form: cubin.EIFMT_BVAL, only: zero},
}

// compatShapes are those of the rows that say what code demands of the driver.
var compatShapes = map[cubin.CompatAttribute]rowShape{
	cubin.EICOMPAT_ATTR_ISA_CLASS:                         {form: cubin.EIFMT_BVAL},
	cubin.EICOMPAT_ATTR_INST_TENSORMAP_V1:                 {form: cubin.EIFMT_BVAL},
	cubin.EICOMPAT_ATTR_INST_TCGEN05_MMA:                  {form: cubin.EIFMT_BVAL},
	cubin.EICOMPAT_ATTR_ENABLE_OPPORTUNISTIC_FINALIZATION: {form: cubin.EIFMT_BVAL},
	cubin.EICOMPAT_ATTR_MERCURY_ISA_MAJOR_MINOR_VERSION:   {form: cubin.EIFMT_HVAL},
	cubin.EICOMPAT_ATTR_CUDA_ACCELERATOR_TARGET:           {form: cubin.EIFMT_BVAL},
	cubin.EICOMPAT_ATTR_CAN_FASTPATH_FINALIZE:             {form: cubin.EIFMT_SVAL, bytes: 8},
	cubin.EICOMPAT_ATTR_CUDA_INTERNAL_TARGET:              {form: cubin.EIFMT_BVAL},
	cubin.EICOMPAT_ATTR_0D:                                {form: cubin.EIFMT_HVAL},
	cubin.EICOMPAT_ATTR_FINALIZER_VERSION:                 {form: cubin.EIFMT_HVAL},
}

// of reports whether a row looks so.
func (r rowShape) of(x *attribute) bool {
	if r.form != cubin.EIFMT_SVAL {
		return x.form == r.form && (r.only == nil || slices.Contains(r.only, uint32(x.value)))
	}
	return x.form == cubin.EIFMT_SVAL && (len(x.data) == r.bytes || (r.bytes == 0 && len(x.data)%4 == 0)) &&
		(r.only == nil || slices.Contains(r.only, le.Uint32(x.data)))
}
