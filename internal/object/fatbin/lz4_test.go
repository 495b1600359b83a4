package fatbin

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestDecodeLZ4(t *testing.T) {
	tests := []struct {
		name, src, want string
	}{
		{"nothing", "\x00", ""},
		{"literals", "\x30abc", "abc"},
		{"long literals", "\xf0\x05" + strings.Repeat("x", 20), strings.Repeat("x", 20)},
		{"very long literals", "\xf0\xff\x00" + strings.Repeat("x", 270), strings.Repeat("x", 270)},
		{"match", "\x40abcd\x04\x00\x10z", "abcdabcdz"},
		{"match that overlaps itself", "\x1fa\x01\x00\x05\x10z", strings.Repeat("a", 25) + "z"},
		{"match that overlaps itself by two", "\x24ab\x02\x00\x10z", "ab" + "abababab" + "z"},
	}
	for _, test := range tests {
		dst := make([]byte, len(test.want))
		if err := decodeLZ4(dst, []byte(test.src)); err != nil || string(dst) != test.want {
			t.Errorf("%s: %q, %v; want %q", test.name, dst, err, test.want)
		}
	}
}

func TestDamagedLZ4(t *testing.T) {
	tests := []struct {
		name, src string
		size      int
	}{
		{"nothing for something", "", 4},
		{"literals cut off", "\x40ab", 4},
		{"too many literals", "\x40abcd", 3},
		{"too few bytes", "\x20ab", 3},
		{"match cut off", "\x10a\x01", 9},
		{"match before the start", "\x10a\x02\x00", 5},
		{"match at no distance", "\x10a\x00\x00", 5},
		{"match too long", "\x10a\x01\x00", 4},
		{"length cut off", "\xf0", 100},
		{"length without end", "\xf0" + strings.Repeat("\xff", 1000), 100},
		{"match length without end", "\x1fa\x01\x00" + strings.Repeat("\xff", 1000), 100},
	}
	for _, test := range tests {
		if err := decodeLZ4(make([]byte, test.size), []byte(test.src)); !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func FuzzLZ4(f *testing.F) {
	f.Add([]byte("\x40abcd\x04\x00\x10z"), uint16(9))
	f.Add([]byte("\x1fa\x01\x00\x05\x10z"), uint16(26))
	f.Add([]byte("\xf0\xff\x00"+strings.Repeat("x", 270)), uint16(270))
	f.Fuzz(func(t *testing.T, src []byte, size uint16) {
		one, two := make([]byte, size), make([]byte, size)
		if decodeLZ4(one, src) != nil {
			return
		}
		// What is there before must not show through.
		for i := range two {
			two[i] = 0xaa
		}
		if err := decodeLZ4(two, src); err != nil || !bytes.Equal(one, two) {
			t.Fatalf("depends on the old contents, %v", err)
		}
	})
}
