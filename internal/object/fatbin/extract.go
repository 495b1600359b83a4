package fatbin

import "io"

// Extract reads the member from the file that the container was read from and returns a
// container that holds only this member, as it is stored: it may be obfuscated.
func (m *Member) Extract(r io.ReaderAt) ([]byte, error) {
	size := m.Offset + m.Length - m.start
	if size > MaxPayload {
		return nil, &Error{m.start, ErrTooLarge}
	}
	data := make([]byte, preambleSize+size)
	preamble(data, int(size))
	if err := readFull(r, data[preambleSize:], m.start); err != nil {
		return nil, &Error{m.start, err}
	}
	return data, nil
}
