package fatbin

import "io"

// Alone reads the member from what the container was read from and gives it as a
// container in which it is the only one, in the form it has: also obfuscated.
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
