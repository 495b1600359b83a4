//go:build realtools

package merger

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/object/elf64"
	"github.com/warpld/warpld/test/kit"
)

// TestReferences links files that refer to what others define, in orders and with
// definitions that nvcc's own code rarely has: slices of fast mode do.
func TestReferences(t *testing.T) {
	andMercury(t, func(t *testing.T, s setting) {
		for _, names := range []string{
			"call weak", "weak call", "address weak", "weak address", "call address weak", "address call weak",
			"address weak call",
			"launched launches", "launches launched", "reads weakvariable", "weakvariable reads",
			"call launches reads launched weakvariable weak", "weak weakvariable launched reads launches call address",
			"weakcalls strong call", "call weakcalls strong", "weakpointer1 weakpointer2", "weakpointer2 weakpointer1",
			"call weak runtime", "launched launches runtime",
			"commons", "commons reads", "reads commons", "commonreads commons", "commons commonreads", "commons commonlarge",
			"commonlarge commons", "commonaligned commons", "commons commonaligned",
			"commons value", "value commons", "commonlarge value", "value commonlarge", "commons valuelarge",
			"valuelarge commons", "commonlarge valuelarge value",
			"reads commons commonlarge", "novalue commons", "commons novalue", "commonlarge reads", "reads commonlarge",
			"commons weakvariable", "weakvariable commons", "commonlarge novalue", "novalue commonlarge",
			"value constantreads", "constantreads value", "constantreads reads", "value constantlarge", "constantlarge value",
			"weakvariable constantlarge", "constantlarge commons",
			"weakvariable valuelarge", "valuelarge weakvariable", "weakvariable value valuelarge", "weakvariable weaklarge",
			"weaklarge reads", "reads weaklarge",
			"managed reads", "reads managed", "managed novalue", "value dynamic", "blocksize", "blocksize reads value",
		} {
			p, built := program{names: strings.Fields(names)}, map[string]string{}
			for _, name := range p.names {
				if name == "runtime" {
					built[name] = s.runtime(t)
					continue
				}
				path := "src/" + name + ".ptx"
				out, err := s.compileOnce(path, name+".cubin", read(t, path), []string{"-w", "-arch=" + s.arch, "-rdc=true",
					"-cubin"})
				if err != nil {
					t.Fatal(err)
				}
				built[name] = out
			}
			t.Run(names, func(t *testing.T) { s.compare(t, p, built) })
		}
	})
}

// TestEdited links files in which something was changed that compilers might write, but
// have not so far.
func TestEdited(t *testing.T) {
	for _, tk := range kit.Toolkits(t) {
		s := setting{tk, "sm_80"}
		for _, test := range []struct {
			name, edited, other string
			edit                func(f *cubin.File, s *elf64.Section, data []byte)
		}{
			{"addends in fields", "r5_shared", "", addToFields},
			{"addends in fields of copies", "async_copies", "", addToFields},
			{"alignment of code", "weak1", "weak2", alignText},
		} {
			t.Run(tk.Release()+"/"+test.name, func(t *testing.T) {
				p, built := program{names: strings.Fields("edited " + test.other)},
					s.buildAll(t, strings.Fields(test.edited+" "+test.other))
				data := read(t, built[test.edited])
				f, err := cubin.Parse(data)
				if err != nil {
					t.Fatal(err)
				}
				before := bytes.Clone(data)
				for i := range f.Sections {
					test.edit(f, &f.Sections[i], data)
				}
				built["edited"] = filepath.Join(t.TempDir(), "edited.cubin")
				if err := os.WriteFile(built["edited"], data, 0o644); err != nil || bytes.Equal(data, before) {
					t.Fatalf("nothing was edited: %v", err)
				}
				s.compare(t, p, built)
			})
		}
	}
}

// addToFields gives addends to relocations that have none: they are in the instruction.
func addToFields(f *cubin.File, s *elf64.Section, data []byte) {
	const (
		rel     = 9
		rowSize = 16
		addend  = 4
	)
	fields := map[cubin.Relocation]int{cubin.R_CUDA_ABS24_40: 40, cubin.R_CUDA_ABS20_44: 44}
	if s.Type != rel || !strings.HasPrefix(s.Name, ".rel.text") {
		return
	}
	for at := s.Offset; at < s.Offset+s.Size; at += rowSize {
		if field, ok := fields[cubin.Relocation(binary.LittleEndian.Uint32(data[at+8:]))]; ok {
			b := data[f.Sections[s.Info].Offset+binary.LittleEndian.Uint64(data[at:]):]
			binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)+addend<<field)
		}
	}
}

// alignText aligns code more.
func alignText(f *cubin.File, s *elf64.Section, data []byte) {
	const (
		headerSize = 64
		align      = 48
	)
	if strings.HasPrefix(s.Name, ".text.") {
		header := data[len(data)-(len(f.Sections)-s.Index)*headerSize:]
		binary.LittleEndian.PutUint64(header[align:], 2*s.Align)
	}
}
