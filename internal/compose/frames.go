package compose

import (
	"sort"
	"strings"
)

// A frameTable is the call frame information of a unit, cut into records: for each kernel a
// common record (CIE), and one for each of its functions (FDE) that refers to it.
type frameTable struct {
	records []frame
	moved   map[int]uint64 // where records are in the composed file, by their places
}

type frame struct {
	start, end int
	// pointer is where the record refers to the common one, which is at common. Common
	// records refer to none.
	pointer, wide int
	isCommon      bool
	common        uint64
	owner         kernelID
	owned         bool
}

// readFrames cuts the frames of a section.
func readFrames(c *composer, s *section) *frameTable {
	u := s.unit
	if t := u.frames[s.elf.Name]; t != nil {
		return t
	}
	t := &frameTable{moved: map[int]uint64{}}
	u.frames[s.elf.Name] = t
	for at := 0; at < len(s.data); {
		f, ok := readFrame(s.data, at)
		if !ok {
			c.fail(Damaged, u, s.elf.Name)
			return t
		}
		t.records = append(t.records, f)
		at = f.end
	}
	rows := relocationsAbout(s)
	if rows == nil {
		c.fail(UnknownSection, u, s.elf.Name)
		return t
	}
	relocationsOf(rows, func(r relocation) {
		f := t.find(r.offset)
		if k := c.symbolOwner(u, r.symbol); f == nil || k == module || (f.owned && f.owner != k) {
			c.fail(UnknownSection, u, rows.elf.Name)
		} else {
			f.owner, f.owned = k, true
		}
	})
	ownCommon(c, s, t)
	return t
}

// ownCommon finds the kernels of the common records.
func ownCommon(c *composer, s *section, t *frameTable) {
	for i := range t.records {
		f := &t.records[i]
		if f.isCommon {
			continue
		}
		common := t.find(f.common)
		if common == nil || uint64(common.start) != f.common || !common.isCommon || !f.owned ||
			(common.owned && common.owner != f.owner) {
			c.fail(UnknownSection, s.unit, s.elf.Name)
			return
		}
		common.owner, common.owned = f.owner, true
	}
}

// readFrame reads the beginning of a record.
func readFrame(b []byte, at int) (f frame, ok bool) {
	const (
		long    = 0xffffffff
		noFrame = ^uint64(0)
	)
	left := uint64(len(b) - at)
	if left < 8 {
		return f, false
	}
	size, head := uint64(le.Uint32(b[at:])), uint64(4)
	f = frame{start: at, wide: 4, owner: module}
	if size == long {
		if left < 20 {
			return f, false
		}
		size, head, f.wide = le.Uint64(b[at+4:]), 12, 8
	}
	if size < uint64(f.wide) || size > left-head {
		return f, false
	}
	f.pointer, f.end = at+int(head), at+int(head+size)
	if f.wide == 8 {
		f.common = le.Uint64(b[f.pointer:])
		f.isCommon = f.common == noFrame
	} else {
		f.common = uint64(le.Uint32(b[f.pointer:]))
		f.isCommon = f.common == long
	}
	return f, true
}

// find returns the record that a place is in.
func (t *frameTable) find(at uint64) *frame {
	i := sort.Search(len(t.records), func(i int) bool { return uint64(t.records[i].end) > at })
	if i == len(t.records) {
		return nil
	}
	return &t.records[i]
}

// relocationsAbout returns the relocations of a section, or nil.
func relocationsAbout(s *section) *section {
	const mirror = ".nv.merc"
	if rest, ok := strings.CutPrefix(s.elf.Name, mirror); ok && s.isMirror() {
		return s.unit.byName[mirror+".rela"+rest]
	}
	if rel := s.unit.byName[".rel"+s.elf.Name]; rel != nil {
		return rel
	}
	return s.unit.byName[".rela"+s.elf.Name]
}

// joinFrames are the records of all kernels, in the order of the kernels.
func joinFrames(c *composer, s *section) []byte {
	var b []byte
	c.kernels(func(k kernelID, u *unit) {
		of := u.byName[s.elf.Name]
		if of == nil {
			c.fail(Disagree, u, s.elf.Name)
			return
		}
		t := readFrames(c, of)
		for i := range t.records {
			f := &t.records[i]
			if f.owner != k {
				continue
			}
			at := len(b)
			t.moved[f.start] = uint64(at)
			b = append(b, of.data[f.start:f.end]...)
			if f.isCommon {
				continue
			}
			common, ok := t.moved[int(f.common)]
			if !ok {
				c.fail(UnknownSection, u, s.elf.Name)
				return
			}
			//rule: A frame refers to the common record of its kernel, which has another place.
			if to := b[at+f.pointer-f.start:]; f.wide == 8 {
				le.PutUint64(to, common)
			} else {
				le.PutUint32(to, uint32(common))
			}
		}
	})
	return b
}

// joinFrameRelocations are the relocations of all frames, the last kernel's first.
func joinFrameRelocations(c *composer, s *section) []byte {
	var b []byte
	//rule: Relocations of frames come in the reverse order of the kernels.
	//mutate: kernelsBackward -> kernels
	c.kernelsBackward(func(k kernelID, u *unit) {
		rows := u.byName[s.elf.Name]
		if rows == nil {
			c.fail(Disagree, u, s.elf.Name)
			return
		}
		about := strings.Replace(strings.Replace(s.elf.Name, ".rela.", ".", 1), ".rel.", ".", 1)
		of := u.byName[about]
		if of == nil || of.part != partFrames {
			c.fail(UnknownSection, u, s.elf.Name)
			return
		}
		t := readFrames(c, of)
		relocationsOf(rows, func(r relocation) {
			f := t.find(r.offset)
			if f == nil || f.owner != k {
				return
			}
			r.offset = r.offset - uint64(f.start) + t.moved[f.start]
			b = c.appendRelocation(b, u, r)
		})
	})
	return b
}
