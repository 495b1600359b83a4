// Package layout has what every writer of a cubin writes alike, the merger and the
// composer: string tables, rows of the section table, segments, the header.
package layout

// Strings are the contents of a section of strings. Equal strings are shared, ends of
// strings are not.
type Strings struct {
	Data   []byte
	Offset map[string]uint32
}

// NewStrings returns a table with the empty string.
func NewStrings() *Strings { return &Strings{Data: []byte{0}, Offset: map[string]uint32{}} }

// Add adds a string, if it is not there yet.
func (t *Strings) Add(s string) {
	if _, ok := t.Offset[s]; ok {
		return
	}
	t.Offset[s] = t.AddUnshared(s)
}

// AddWithRoom adds a string that zeros follow, to the length of another one.
func (t *Strings) AddWithRoom(s string, room int) {
	if _, ok := t.Offset[s]; ok {
		return
	}
	t.Add(s)
	if room > len(s) {
		t.AddZeros(room - len(s))
	}
}

// AddZeros adds bytes that are no string.
func (t *Strings) AddZeros(n int) { t.Data = append(t.Data, make([]byte, n)...) }

// AddUnshared adds a string that is used once, and returns its place.
func (t *Strings) AddUnshared(s string) uint32 {
	at := uint32(len(t.Data))
	t.Data = append(append(t.Data, s...), 0)
	return at
}
