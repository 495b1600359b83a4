package fatbin

import "fmt"

// decodeLZ4 expands one LZ4 block into dst, which it fills exactly.
//
// A block is a row of sequences: a token (upper half: number of literals, lower half: length
// of the match, less 4; if either is 15, bytes follow which are added to it, up to the first
// below 255), the literals, then the distance back to the start of the match in 16 bits. The
// last sequence ends after its literals.
func decodeLZ4(dst, src []byte) error {
	const minMatch = 4
	at := 0
	for len(src) > 0 {
		token := src[0]
		literals, rest, err := lz4Length(int(token>>4), src[1:], len(dst))
		if err != nil {
			return err
		}
		if literals > len(rest) || literals > len(dst)-at {
			return fmt.Errorf("%w: LZ4: %d literals at %d of %d", ErrFormat, literals, at, len(dst))
		}
		at += copy(dst[at:], rest[:literals])
		if src = rest[literals:]; len(src) == 0 {
			break
		}
		if len(src) < 2 {
			return fmt.Errorf("%w: LZ4: half a match at the end", ErrFormat)
		}
		distance := int(src[0]) | int(src[1])<<8
		length, rest, err := lz4Length(int(token&15), src[2:], len(dst))
		if err != nil {
			return err
		}
		length += minMatch
		if distance == 0 || distance > at || length > len(dst)-at {
			return fmt.Errorf("%w: LZ4: match of %d, %d back, at %d of %d", ErrFormat, length, distance, at, len(dst))
		}
		repeat(dst, at, distance, length)
		at += length
		src = rest
	}
	if at != len(dst) {
		return fmt.Errorf("%w: LZ4: %d bytes of %d", ErrFormat, at, len(dst))
	}
	return nil
}

// lz4Length reads the bytes that add to a length. No length is greater than
// limit, so the sum cannot overflow.
func lz4Length(n int, src []byte, limit int) (length int, rest []byte, err error) {
	if n < 15 {
		return n, src, nil
	}
	for i, b := range src {
		if n += int(b); n > limit {
			break
		}
		if b != 255 {
			return n, src[i+1:], nil
		}
	}
	return 0, nil, fmt.Errorf("%w: LZ4: a length without end", ErrFormat)
}

// repeat copies length bytes to at from distance before it; where both overlap
// the copy repeats what it has just written.
func repeat(dst []byte, at, distance, length int) {
	end := at + length
	for at < end {
		at += copy(dst[at:end], dst[at-distance:at])
	}
}
