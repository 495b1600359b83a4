package ltoir_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/object/ltoir"
	"github.com/warpld/warpld/internal/object/objecttest"
)

func read(data []byte) (*ltoir.Header, error) {
	return ltoir.Read(bytes.NewReader(data), int64(len(data)))
}

func TestRead(t *testing.T) {
	for _, specific := range []bool{false, true} {
		got, err := read(objecttest.LTOIR(90, specific))
		if err != nil {
			t.Fatal(err)
		}
		want := &ltoir.Header{
			Container: ltoir.Version{Major: 1, Minor: 65},
			IR:        ltoir.Version{Major: 2, Minor: 98},
			Debug:     ltoir.Version{Major: 3, Minor: 2},
			LLVM:      ltoir.Version{Major: 7},
			Level:     1,
			Arch:      gpu.Arch{Number: 90},
		}
		if specific {
			want.Arch.Suffix = "a"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestDamage(t *testing.T) {
	good := objecttest.LTOIR(80, false)
	with := func(at int, b ...byte) []byte {
		data := bytes.Clone(good)
		copy(data[at:], b)
		return data
	}
	tests := []struct {
		name string
		data []byte
		want error
	}{
		{"empty", nil, ltoir.ErrTruncated},
		{"half a header", good[:20], ltoir.ErrTruncated},
		{"no fields", good[:30], ltoir.ErrTruncated},
		{"no code", good[:44], ltoir.ErrTruncated},
		{"bitcode", with(0, 'B', 'C', 0xc0, 0xde), ltoir.ErrFormat},
		{"other header", with(12, 12), ltoir.ErrFormat},
		{"fields in the header", with(16, 4), ltoir.ErrFormat},
		{"code before the fields", with(20, 8), ltoir.ErrFormat},
		{"code far away", with(20, 0xff, 0xff, 0xff, 0xff), ltoir.ErrFormat},
	}
	for _, test := range tests {
		if _, err := read(test.data); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(objecttest.LTOIR(80, false))
	f.Add(objecttest.LTOIR(90, true))
	f.Fuzz(func(t *testing.T, data []byte) {
		if h, err := read(data); err == nil && !ltoir.IsContainer(data) {
			t.Fatalf("read %+v from what is none", h)
		}
	})
}
