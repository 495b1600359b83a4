package compose

import (
	"strings"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
)

// A part is what a section holds, which decides how it is composed.
type part int

const (
	partNone part = iota
	partTable
	partCopied      // the same as in the unit
	partNote        // the same in all units: notes, names of inlined functions
	partInfo        // attributes of the module and of functions
	partKernelInfo  // attributes of a kernel
	partCompat      // what the code demands of the driver
	partCallGraph   //
	partRelocations // of anything but those below
	partFrames      // .debug_frame
	partFrameRelocations
	partLines // .debug_line, .nv_debug_line_sass
	partLineRelocations
	partSource // .nv_debug_ptx_txt
	partCode
	partCapsule // Mercury code
	partMirrorSymbols
)

// cutPrefix is strings.CutPrefix for prefixes that something must follow.
func cutPrefix(name, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(name, prefix)
	return rest, ok && rest != ""
}

const bank0 = ".nv.constant0."

// isLate reports whether a name is that of a bank of parameters that comes last.
func (c *composer) isLate(name string) bool {
	//rule: Since sm_90 the parameters of kernels come last.
	//mutate: false
	return c.rules.BanksLast && strings.HasPrefix(name, bank0)
}

// owned are the beginnings of names of sections that end with the name of a kernel.
var owned = []string{".text.", ".nv.info.", ".nv.shared.", ".nv.local.", ".nv.constant0.", ".nv.constant2.",
	".nv.constant.optimizer.", ".nv.prototype."}

// ownerOf returns the kernel that the name of a section ends with.
func (u *unit) ownerOf(name string) kernelID {
	for _, prefix := range []string{cubin.CapsulePrefix, cubin.MercuryPrefix, ".rela", ".rel"} {
		if strings.HasPrefix(name, prefix+".") {
			name = name[len(prefix):]
		}
	}
	for _, prefix := range owned {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			if k, known := u.kernels[rest]; known {
				return k
			}
			return module
		}
	}
	return module
}

// moduleParts are the sections of the module, in the first program.
var moduleParts = map[string]struct {
	kind elf64.SectionType
	part part
}{
	".shstrtab":             {elf64.Strtab, partTable},
	".strtab":               {elf64.Strtab, partTable},
	".symtab":               {elf64.Symtab, partTable},
	".note.nv.tkinfo":       {elf64.Note, partNote},
	".note.nv.cuinfo":       {elf64.Note, partNote},
	".nv.info":              {cubin.SHT_CUDA_INFO, partInfo},
	".nv.compat":            {cubin.SHT_CUDA_COMPAT_INFO, partCompat},
	".nv.callgraph":         {cubin.SHT_CUDA_CALLGRAPH, partCallGraph},
	".nv.rel.action":        {cubin.SHT_CUDA_RELOCINFO, partCopied},
	".debug_frame":          {elf64.ProgBits, partFrames},
	".debug_line":           {elf64.ProgBits, partLines},
	".nv_debug_line_sass":   {elf64.ProgBits, partLines},
	".nv_debug_ptx_txt":     {elf64.ProgBits, partSource},
	".debug_str":            {elf64.ProgBits, partNote},
	".nv.constant3":         {elf64.ProgBits, partCopied},
	".nv.constant4":         {elf64.ProgBits, partCopied},
	".nv.global":            {elf64.NoBits, partCopied},
	".nv.global.init":       {elf64.ProgBits, partCopied},
	".nv.shared.reserved.0": {elf64.NoBits, partCopied},
}

// kernelParts are the sections of kernels, by what comes before the name of the kernel.
var kernelParts = []struct {
	prefix string
	kind   elf64.SectionType
	part   part
}{
	{".text.", elf64.ProgBits, partCode},
	{".nv.info.", cubin.SHT_CUDA_INFO, partKernelInfo},
	{".nv.constant0.", elf64.ProgBits, partCopied},
	{".nv.constant2.", elf64.ProgBits, partCopied},
	{".nv.shared.", elf64.NoBits, partCopied},
}

// classify finds what a section is. Sections that no rule covers are not known.
func (u *unit) classify(e *elf64.Section) (part, kernelID, bool) {
	if e.Flags&cubin.SHF_MERCURY != 0 {
		return u.classifyMirror(e)
	}
	if m, ok := moduleParts[e.Name]; ok {
		return m.part, module, e.Type == m.kind
	}
	if e.Type == elf64.Rel || e.Type == elf64.Rela {
		return u.classifyRelocations(e, e.Name)
	}
	for _, p := range kernelParts {
		if strings.HasPrefix(e.Name, p.prefix) {
			k := u.ownerOf(e.Name)
			return p.part, k, k != module && e.Type == p.kind
		}
	}
	return partNone, module, false
}

// classifyRelocations does that for relocations, by the name of what they are about.
func (u *unit) classifyRelocations(e *elf64.Section, name string) (part, kernelID, bool) {
	prefix, size := ".rel", uint64(elf64.RelSize)
	if e.Type != elf64.Rel {
		prefix, size = ".rela", elf64.RelaSize
	}
	about, ok := strings.CutPrefix(name, prefix)
	if !ok || e.EntSize != size || e.Size%size != 0 {
		return partNone, module, false
	}
	switch about {
	case ".debug_frame":
		return partFrameRelocations, module, true
	case ".debug_line", ".nv_debug_line_sass":
		return partLineRelocations, module, true
	case ".nv.constant4", ".nv.constant3", ".nv.global.init", ".nv.constant.pic", ".nv.constant.user":
		return partRelocations, module, true
	}
	k := u.ownerOf(about)
	return partRelocations, k, k != module
}

// classifyMirror does that for sections of the second program.
func (u *unit) classifyMirror(e *elf64.Section) (part, kernelID, bool) {
	k := u.ownerOf(e.Name)
	name, isMirror := strings.CutPrefix(e.Name, cubin.MercuryPrefix)
	switch e.Type {
	case cubin.SHT_MERCURY_CAPSULE:
		return partCapsule, k, k != module && e.Size >= 4 && strings.HasPrefix(e.Name, cubin.CapsulePrefix+".text.")
	case cubin.SHT_MERCURY_SYMTAB:
		return partMirrorSymbols, module, e.Name == cubin.MercurySymbols
	case cubin.SHT_MERCURY_CALLGRAPH:
		return partCallGraph, module, name == ".nv.callgraph"
	case cubin.SHT_MERCURY_RELA:
		if !isMirror {
			return partNone, module, false
		}
		return u.classifyRelocations(e, name)
	case cubin.SHT_MERCURY_INFO:
		if name == ".nv.info" {
			return partInfo, module, true
		}
		return partKernelInfo, k, k != module && strings.HasPrefix(name, ".nv.info.")
	}
	switch name {
	case ".debug_frame":
		return partFrames, module, true
	case ".debug_line", ".nv_debug_line_sass":
		return partLines, module, true
	case ".nv_debug_ptx_txt":
		return partSource, module, true
	case ".debug_str":
		return partNote, module, true
	case ".nv.constant.pic", ".nv.constant.user", ".nv.global.init", ".nv.shared.reserved.0":
		return partCopied, module, true
	}
	return partCopied, k, k != module && strings.HasPrefix(name, ".nv.constant.optimizer.")
}
