//go:build realtools

package inspect

import (
	"debug/elf"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/warpld/warpld/internal/record"
	"github.com/warpld/warpld/test/kit"
)

// What the record calls removed is what the inputs have and the output has not: of the
// kernels and variables that nvlink -r, which removes nothing, finds in each input.
func TestRemoved(t *testing.T) {
	type link struct {
		name   string
		inputs func(t *testing.T, tk kit.Toolkit) []string
		flags  []string
	}
	corpus := func(kind string, names ...string) func(*testing.T, kit.Toolkit) []string {
		return func(t *testing.T, tk kit.Toolkit) (files []string) {
			for _, name := range names {
				files = append(files, tk.Object(t, kind, name))
			}
			return files
		}
	}
	var links []link
	for _, kind := range []string{"stored", "default"} {
		for _, program := range append(programs, []string{"hostref.o"}, []string{"names.o"}, []string{"w1.o", "w2.o"},
			[]string{"launch.o", "lay1.o", "lay2.o", "many1.o", "many2.o", "a.o", "b.o"}) {
			if program[0] == "many1.o" {
				continue // it takes long, and most of it is removed in another program
			}
			links = append(links, link{kind + "/" + strings.Join(program, "+"), corpus(kind, program...), []string{"-dlto"}})
		}
		links = append(links,
			link{kind + "/names.o/kernels-used", corpus(kind, "names.o"),
				[]string{"-dlto", "-kernels-used=rerun", "-variables-used=level"}},
			link{kind + "/hostref.o/partial", corpus(kind, "hostref.o"), []string{"-dlto", "-force-partial-lto"}},
			link{kind + "/generated", generated(kind), []string{"-dlto"}})
	}
	links = append(links, link{"rdc", corpus("rdc", "a.o", "b.o"), nil},
		link{"rdc/kernels-used", corpus("rdc", "a.o", "b.o"), []string{"-kernels-used=ka"}})
	for i, tk := range kit.Toolkits(t) {
		for _, l := range links {
			if strings.HasSuffix(l.name, "/generated") && (i == 0) != strings.HasPrefix(l.name, "stored") {
				continue // once with each toolkit
			}
			t.Run(tk.Release()+"/"+l.name, func(t *testing.T) {
				t.Parallel()
				inputs := l.inputs(t, tk)
				for _, asked := range [][]string{nil, {"--warpld-print-removed"}} {
					checkRemoved(t, tk, inputs, slices.Concat(l.flags, asked, []string{"-L" + tk.Lib(), "-lcudadevrt"}))
				}
			})
		}
	}
}

func generated(kind string) func(*testing.T, kit.Toolkit) []string {
	return func(t *testing.T, tk kit.Toolkit) []string {
		files, err := filepath.Glob(filepath.Join(filepath.Dir(tk.Object(t, kind+"-generated", "m0.o")), "*.o"))
		if err != nil || len(files) < 64 {
			t.Fatalf("%d objects, %v", len(files), err)
		}
		return files
	}
}

func checkRemoved(t *testing.T, tk kit.Toolkit, inputs, flags []string) {
	t.Helper()
	dir := t.TempDir()
	out := filepath.Join(dir, "out.cubin")
	r := recordAt(t, tk, dir, append(flags, inputs...))
	if len(r.Symbols) == 0 {
		t.Fatal("no symbol is known")
	}
	want := map[string]bool{}
	for _, in := range inputs {
		for name := range unlinked(t, tk, in) {
			want[name] = true
		}
	}
	for name := range symbolsIn(t, out) {
		delete(want, name)
	}
	got := map[string]bool{}
	for _, y := range r.Symbols {
		if !y.Kept && y.Kind != record.KindFunction {
			got[y.Kind+" "+y.Name] = true
		}
		if y.Reason == "" || len(y.Inputs) == 0 {
			t.Errorf("%s has no reason or no input: %+v", y.Name, y)
		}
	}
	if want, got := slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got)); !slices.Equal(want, got) {
		t.Errorf("with %v\nremoved: %q\nwant:    %q", flags, got, want)
	}
}

// linkedAlone are the answers of unlinked, by toolkit and input.
var linkedAlone sync.Map

// unlinked are the kernels and variables of one input with nothing removed.
func unlinked(t *testing.T, tk kit.Toolkit, input string) map[string]bool {
	t.Helper()
	if known, ok := linkedAlone.Load(tk.Root + " " + input); ok {
		return known.(map[string]bool)
	}
	out := filepath.Join(t.TempDir(), "unlinked.cubin")
	args := []string{"-arch=sm_80", "-dlto", "-r", "-nvvmpath=" + tk.NVVM(), "-o", out, input}
	if text, err := exec.Command(tk.Tool("nvlink"), args...).CombinedOutput(); err != nil {
		t.Fatalf("nvlink %s: %v\n%s", strings.Join(args, " "), err, text)
	}
	found := symbolsIn(t, out)
	linkedAlone.Store(tk.Root+" "+input, found)
	return found
}

// partOfKernel matches the sections of shared memory, and of constants and parameters
// that ptxas made for one function.
var partOfKernel = regexp.MustCompile(`^\.nv(_debug)?\.shared|^\.nv\.constant\d+\.`)

// literal matches the constants that compilers make.
var literal = regexp.MustCompile(`^(\$str|__cudart_|__unnamed_|__const\$)`)

// symbolsIn are the kernels and variables of a cubin, read by Go's own reader.
func symbolsIn(t *testing.T, path string) map[string]bool {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, y := range table {
		const entry, data = 0x10, 13
		if y.Section == elf.SHN_UNDEF || int(y.Section) >= len(f.Sections) {
			continue
		}
		section := f.Sections[y.Section].Name
		switch kind := elf.ST_TYPE(y.Info); {
		case kind == elf.STT_FUNC && y.Other&entry != 0:
			found["kernel "+y.Name] = true
		case (kind == elf.STT_OBJECT || kind == data) && !partOfKernel.MatchString(section) && !literal.MatchString(y.Name):
			found["variable "+y.Name] = true
		}
	}
	return found
}

// What keeps a symbol is told up to its root, through LTO-IR and native code, by the link
// and by its record.
func TestWhyLive(t *testing.T) {
	tk := kit.Toolkits(t)[0]
	dir := t.TempDir()
	record := filepath.Join(dir, "link.json")
	args := []string{"-dlto", "-arch=sm_80", "--warpld-cuda=" + tk.Root, "-kernels-used=ka",
		"-o", filepath.Join(dir, "out.cubin"),
		"--warpld-record=" + record, "--warpld-why-live=_Z4bfuni", tk.Object(t, "stored", "a.o"), tk.Object(t, "rdc", "b.o")}
	want := `function bfun(int) of rdc/b.o is in the output
  code that is kept needs it; it is used by the kernel ka(int*) of stored/a.o
  -kernels-used names it
`
	for _, args := range [][]string{args, {"explain", "--why-live=bfun(int)", record}} {
		out, err := exec.Command(kit.Binary(t), args...).Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		corpus := filepath.Dir(filepath.Dir(tk.Object(t, "stored", "a.o"))) + "/"
		if got := strings.ReplaceAll(string(out), corpus, ""); got != want {
			t.Errorf("%q says\n%swant\n%s", args, got, want)
		}
	}
}
