//go:build realtools

package compose

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/compose/units"
	"github.com/warpld/warpld/test/kit"
)

// TestUnits: ptxas makes the same code of a kernel in a unit as in the whole program, and has
// the kernels in the order that was foreseen. The first line of a program says what it shows, or
// why it is refused. CI takes one program in five for a target, each for some targets; with
// WARPLD_TEST_FULL=1 all are taken for all.
func TestUnits(t *testing.T) {
	paths, err := filepath.Glob("ptx/*.ptx")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	archs := append([]string{"sm_86", "sm_89", "sm_90a", "sm_103"}, kit.Archs...)
	place := 0
	for _, tk := range kit.Toolkits(t) {
		for _, arch := range archs {
			for _, path := range paths {
				if place++; place%5 != 0 && !kit.Full() {
					continue
				}
				name := strings.TrimSuffix(filepath.Base(path), ".ptx")
				t.Run(tk.Release()+"/"+arch+"/"+name, func(t *testing.T) {
					t.Parallel()
					checkUnits(t, tk, arch, path)
				})
			}
		}
	}
}

// checkUnits assembles a program and its units.
func checkUnits(t *testing.T, tk kit.Toolkit, arch, path string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	reason, isRefused := strings.CutPrefix(line, "// refused: ")
	for _, size := range []int{0, 1500} {
		p, err := units.Cut(text, units.Settings{BundleSize: size})
		var refused *units.Refused
		switch {
		case isRefused && (!errors.As(err, &refused) || string(refused.Reason) != reason):
			t.Errorf("%v, want a refusal", err)
		case isRefused:
		case err != nil:
			t.Error(err)
		default:
			compareCode(t, tk, arch, p)
		}
	}
}

// compareCode compares the code of all kernels.
func compareCode(t *testing.T, tk kit.Toolkit, arch string, p *units.Program) {
	t.Helper()
	whole, order := codeOf(t, tk, arch, p.Source)
	var want []string
	for _, k := range p.Kernels {
		want = append(want, k.Name)
	}
	if !slices.Equal(order, want) {
		t.Errorf("the file has the kernels %q, expected was %q", order, want)
	}
	for i, u := range p.Units {
		code, _ := codeOf(t, tk, arch, u.Text)
		for _, k := range u.Kernels {
			name := p.Kernels[k].Name
			if !maps.EqualFunc(whole[name], code[name], bytes.Equal) {
				t.Errorf("%s differs in unit %d:\n%s", name, i, u.Text)
			}
		}
	}
}

// codeSection matches sections with the code or the constants of a kernel.
var codeSection = regexp.MustCompile(`^\.(?:text|nv\.constant\d)\.(.*)$`)

// codeOf assembles a text. It returns the code and constants of each kernel, and the kernels
// in the order of the file.
func codeOf(t *testing.T, tk kit.Toolkit, arch string, text []byte) (code map[string]map[string][]byte,
	order []string) {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.ptx"), filepath.Join(dir, "out.cubin")
	if err := os.WriteFile(in, text, 0o644); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command(tk.Tool("ptxas"), "-arch="+arch, in, "-o", out).CombinedOutput()
	if err != nil || len(said) > 0 {
		t.Fatalf("ptxas: %v %s\n%s", err, said, text)
	}
	f, err := elf.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	code = map[string]map[string][]byte{}
	for _, s := range f.Sections {
		m := codeSection.FindStringSubmatch(s.Name)
		if m == nil {
			continue
		}
		data, err := s.Data()
		if err != nil {
			t.Fatal(fmt.Errorf("%s: %w", s.Name, err))
		}
		if code[m[1]] == nil {
			code[m[1]] = map[string][]byte{}
		}
		if code[m[1]][s.Name] = data; strings.HasPrefix(s.Name, ".text.") {
			order = append(order, m[1])
		}
	}
	return code, order
}
