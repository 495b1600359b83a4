//go:build realtools

package merger

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/test/kit"
)

// generatedPrograms is how many programs are made and linked, unless
// WARPLD_TEST_MERGER_GENERATED says otherwise.
const generatedPrograms = 100

// TestGenerated links generated programs, each with one toolkit. The number of a
// program decides for which target it is compiled.
func TestGenerated(t *testing.T) {
	count := kit.Number(t, "WARPLD_TEST_MERGER_GENERATED", generatedPrograms)
	first := kit.Number(t, "WARPLD_TEST_MERGER_SEED", 0)
	toolkits, targets := kit.Toolkits(t), targets()
	for i := first; i < first+count; i++ {
		tk, from := toolkits[i%len(toolkits)], i/len(toolkits)%len(targets)
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			g := generate(uint64(i))
			compiler, err := tk.Compiler()
			if err != nil {
				t.Fatal(err)
			}
			files := setting{compiler, targets[from]}.compileGenerated(t, i, g)
			for _, target := range assembled(targets[from:]) {
				t.Run(tk.Release()+"/"+target, func(t *testing.T) { setting{tk, target}.linkGenerated(t, i, files, g.runtime) })
			}
		})
	}
}

// assembled are the targets for which a program is assembled: the one that it was
// compiled for and, in a run with chosen targets, all that follow.
func assembled(targets []string) []string {
	if os.Getenv("WARPLD_TEST_MERGER_ARCHS") == "" {
		return targets[:1]
	}
	return targets
}

// switches matches the statements that become tables of branches.
var switches = regexp.MustCompile(`switch \(x\) \{.*\}`)

// withoutTables takes the tables of branches out of most programs for Mercury code:
// they are left to nvlink, and nothing would be known of the rest.
func (s setting) withoutTables(number int, text string) string {
	if target, _ := gpu.Parse(s.arch); target.Number < 100 || number%4 == 0 {
		return text
	}
	return switches.ReplaceAllString(text, "if (x == 3) x ^= 9;")
}

// generatedVariant is the form in which the files of a program are compiled.
func generatedVariant(number int) []string {
	r := rand.New(rand.NewPCG(uint64(number), 12))
	return variants[[]string{"", "", "", "", "li", "li", "r", "g"}[r.IntN(8)]]
}

// compileGenerated makes PTX of the files of a program.
func (s setting) compileGenerated(t *testing.T, number int, g generated) []string {
	t.Helper()
	var files []string
	dir := t.TempDir()
	for i, text := range g.texts {
		text = s.withoutTables(number, text)
		path := filepath.Join(dir, fmt.Sprintf("g%d.cu", i))
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		virtual := strings.Replace(s.arch, "sm_", "compute_", 1)
		options := append([]string{"-w", "-arch=" + virtual, "-rdc=true", "-ptx"}, generatedVariant(number)...)
		out, err := s.compileOnce(path, fmt.Sprintf("generated-%d-%d.ptx", number, i), []byte(text), options)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, out)
	}
	return files
}

// linkGenerated links a program of which the PTX is given, also without some of its
// kernels.
func (s setting) linkGenerated(t *testing.T, number int, files []string, runtime bool) {
	t.Helper()
	p, built := program{}, map[string]string{}
	for i, file := range files {
		options := append([]string{"-w", "-arch=" + s.arch, "-rdc=true", "-cubin"}, generatedVariant(number)...)
		name := fmt.Sprintf("g%d", i)
		out, err := s.compileOnce(file, fmt.Sprintf("generated-%d-%d.cubin", number, i), read(t, file), options)
		if err != nil {
			t.Fatal(err)
		}
		p.names, built[name] = append(p.names, name), out
	}
	if runtime {
		p.names, built["runtime"] = append(p.names, "runtime"), s.runtime(t)
	}
	s.compare(t, p, built)
	s.compare(t, program{names: p.names, options: []string{"-g"}}, built)
	for _, removal := range s.removals(t, rand.New(rand.NewPCG(uint64(number), 5)), p, built) {
		s.compare(t, removal, built)
	}
}

// runtime is the code for the target that libcudadevrt holds.
func (s setting) runtime(t *testing.T) string {
	t.Helper()
	cache, err := kit.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(cache, "merger", s.tk.Release(), s.arch, "runtime.cubin")
	if _, err := os.Stat(out); err == nil {
		return out
	}
	cmd := exec.Command(s.tk.Tool("cuobjdump"), "-xelf", s.arch+".cubin", filepath.Join(s.tk.Lib(), "libcudadevrt.a"))
	cmd.Dir = t.TempDir()
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cuobjdump: %v\n%s", err, text)
	}
	found, err := filepath.Glob(filepath.Join(cmd.Dir, "*.cubin"))
	if err != nil || len(found) != 1 {
		t.Fatalf("libcudadevrt has %q for %s: %v", found, s.arch, err)
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(out+".new", read(t, found[0]), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(out+".new", out); err != nil {
		t.Fatal(err)
	}
	return out
}
