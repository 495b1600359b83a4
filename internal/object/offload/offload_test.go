package offload_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/object/objecttest"
	"github.com/warpld/warpld/internal/object/offload"
)

func read(data []byte) ([]offload.Image, error) {
	return offload.Read(bytes.NewReader(data), int64(len(data)))
}

var section = objecttest.Offloading(
	objecttest.OffloadImage{Kind: 2, Triple: "nvptx64-nvidia-cuda", Arch: "sm_80", Data: []byte("the first")},
	objecttest.OffloadImage{Kind: 3, Triple: "nvptx64-nvidia-cuda", Arch: "sm_90a", Data: []byte("the second image")})

func TestRead(t *testing.T) {
	images, err := read(section)
	if err != nil {
		t.Fatal(err)
	}
	var data []string
	for i := range images {
		data = append(data, string(section[images[i].Offset:images[i].Offset+images[i].Size]))
		images[i].Offset, images[i].Size = 0, 0
	}
	want := []offload.Image{
		{Kind: offload.Bitcode, Triple: "nvptx64-nvidia-cuda", Arch: "sm_80"},
		{Kind: offload.Cubin, Triple: "nvptx64-nvidia-cuda", Arch: "sm_90a"},
	}
	if diff := cmp.Diff(want, images); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"the first", "the second image"}, data); diff != "" {
		t.Error(diff)
	}
}

func TestDamaged(t *testing.T) {
	changed := func(at int, b byte) []byte {
		data := bytes.Clone(section)
		data[at] = b
		return data
	}
	for _, test := range []struct {
		name string
		data []byte
		want error
	}{
		{"magic", changed(0, 0), offload.ErrFormat},
		{"version", changed(4, 2), offload.ErrVersion},
		{"size too small", changed(8, 1), offload.ErrFormat},
		{"size too large", changed(12, 1), offload.ErrTruncated},
		{"entry beyond the end", changed(17, 0xff), offload.ErrTruncated},
		{"image beyond the end", changed(32+33, 0xff), offload.ErrTruncated},
		{"too many properties", changed(32+18, 0xff), offload.ErrFormat},
		{"cut off", section[:len(section)-8], offload.ErrTruncated},
	} {
		if _, err := read(test.data); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(section)
	f.Fuzz(func(t *testing.T, data []byte) {
		images, err := read(data)
		if err != nil {
			return
		}
		for _, image := range images {
			_ = data[image.Offset : image.Offset+image.Size]
		}
	})
}
