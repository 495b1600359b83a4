package device

// fillNotes makes the notes: the records of this link and of the tools before
// it, and what the output is for.
func (w *writer) fillNotes() {
	const (
		toolType = 2000
		archType = 1000
	)
	r := &w.out.rules.options.Record
	var desc, text []byte
	desc = le.AppendUint32(desc, 2) // version of the record
	for _, s := range []string{r.Output, r.Name, r.Version, r.Build, r.Options} {
		desc = le.AppendUint32(desc, uint32(len(text)))
		text = append(append(text, s...), 0)
	}
	desc = append(desc, text...)
	for len(desc)%4 != 0 {
		desc = append(desc, 0)
	}
	tools := &w.out.sections.list[w.out.sections.toolNote]
	tools.setData(noteRecord(toolType, desc))
	for _, record := range w.out.notes.records {
		tools.pieces = append(tools.pieces, piece{tools.size, record})
		tools.size += uint64(len(record))
	}
	desc = le.AppendUint16(nil, 2)
	desc = le.AppendUint16(desc, uint16(w.out.notes.virtual))
	desc = le.AppendUint32(desc, uint32(w.out.rules.options.Release.Number()))
	w.out.sections.list[w.out.sections.archNote].setData(noteRecord(archType, desc))
}

func noteRecord(kind uint32, desc []byte) []byte {
	const vendor = "NVIDIA Corp\x00"
	b := le.AppendUint32(nil, uint32(len(vendor)))
	b = le.AppendUint32(b, uint32(len(desc)))
	b = le.AppendUint32(b, kind)
	return append(append(b, vendor...), desc...)
}
