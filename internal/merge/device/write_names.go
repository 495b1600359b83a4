package device

// A nameList collects the names of a string table in the order of their
// creation. A name that belongs to something removed is not written.
type nameList []nameEntry

type nameEntry struct {
	name    string
	section sectionID
	symbol  symbolID
	room    int // the name is followed by zeros to this length
}

func (n *nameList) add(name string) {
	*n = append(*n, nameEntry{name: name, section: noSection, symbol: noSymbol})
}

func (n *nameList) addSection(name string, s sectionID) {
	*n = append(*n, nameEntry{name: name, section: s, symbol: noSymbol})
}

func (n *nameList) addSymbol(name string, y symbolID) {
	*n = append(*n, nameEntry{name: name, section: noSection, symbol: y})
}

// remains reports whether the owner of a name is still there.
func remains(symbols *symbolTable, sections *sectionTable, n nameEntry) bool {
	switch {
	case n.section != noSection:
		//rule: Names of sections of removed functions go.
		//mutate: true
		return !sections.list[n.section].removed
	case n.symbol != noSymbol:
		//rule: Names of removed functions go.
		//mutate: true
		return !symbols.list[n.symbol].dead
	}
	return true
}

// A stringTable is the contents of a section of strings. Equal strings are
// shared, ends of strings are not.
type stringTable struct {
	data   []byte
	offset map[string]uint32
}

func newStringTable() *stringTable {
	return &stringTable{data: []byte{0}, offset: map[string]uint32{}}
}

func (t *stringTable) add(s string) {
	if _, ok := t.offset[s]; ok {
		return
	}
	t.offset[s] = uint32(len(t.data))
	t.data = append(append(t.data, s...), 0)
}

// addWithRoom adds a string that zeros follow, to the length of another one.
func (t *stringTable) addWithRoom(s string, room int) {
	if _, ok := t.offset[s]; ok {
		return
	}
	t.add(s)
	if room > len(s) {
		t.data = append(t.data, make([]byte, room-len(s))...)
	}
}
