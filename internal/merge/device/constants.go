package device

import "slices"

// moveConstants gives the constants of device functions to every kernel that
// reaches them, at one offset that is free in all of these kernels.
func (l *linker) moveConstants() {
	var moving []sectionID
	for i := range l.sections {
		s := &l.sections[i]
		if s.live() && isConstant(s.kind) && s.function != noSymbol && !l.symbols[s.function].isKernel() {
			moving = append(moving, sectionID(i))
		}
	}
	for _, id := range slices.Backward(moving) {
		l.moveConstant(id)
	}
}

func (l *linker) moveConstant(id sectionID) {
	s := l.sections[id]
	var banks []sectionID
	var at uint64
	// All banks get the largest alignment.
	align := s.align
	for _, k := range slices.Backward(slices.Sorted(slices.Values(l.reached.by[s.function]))) { // the newest first
		bank := l.findOrNew(section{name: bankName(s.kind) + "." + l.symbols[k].name, kind: s.kind, flags: s.flags,
			align: s.align, owner: l.symbols[k].section}, true)
		banks = append(banks, bank)
		at, align = max(at, l.sections[bank].size), max(align, l.sections[bank].align)
	}
	at = alignUp(at, align)
	for _, bank := range banks {
		out := &l.sections[bank]
		out.align = align
		for _, p := range s.pieces {
			out.pieces = append(out.pieces, piece{at + p.offset, p.data})
		}
		out.size = alignUp(at+s.size, align)
	}
	l.sections[id].moved, l.sections[id].removed = at, true
	l.symbols[s.symbol].dead = true
}
