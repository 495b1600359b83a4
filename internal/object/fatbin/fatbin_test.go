package fatbin_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/object/fatbin"
	"github.com/warpld/warpld/internal/object/objecttest"
)

func read(data []byte) ([]fatbin.Container, error) {
	return fatbin.Read(bytes.NewReader(data), int64(len(data)))
}

var payload = []byte(strings.Repeat("an NVVM container, or so; ", 40))

func TestMembers(t *testing.T) {
	data := objecttest.Fatbin(
		objecttest.Member{Kind: 1, Arch: 80, Options: "--compile-only  ", Payload: payload, Compression: "zstd"},
		objecttest.Member{Kind: 2, Arch: 90, Flags: 0x100000, Ident: "a.cu", Payload: payload},
		objecttest.Member{Kind: 8, Arch: 100, Flags: 0x200000, Options: "-ftz=0 ", Ident: "b.cu", Payload: payload,
			Compression: "lz4"},
		objecttest.Member{Kind: 99, Arch: 80})
	containers, err := read(data)
	if err != nil || len(containers) != 1 {
		t.Fatalf("%d containers, %v", len(containers), err)
	}
	want := []fatbin.Member{
		{Kind: fatbin.PTX, Arch: gpu.Arch{Number: 80}, Flags: 0x8011, Options: "--compile-only  "},
		{Kind: fatbin.ELF, Arch: gpu.Arch{Number: 90, Suffix: "a"}, Flags: 0x100011, Ident: "a.cu"},
		{Kind: fatbin.NVVM, Arch: gpu.Arch{Number: 100, Suffix: "f"}, Flags: 0x202011, Options: "-ftz=0 ", Ident: "b.cu"},
		{Kind: 99, Arch: gpu.Arch{Number: 80}, Flags: 0x11},
	}
	ignore := cmpopts.IgnoreFields(fatbin.Member{}, "Major", "Minor", "Offset", "Length")
	if diff := cmp.Diff(want, containers[0].Members, ignore, cmpopts.IgnoreUnexported(fatbin.Member{})); diff != "" {
		t.Error(diff)
	}
	for i, m := range containers[0].Members[:3] {
		got, err := m.Payload(bytes.NewReader(data), fatbin.MaxPayload)
		if err != nil || !bytes.Equal(got, payload) || m.Size() != int64(len(payload)) {
			t.Errorf("payload %d: %d bytes of %d, %v", i, len(got), m.Size(), err)
		}
	}
}

func TestSeveralContainers(t *testing.T) {
	one := objecttest.Fatbin(objecttest.Member{Kind: 2, Arch: 80, Payload: payload})
	two := objecttest.Fatbin(objecttest.Member{Kind: 2, Arch: 90, Payload: payload})
	data := append(append(append(one[:len(one):len(one)], make([]byte, 1000)...), two...), make([]byte, 24)...)
	containers, err := read(data)
	if err != nil || len(containers) != 2 {
		t.Fatalf("%d containers, %v", len(containers), err)
	}
	for i, want := range [][]byte{one, two} {
		c := containers[i]
		if got := data[c.Offset : c.Offset+c.Size]; !bytes.Equal(got, want) {
			t.Errorf("container %d is at %d, %d bytes", i, c.Offset, c.Size)
		}
	}
}

// A member that is cut out is the same member.
func TestAlone(t *testing.T) {
	whole := objecttest.Fatbin(
		objecttest.Member{Kind: 1, Arch: 80, Payload: payload},
		objecttest.Member{Kind: 8, Arch: 80, Options: "-ftz=0 ", Payload: payload, Compression: "zstd"})
	containers, err := read(whole)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := containers[0].Members[1].Extract(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	if want := objecttest.Fatbin(objecttest.Member{Kind: 8, Arch: 80, Options: "-ftz=0 ", Payload: payload,
		Compression: "zstd"}); !bytes.Equal(alone, want) {
		t.Errorf("%d bytes, want %d", len(alone), len(want))
	}
}

func TestDamage(t *testing.T) {
	good := objecttest.Fatbin(objecttest.Member{Kind: 8, Arch: 80, Options: "-ftz=0 ", Ident: "a.cu", Payload: payload,
		Compression: "zstd"})
	const member = 16
	with := func(at int, b ...byte) []byte {
		data := bytes.Clone(good)
		copy(data[at:], b)
		return data
	}
	huge := bytes.Repeat([]byte{0xff}, 8)
	tests := []struct {
		name string
		data []byte
		want error
	}{
		{"text", []byte("this is no fat binary"), fatbin.ErrFormat},
		{"half a header", good[:10], fatbin.ErrTruncated},
		{"cut off", good[:len(good)-8], fatbin.ErrTruncated},
		{"garbage after it", append(bytes.Clone(good), "garbage garbage garbage"...), fatbin.ErrFormat},
		{"other version", with(4, 2), fatbin.ErrFormat},
		{"huge container", with(8, huge...), fatbin.ErrTruncated},
		{"container without room for its member", with(8, 40, 0), fatbin.ErrTruncated},
		{"small member header", with(member+4, 8, 0), fatbin.ErrFormat},
		{"huge member header", with(member+4, huge[:4]...), fatbin.ErrTooLarge},
		{"huge payload", with(member+8, huge...), fatbin.ErrTruncated},
		{"compressed size beyond the payload", with(member+16, 0xff, 0xff), fatbin.ErrTruncated},
		{"options outside", with(member+20, huge[:4]...), fatbin.ErrFormat},
		{"options of great length", with(member+68, huge[:4]...), fatbin.ErrFormat},
		{"identifier outside", with(member+32, huge...), fatbin.ErrFormat},
	}
	for _, test := range tests {
		if _, err := read(test.data); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

func TestDamagedPayload(t *testing.T) {
	zeros := make([]byte, 1<<20)
	tests := []struct {
		name   string
		member objecttest.Member
		at     int // in the member
		with   []byte
		limit  int64
		want   error
	}{
		{"obfuscated", objecttest.Member{Flags: 0x10000, Compression: "zstd", Payload: payload}, 0, nil, 1 << 20,
			fatbin.ErrObfuscated},
		{"larger than the limit", objecttest.Member{Compression: "zstd", Payload: zeros}, 0, nil, 1000, fatbin.ErrTooLarge},
		{"stored, larger than the limit", objecttest.Member{Payload: zeros}, 0, nil, 1000, fatbin.ErrTooLarge},
		{"zstd: declared too small", objecttest.Member{Compression: "zstd", Payload: payload}, 56, []byte{100, 0}, 1 << 20,
			fatbin.ErrFormat},
		{"zstd: declared too large", objecttest.Member{Compression: "zstd", Payload: payload}, 56, []byte{0xff, 0xff},
			1 << 20, fatbin.ErrFormat},
		{"zstd: declared beyond belief", objecttest.Member{Compression: "zstd", Payload: payload}, 56, []byte{0, 0, 0, 0x7f},
			1 << 40, fatbin.ErrFormat},
		{"zstd: larger than memory", objecttest.Member{Compression: "zstd", Payload: payload}, 56,
			bytes.Repeat([]byte{0xff}, 8), 1 << 62, fatbin.ErrTooLarge},
		{"zstd: not zstd", objecttest.Member{Compression: "zstd", Payload: payload}, 64, []byte("garbage"), 1 << 20,
			fatbin.ErrFormat},
		{"zstd: damaged", objecttest.Member{Compression: "zstd", Payload: payload}, 74, []byte("garbage"), 1 << 20,
			fatbin.ErrFormat},
		{"LZ4: declared too small", objecttest.Member{Compression: "lz4", Payload: payload}, 56, []byte{100, 0}, 1 << 20,
			fatbin.ErrFormat},
		{"LZ4: declared too large", objecttest.Member{Compression: "lz4", Payload: payload}, 56, []byte{0xff, 0xff}, 1 << 20,
			fatbin.ErrFormat},
		{"compressed twice", objecttest.Member{Flags: 0x2000, Compression: "zstd", Payload: payload}, 0, nil, 1 << 20,
			fatbin.ErrFormat},
	}
	for _, test := range tests {
		data := objecttest.Fatbin(test.member)
		copy(data[16+test.at:], test.with)
		containers, err := read(data)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if _, err := containers[0].Members[0].Payload(bytes.NewReader(data), test.limit); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, compression := range []string{"", "lz4", "zstd"} {
		f.Add(objecttest.Fatbin(
			objecttest.Member{Kind: 8, Arch: 80, Options: "-ftz=0 ", Ident: "a.cu", Payload: payload, Compression: compression},
			objecttest.Member{Kind: 2, Arch: 90, Payload: payload}))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		containers, err := read(data)
		if err != nil {
			return
		}
		for _, c := range containers {
			for _, m := range c.Members {
				const limit = 1 << 22
				got, err := m.Payload(bytes.NewReader(data), limit)
				if err == nil && (int64(len(got)) != m.Size() || len(got) > limit) {
					t.Fatalf("%d bytes where %d are declared", len(got), m.Size())
				}
				if alone, err := m.Extract(bytes.NewReader(data)); err == nil {
					if again, err := read(alone); err != nil || len(again[0].Members) != 1 {
						t.Fatalf("a member alone cannot be read: %v", err)
					}
				}
			}
		}
	})
}
