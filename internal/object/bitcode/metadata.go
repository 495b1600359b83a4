package bitcode

// Records of metadata and constants that lead to module flags.
const (
	metadataValue   = 2  // type, value
	metadataNode    = 3  // ids of others, plus one
	metadataName    = 4  // of the named node that follows
	metadataKind    = 6  // no metadata
	metadataNamed   = 10 // ids of others
	metadataStrings = 35 // count, offset of the characters; a blob
	metadataAttach  = 36 // no metadata
	metadataOffset  = 38 // no metadata
	metadataIndex   = 39 // no metadata

	constantSetType = 1
	constantNull    = 2
	constantInteger = 4 // the sign in the lowest bit
)

// metadata is what is needed to read the flags of a module: strings, and the nodes
// and numbers that go with them. Each string and each node has an id, in order.
type metadata struct {
	strings  []string
	nodes    map[uint64][]uint64 // by id: ids of others, plus one
	values   map[uint64]uint64   // by id: the value
	next     uint64
	named    string
	flagIDs  []uint64
	integers map[uint64]uint64 // by the number of the value
}

// readConstants reads a module's constants, whose numbers follow those of its
// symbols. Only small positive integers matter.
func (md *metadata) readConstants(s *stream, b *block, number uint64) {
	md.integers = map[uint64]uint64{}
	s.read(b, func(r *record) {
		switch r.code {
		case constantSetType:
			return
		case constantNull:
			md.integers[number] = 0
		case constantInteger:
			if signed := r.op(0); signed&1 == 0 {
				md.integers[number] = signed >> 1
			}
		}
		number++
	}, nil)
}

// take reads one record of the module's metadata.
func (md *metadata) take(r *record) {
	switch r.code {
	case metadataStrings:
		md.strings = splitStrings(r)
		md.next = uint64(len(md.strings))
		return
	case metadataName:
		md.named = r.text()
		return
	case metadataNamed:
		if md.named == "llvm.module.flags" {
			md.flagIDs = r.ops
		}
		return
	case metadataKind, metadataAttach, metadataOffset, metadataIndex:
		return
	case metadataValue:
		if md.values == nil {
			md.values = map[uint64]uint64{}
		}
		md.values[md.next] = r.op(1)
	case metadataNode:
		const flagSize = 3
		if len(r.ops) == flagSize {
			if md.nodes == nil {
				md.nodes = map[uint64][]uint64{}
			}
			md.nodes[md.next] = r.ops
		}
	}
	md.next++
}

// splitStrings reads the strings of a record: their lengths are numbers of 6 bits
// in pieces, at the start of the blob.
func splitStrings(r *record) []string {
	count, offset := r.op(0), r.op(1)
	if offset > uint64(len(r.blob)) || count > offset*8/6 {
		return nil
	}
	lengths, text := newCursor(r.blob[:offset]), r.blob[offset:]
	var list []string
	for range count {
		n := lengths.vbr(6)
		if lengths.err != nil || n > uint64(len(text)) {
			return nil
		}
		list = append(list, string(text[:n]))
		text = text[n:]
	}
	return list
}

// flags returns the flags that have a number: nodes of behaviour, name and value.
func (md *metadata) flags() map[string]uint64 {
	flags := map[string]uint64{}
	for _, id := range md.flagIDs {
		node := md.nodes[id]
		if node == nil || node[1] == 0 || node[1] > uint64(len(md.strings)) || node[2] == 0 {
			continue
		}
		value, isValue := md.values[node[2]-1]
		number, isInteger := md.integers[value]
		if isValue && isInteger {
			flags[md.strings[node[1]-1]] = number
		}
	}
	return flags
}
