package compose

import "github.com/warpld/warpld/internal/object/elf64"

// fill makes the contents of all sections.
func (c *composer) fill() error {
	for _, list := range [][]*section{c.body, c.mirrors} {
		for _, s := range list {
			s.content = contentOf(c, s)
			if c.failed != nil {
				return c.failed
			}
		}
	}
	return nil
}

func contentOf(c *composer, s *section) []byte {
	switch s.part {
	case partInfo:
		return moduleInfo(c, s)
	case partKernelInfo:
		return kernelInfo(c, s)
	case partCompat:
		return joinDemands(c, s)
	case partCallGraph:
		return joinCalls(c, s)
	case partFrames:
		return joinFrames(c, s)
	case partFrameRelocations:
		return joinFrameRelocations(c, s)
	case partLines:
		return joinLines(c, s)
	case partLineRelocations:
		return joinLineRelocations(c, s)
	case partRelocations:
		return c.relocations(c.largest(s))
	case partCapsule:
		return patchCapsule(c, s)
	case partMirrorSymbols:
		return mirrorSymbols(c, s)
	case partSource:
		return sourceText(c, s)
	}
	if s.elf.Type == elf64.NoBits {
		return nil
	}
	return c.largest(s).data
}

// sourceText is the PTX of the whole program. Lines of units are those of the whole only if it
// was cut so.
func sourceText(c *composer, s *section) []byte {
	if !c.program.LineInfo {
		c.fail(UnknownLines, s.unit, s.elf.Name)
		return nil
	}
	return c.program.DebugText()
}

// size is how many bytes a section has in the composed file or in memory.
func (s *section) size() uint64 {
	if s.elf.Type == elf64.NoBits {
		return s.elf.Size
	}
	return uint64(len(s.content))
}
