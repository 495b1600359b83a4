//go:build realtools

package main

import (
	"bytes"
	"debug/elf"
	"path/filepath"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// TestSharedCommands compiles a source in both forms with shared commands and by nvcc itself.
// Every section that is loaded must be the same: the rest names nvcc's temporary files.
func TestSharedCommands(t *testing.T) {
	sources, err := filepath.Abs("../../programs/corpus")
	if err != nil {
		t.Fatal(err)
	}
	for _, tk := range kit.Toolkits(t) {
		t.Run(tk.Release(), func(t *testing.T) {
			c := corpus{tk: tk, sources: sources, objects: t.TempDir()}
			k := kind{name: "FORM", args: concat("-dc", "FORM", gencode("lto")[:4])}
			g := c.inForms(k, filepath.Join(sources, "hostref.cu"), nil)
			if err := (builder{keys: t.TempDir()}).run(g); err != nil {
				t.Fatal(err)
			}
			var packed [][]byte
			for _, s := range g {
				shared := loaded(t, s.out)
				if err := (builder{keys: t.TempDir()}).run(group{s}); err != nil {
					t.Fatal(err)
				}
				alone := loaded(t, s.out)
				for name, data := range alone {
					if !bytes.Equal(data, shared[name]) {
						t.Errorf("%s: section %s is not as nvcc makes it", s.out, name)
					}
				}
				if len(alone) != len(shared) || len(alone["__nv_relfatbin"]) == 0 {
					t.Errorf("%s: %d sections, and %d with shared commands", s.out, len(alone), len(shared))
				}
				packed = append(packed, shared["__nv_relfatbin"])
			}
			if bytes.Equal(packed[0], packed[1]) {
				t.Error("both forms are the same")
			}
		})
	}
}

// loaded returns the sections of an object that take part in a program.
func loaded(t *testing.T, path string) map[string][]byte {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sections := map[string][]byte{}
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Type != elf.SHT_NOBITS {
			if sections[s.Name], err = s.Data(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return sections
}
