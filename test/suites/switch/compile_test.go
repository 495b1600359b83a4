//go:build realtools

package switching

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// What a message has that is not the same in every run.
var (
	compileTime = regexp.MustCompile(`Compile time = [\d.]+ ms`)
	temporary   = regexp.MustCompile(`\S*tmpxft_\S*`)
)

// ptxas returns the ptxas of a shim.
func (w way) ptxas() string { return filepath.Join(filepath.Dir(w.nvcc), "ptxas") }

// TestCompile compiles for two architectures without linking, with nvcc alone and through a
// shim, whose ptxas is warpld: once with an empty cache and once more. Device code and
// messages must be the same.
func TestCompile(t *testing.T) {
	for _, tk := range kit.Toolkits(t) {
		t.Run(tk.Release(), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			compile := func(w way) (map[string]string, string) {
				object := filepath.Join(dir, "kernels.o")
				said := w.run(t, dir, w.nvcc, "-c", "-gencode", "arch=compute_80,code=sm_80", "-gencode",
					"arch=compute_90,code=[sm_90,compute_90]", "--threads", "2", "-maxrregcount=32", "-Xptxas", "-v",
					kernelSource(t), "-o", object)
				lines := strings.Split(compileTime.ReplaceAllString(temporary.ReplaceAllString(said, "FILE"), ""), "\n")
				slices.Sort(lines) // two threads print in any order
				return deviceCode(t, tk, object), strings.Join(lines, "\n")
			}
			shim := ways(t, tk)[1]
			shim.env = []string{"WARPLD_CACHE_DIR=" + t.TempDir(), "WARPLD_FLAGS="}
			code, said := compile(way{nvcc: tk.Tool("nvcc")})
			for _, run := range []string{"empty cache", "again"} {
				got, gotSaid := compile(shim)
				if !maps.Equal(got, code) {
					t.Errorf("%s: the device code is not nvcc's:\n%swant:\n%s", run, listing(got), listing(code))
				}
				if gotSaid != said {
					t.Errorf("%s: printed:\n%.3000s\nwant:\n%.3000s", run, gotSaid, said)
				}
			}
		})
	}
}

func kernelSource(t *testing.T) string {
	t.Helper()
	source, err := filepath.Abs(filepath.Join("project", "kernels.cu"))
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// assemblies are options of ptxas that make a cubin, or not.
var assemblies = [][]string{
	{}, {"-v"}, {"-c"}, {"-O1"}, {"-O=2", "--fmad", "false"}, {"--opt-level", "0", "-warn-spills"}, {"-g"}, {"-lineinfo"},
	{"-maxrregcount", "24", "-v"}, {"-Werror", "-warn-lmem-usage"}, {"-O9"}, {"-O", "1"}, {"--bogus"},
	{"-o", "missing/out"}, {"-optf", "missing"}, {"-split-compile=2"}, {"-Ofc", "max"},
}

// TestAssemble runs ptxas and the ptxas of a shim with the same arguments, the second one also
// kernel by kernel. Outputs, messages and exit codes must be the same,
// and a failure must leave the output as it is.
func TestAssemble(t *testing.T) {
	const head = ".version 8.0\n.target sm_80\n.address_size 64\n"
	wrong := map[string]string{
		"syntax": head + ".visible .entry k() { bogus; ret; }\n",
		"types":  head + ".visible .entry k() { .reg .u64 %r<3>; mov.u32 %r1, 1; ret; }\n",
		"extern": head + ".extern .func f();\n.visible .entry k() { call f; ret; }\n",
		"empty":  "",
	}
	for _, tk := range kit.Toolkits(t) {
		t.Run(tk.Release(), func(t *testing.T) {
			t.Parallel()
			dir, shim := t.TempDir(), ways(t, tk)[1]
			compare := func(args ...string) {
				want := assembleWith(t, dir, tk.Tool("ptxas"), "", args)
				for _, flags := range []string{"", "--warpld-assemble=kernels"} {
					if got := assembleWith(t, dir, shim.ptxas(), flags, args); got != want {
						t.Errorf("%q %s: got\n%.2000s\nwant\n%.2000s", args, flags, got, want)
					}
				}
			}
			way{}.run(t, dir, tk.Tool("nvcc"), "-arch=sm_80", "-ptx", kernelSource(t), "-o", "kernels.ptx")
			for _, options := range assemblies {
				compare(append([]string{"-arch=sm_80", "-m64", "kernels.ptx", "-o", "kept"}, options...)...)
			}
			compare("-arch=compute_80", "kernels.ptx", "-o", "kept")
			compare("-arch=sm_80", "missing.ptx", "-o", "kept")
			compare("--version")
			for name, text := range wrong {
				if err := os.WriteFile(filepath.Join(dir, name+".ptx"), []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
				compare("-arch=sm_80", name+".ptx", "-o", "kept")
			}
		})
	}
}

// assembleWith runs a program and returns how it ends, what it prints and what the output is
// then.
func assembleWith(t *testing.T, dir, program, flags string, args []string) string {
	t.Helper()
	kept := filepath.Join(dir, "kept")
	if err := os.WriteFile(kept, []byte("before"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "WARPLD_FLAGS="+flags, "WARPLD_CACHE_DIR="+filepath.Join(dir, "cache"))
	said, err := cmd.CombinedOutput()
	data, readErr := os.ReadFile(kept)
	if readErr != nil {
		t.Fatal(readErr)
	}
	return fmt.Sprintf("%v\n%s%q", err, compileTime.ReplaceAll(said, []byte("Compile time")), data)
}
