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
