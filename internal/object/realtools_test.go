//go:build realtools

package object

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/ar"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/internal/object/fatbin"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/internal/object/ltoir"
)

// realFiles lists the files in the folder that WARPLD_TEST_FILES names: objects,
// archives, fat binaries, cubins and LTO-IR as the user's CUDA makes them.
func realFiles(t *testing.T) []string {
	t.Helper()
	folder := os.Getenv("WARPLD_TEST_FILES")
	var files []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("WARPLD_TEST_FILES=%q names no folder with files: %v", folder, err)
	}
	return files
}

// Everything that CUDA's tools make can be read, and what headers say about the
// code is what the code says itself.
func TestRealFiles(t *testing.T) {
	var checked int
	for _, path := range realFiles(t) {
		objects, err := Read(path, true, func(m *message.Message) { t.Logf("%s: %s", path, m.Text) })
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for _, o := range objects {
			if strings.Contains(o.Ignored, "damaged") {
				t.Errorf("%s: %s", o.Origin, o.Ignored)
			}
			for i := range o.Modules {
				checkModule(t, o, &o.Modules[i])
				checked++
			}
		}
	}
	if checked == 0 {
		t.Error("no device code in any file")
	}
}

func checkModule(t *testing.T, o *Object, m *Module) {
	alone, err := m.Container()
	if err != nil || len(alone) == 0 {
		t.Errorf("%s: %v: %v", o.Origin, m, err)
	}
	if m.Obfuscated {
		return
	}
	data, err := m.Data()
	if err != nil {
		t.Errorf("%s: %v: %v", o.Origin, m, err)
		return
	}
	r, size := bytes.NewReader(data), int64(len(data))
	switch m.Kind {
	case ELF:
		f, err := cubin.Open(r, size)
		if err != nil || f.Arch != m.Arch || f.Toolkit < 130 || len(f.Tools) == 0 {
			t.Errorf("%s: %v: %+v, %v", o.Origin, m, f, err)
		}
	case NVVM:
		h, err := ltoir.Read(r, size)
		if err != nil || h.Arch.Number != m.Arch.Number || h.Container.Major != m.Major || h.Container.Minor != m.Minor {
			t.Errorf("%s: %v: %+v, %v", o.Origin, m, h, err)
		}
	case PTX:
		if !bytes.Contains(data, []byte("\n.target ")) {
			t.Errorf("%s: %v: no PTX: %q", o.Origin, m, data[:min(100, len(data))])
		}
	default:
		t.Errorf("%s: %v", o.Origin, m)
	}
}

// readWithAll has every reader read the same bytes. It must end, without a
// panic; what the readers say does not matter.
func readWithAll(data []byte) {
	r, size := bytes.NewReader(data), int64(len(data))
	if f, err := elf64.Open(r, size); err == nil {
		for i := range f.Sections {
			f.Symbols(&f.Sections[i], 1<<20)
		}
	}
	hostelf.Read(r, size)
	ltoir.Read(r, size)
	if f, err := cubin.Open(r, size); err == nil {
		f.Kernels()
		cubin.Compare(f, f, true)
	}
	if a, err := ar.Open(r, size); err == nil {
		for m := range a.Members() {
			if !m.Thin {
				hostelf.Read(bytes.NewReader(data[m.Offset:m.Offset+m.Size]), m.Size)
			}
		}
	}
	readFatbins(data)
	if i := bytes.Index(data, []byte{0x50, 0xed, 0x55, 0xba}); i > 0 {
		readFatbins(data[i:]) // those in a host object
	}
}

func readFatbins(data []byte) {
	containers, err := fatbin.Read(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return
	}
	for _, c := range containers {
		for _, m := range c.Members {
			m.Payload(bytes.NewReader(data), 1<<24)
		}
	}
}

// variants is how many damaged forms of a file are tried at most, each way.
const variants = 1000

func TestRealFilesCutOff(t *testing.T) {
	folder := t.TempDir()
	for _, path := range realFiles(t) {
		data := readFile(t, path)
		for size := 0; size < len(data); size += max(64, len(data)/variants) {
			readWithAll(data[:size])
			readAs(t, folder, path, data[:size])
		}
	}
}

func TestRealFilesWithFlippedBits(t *testing.T) {
	folder, random := t.TempDir(), rand.New(rand.NewPCG(1, 2))
	for _, path := range realFiles(t) {
		data := readFile(t, path)
		for range min(variants, len(data)) {
			damaged := bytes.Clone(data)
			for range 1 + random.IntN(4) {
				// Headers are at the start and at the end.
				at := random.IntN(len(data))
				if random.IntN(2) == 0 {
					at = min(random.IntN(4096), len(data)-1)
				}
				damaged[at] ^= 1 << random.IntN(8)
			}
			readWithAll(damaged)
			if random.IntN(20) == 0 {
				readAs(t, folder, path, damaged)
			}
		}
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// readAs reads bytes as a file with the extension of another.
func readAs(t *testing.T, folder, like string, data []byte) {
	t.Helper()
	path := filepath.Join(folder, "x"+filepath.Ext(like))
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	objects, err := Read(path, true, func(*message.Message) {})
	if err != nil {
		for _, m := range message.Of(err) {
			if m.ID == "internal" {
				t.Errorf("%s, %d bytes: no message but %v", like, len(data), err)
			}
		}
	}
	for _, o := range objects {
		for i := range o.Modules {
			o.Modules[i].Data()
		}
	}
}
