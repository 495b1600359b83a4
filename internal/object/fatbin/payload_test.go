package fatbin

import (
	"errors"
	"testing"
)

// The decoder allocates the window that a frame asks for, so that must be one
// that the data can use.
func TestZstdWindow(t *testing.T) {
	const (
		magic     = "\x28\xb5\x2f\xfd"
		noSize    = "\x00"
		lastBlock = "\x01\x00\x00" // without contents
	)
	for window, want := range map[string]error{"\x00": nil, "\x88": ErrFormat} { // 1 KiB, 128 MiB
		if _, err := expandZstd([]byte(magic+noSize+window+lastBlock), 0); !errors.Is(err, want) {
			t.Errorf("window %x: %v, want %v", window, err, want)
		}
	}
}
