package compose

// The call graph has rows of two words; a row (0, -n) begins group n.
const (
	callSize   = 8
	callGroups = 4
)

// joinCalls has the rows of all kernels, by groups.
func joinCalls(c *composer, s *section) []byte {
	groups := make([][][]byte, callGroups) // by group and kernel
	for g := range groups {
		groups[g] = make([][]byte, len(c.program.Kernels))
	}
	size := 0
	for _, u := range c.units {
		of := u.byName[s.elf.Name]
		if of == nil || len(of.data)%callSize != 0 {
			c.fail(Disagree, u, s.elf.Name)
			return nil
		}
		size += len(of.data)
		readCalls(c, of, groups)
	}
	b := make([]byte, 0, size)
	for g := range groups {
		b = le.AppendUint32(le.AppendUint32(b, 0), uint32(-int32(g+1)))
		//rule: Calls come in the order of the kernels.
		//mutate: kernels -> kernelsBackward
		c.kernels(func(k kernelID, _ *unit) { b = append(b, groups[g][k]...) })
	}
	return b
}

// readCalls adds the rows of a unit to those of its kernels.
func readCalls(c *composer, s *section, groups [][][]byte) {
	group := -1
	for b := s.data; len(b) > 0; b = b[callSize:] {
		from, to := le.Uint32(b), le.Uint32(b[4:])
		if from == 0 {
			group++
			if group >= callGroups || to != uint32(-int32(group+1)) {
				c.fail(UnknownCall, s.unit, s.elf.Name)
				return
			}
			continue
		}
		k := c.symbolOwner(s.unit, from)
		if k == module || group < 0 {
			c.fail(UnknownCall, s.unit, s.elf.Name)
			return
		}
		if c.unitOf(k) != s.unit {
			continue // of a stub
		}
		if int32(to) > 0 {
			to = c.symbolIndex(s.unit, to)
		}
		groups[group][k] = le.AppendUint32(le.AppendUint32(groups[group][k], c.symbolIndex(s.unit, from)), to)
	}
	if group != callGroups-1 {
		c.fail(UnknownCall, s.unit, s.elf.Name)
	}
}
