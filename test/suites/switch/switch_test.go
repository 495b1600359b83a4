//go:build realtools

// Package switching builds projects as people build them, with nvcc alone and
// with warpld switched in, and wants the same device code in the program.
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

// A way is how a build comes to use warpld, or not.
type way struct {
	name    string
	nvcc    string   // the compiler that the build is told to use, if any
	wrapper []string // goes before each command
	env     []string
	warpld  bool
}

// ways makes the shim that one of them needs.
func ways(t *testing.T, tk kit.Toolkit) []way {
	t.Helper()
	binary, home := kit.Binary(t), t.TempDir()
	shim := filepath.Join(t.TempDir(), "shim")
	if out, err := exec.Command(binary, "shim", "--cuda="+tk.Root, shim).CombinedOutput(); err != nil {
		t.Fatalf("warpld shim: %v\n%s", err, out)
	}
	// warpld run keeps its shim below the home folder; the links tell what they did.
	env := []string{"HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, "cache"), "WARPLD_FLAGS=--warpld-verbose"}
	return []way{
		{name: "nvcc", nvcc: tk.Tool("nvcc")},
		{name: "shim", nvcc: filepath.Join(shim, "bin", "nvcc"), env: env, warpld: true},
		{name: "run", wrapper: []string{binary, "run", "--cuda=" + tk.Root, "--"}, env: env, warpld: true},
	}
}

// run runs one command of a build and gives what it printed.
func (w way) run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	args = slices.Concat(w.wrapper, args)
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), w.env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// A project is built into a folder; the program and the text of the build are the result.
type project func(t *testing.T, w way, dir string) (program, log string)

var projects = map[string]project{"cmake": cmake, "plain": plain}

func cmake(t *testing.T, w way, dir string) (program, log string) {
	configure(t, w, dir)
	return filepath.Join(dir, "program"), w.run(t, dir, "cmake", "--build", dir, "--verbose")
}

func configure(t *testing.T, w way, dir string) {
	t.Helper()
	source, err := filepath.Abs("project")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"cmake", "-G", "Ninja", "-S", source, "-B", dir, "-DCMAKE_CUDA_ARCHITECTURES=80;90"}
	if w.nvcc != "" {
		args = append(args, "-DCMAKE_CUDA_COMPILER="+w.nvcc)
	}
	w.run(t, dir, args...)
}

// TestCMakeUnderstands holds what CMake reads out of the output of nvcc and its linker
// (implicit libraries and folders, versions) against what it reads without warpld.
func TestCMakeUnderstands(t *testing.T) {
	var want string
	for _, w := range ways(t, kit.Toolkits(t)[0]) {
		dir := t.TempDir()
		configure(t, w, dir)
		found, err := filepath.Glob(filepath.Join(dir, "CMakeFiles", "*", "CMakeCUDACompiler.cmake"))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		text, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		understood := compilerLine.ReplaceAllString(string(text), "")
		if !w.warpld {
			want = understood
		} else if understood != want {
			t.Errorf("%s: CMake understands\n%swant\n%s", w.name, understood, want)
		}
	}
}

// compilerLine names the compiler, which is in the shim.
var compilerLine = regexp.MustCompile(`(?m)^set\(CMAKE_CUDA_COMPILER ".*"\)$`)

func plain(t *testing.T, w way, dir string) (program, log string) {
	source, err := filepath.Abs("project")
	if err != nil {
		t.Fatal(err)
	}
	nvcc := w.nvcc
	if nvcc == "" {
		nvcc = "nvcc"
	}
	objects := []string{}
	for _, name := range []string{"main", "area", "volume"} {
		w.run(t, dir, nvcc, "-dc", "-dlto", "-arch=sm_80", filepath.Join(source, name+".cu"), "-o", name+".o")
		objects = append(objects, name+".o")
	}
	link := slices.Concat([]string{nvcc, "-dlto", "-arch=sm_80", "-o", "program"}, objects)
	return filepath.Join(dir, "program"), w.run(t, dir, link...)
}

var engineLine = regexp.MustCompile(`engine (nvvm|jitlink)`)

func TestSwitch(t *testing.T) {
	for _, tk := range kit.Toolkits(t) {
		all := ways(t, tk)
		for name, build := range projects {
			t.Run(tk.Release()+"/"+name, func(t *testing.T) {
				t.Parallel()
				var want map[string]string
				for _, w := range all {
					program, log := build(t, w, t.TempDir())
					code := deviceCode(t, tk, program)
					if w.warpld && !engineLine.MatchString(log) {
						t.Errorf("%s: warpld did not link this:\n%s", w.name, log)
					}
					if !w.warpld {
						want = code
					} else if !maps.Equal(code, want) {
						t.Errorf("%s: the device code is not that of the build without warpld:\n%swant:\n%s", w.name, listing(code),
							listing(want))
					}
				}
			})
		}
	}
}

// deviceCode takes the cubins out of a program.
func deviceCode(t *testing.T, tk kit.Toolkit, program string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(tk.Tool("cuobjdump"), "-xelf", "all", program)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cuobjdump: %v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.cubin"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no device code (%v)", program, err)
	}
	code := map[string]string{}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		code[filepath.Base(path)] = string(data)
	}
	return code
}

func listing(code map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(code)) {
		fmt.Fprintf(&b, "%s, %d bytes\n", name, len(code[name]))
	}
	return b.String()
}
