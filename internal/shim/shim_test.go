package shim

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/toolkit"
)

const realProfile = `
TOP = $(_HERE_)/..
PATH            += $(TOP)/nvvm/bin:$(_HERE_):
INCLUDES += "-I$(TOP)/$(_TARGET_DIR_)/include" $(_SPACE_)
LIBS = $(CUDA_ROOT)/lib $(_THERE_)`

// a toolkit and a warpld below one directory, with the files that are named.
func setUp(t *testing.T, files ...string) (root string, tk *toolkit.Toolkit, self string) {
	t.Helper()
	root = t.TempDir()
	write(t, filepath.Join(root, "cuda/bin/nvcc"), "\x7fELF", 0o755)
	write(t, filepath.Join(root, "cuda/bin/nvcc.profile"), realProfile, 0o644)
	self = filepath.Join(root, "warpld")
	write(t, self, "#!/bin/sh\n", 0o755)
	for _, f := range files {
		write(t, filepath.Join(root, "cuda", f), "", 0o755)
	}
	cuda := filepath.Join(root, "cuda")
	tk = &toolkit.Toolkit{Root: cuda, NVCC: toolkit.File{Path: filepath.Join(cuda, "bin/nvcc")}}
	if slices.Contains(files, "bin/ptxas") {
		tk.PTXAS.Path = filepath.Join(cuda, "bin/ptxas")
	}
	return root, tk, self
}

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// list gives every entry below dir: the target of a link, or the content.
func list(t *testing.T, dir, root string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.Type() == fs.ModeSymlink {
			target, err := os.Readlink(path)
			out[name] = "-> " + strings.TrimPrefix(target, root+"/")
			return err
		}
		data, err := os.ReadFile(path)
		out[name] = strings.ReplaceAll(string(data), root+"/", "$/")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func mustMake(t *testing.T, dir string, tk *toolkit.Toolkit, self string) {
	t.Helper()
	if err := Make(dir, tk, self); err != nil {
		t.Fatal(err)
	}
}

const shimProfile = `
TOP = $/cuda/bin/..
PATH            += $(TOP)/nvvm/bin:$/cuda/bin:
INCLUDES += "-I$(TOP)/$(_TARGET_DIR_)/include" $(_SPACE_)
LIBS = $/cuda/lib $/cuda/bin
PATH += $(_HERE_):
`

func TestMake(t *testing.T) {
	root, tk, self := setUp(t, "bin/crt/link.stub", "bin/ptxas", "bin/unrelated", "include/cuda.h", "targets/x/lib/y",
		"README")
	dir := filepath.Join(root, "a/shim")
	mustMake(t, dir, tk, self)
	want := map[string]string{
		"warpld-shim.json": `{"toolkit":"$/cuda"}` + "\n",
		"bin/nvcc":         "-> cuda/bin/nvcc",
		"bin/nvcc.profile": shimProfile,
		"bin/nvlink":       "-> warpld",
		"bin/crt":          "-> cuda/bin/crt",
		"bin/ptxas":        "-> warpld",
		"include":          "-> cuda/include",
		"targets":          "-> cuda/targets",
	}
	if diff := cmp.Diff(want, list(t, dir, root)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	before, err := os.Lstat(filepath.Join(dir, "bin/nvcc"))
	if err != nil {
		t.Fatal(err)
	}
	mustMake(t, dir, tk, self)
	after, err := os.Lstat(filepath.Join(dir, "bin/nvcc"))
	if err != nil {
		t.Fatal(err)
	}
	if !os.SameFile(before, after) {
		t.Error("a second Make replaced an entry that was right")
	}
	if diff := cmp.Diff(want, list(t, dir, root)); diff != "" {
		t.Errorf("after a second Make, -want +got:\n%s", diff)
	}
}

// In Debian's layout nvcc has a bin of its own, and the other tools are in /usr/bin.
func TestMakeDebian(t *testing.T) {
	root, tk, self := setUp(t, "lib/nvidia-cuda-toolkit/bin/crt/link.stub", "bin/ptxas",
		"lib/nvidia-cuda-toolkit/bin/cudafe++")
	own := filepath.Join(tk.Root, "lib/nvidia-cuda-toolkit/bin")
	write(t, filepath.Join(own, "nvcc"), "\x7fELF", 0o755)
	write(t, filepath.Join(own, "nvcc.profile"), "PATH += $(_HERE_):\n", 0o644)
	tk.NVCC.Path = filepath.Join(own, "nvcc")
	dir := filepath.Join(root, "shim")
	mustMake(t, dir, tk, self)
	got := list(t, dir, root)
	for name, want := range map[string]string{
		"bin/nvcc":         "-> cuda/lib/nvidia-cuda-toolkit/bin/nvcc",
		"bin/nvcc.profile": "PATH += $/cuda/lib/nvidia-cuda-toolkit/bin:\nPATH += $(_HERE_):\n",
		"bin/crt":          "-> cuda/lib/nvidia-cuda-toolkit/bin/crt",
		"bin/ptxas":        "-> warpld",
		"lib":              "-> cuda/lib",
	} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
}

// A targets link of the toolkit before would change nvcc's include paths.
func TestMakeForAnotherToolkit(t *testing.T) {
	root, tk, self := setUp(t, "targets/x/y", "bin/ptxas")
	dir := filepath.Join(root, "shim")
	mustMake(t, dir, tk, self)
	_, other, _ := setUp(t, "bin/fatbinary")
	mustMake(t, dir, other, self)
	got := list(t, dir, other.Root)
	if got["targets"] != "" || got["bin/ptxas"] != "" || got["bin/fatbinary"] != "-> bin/fatbinary" ||
		got["bin/nvcc"] != "-> bin/nvcc" {
		t.Errorf("got %v", got)
	}
}

func TestMakeAtOnce(t *testing.T) {
	root, tk, self := setUp(t, "bin/ptxas", "include/cuda.h")
	dir := filepath.Join(root, "shim")
	var wg sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		wg.Go(func() { errs[i] = Make(dir, tk, self) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for name := range list(t, dir, root) {
		if strings.HasPrefix(name, stagingPrefix) {
			t.Errorf("%s was left behind", name)
		}
	}
}

func TestMakeRefuses(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(t *testing.T, dir string, tk *toolkit.Toolkit, self *string)
		want  string
	}{
		{"another directory", func(t *testing.T, dir string, _ *toolkit.Toolkit, _ *string) {
			write(t, filepath.Join(dir, "precious"), "", 0o644)
		}, "neither empty nor a shim"},
		{"the toolkit itself", func(t *testing.T, dir string, tk *toolkit.Toolkit, _ *string) {
			if err := os.Symlink(tk.Root, dir); err != nil {
				t.Fatal(err)
			}
		}, "neither empty nor a shim"},
		{"no nvcc", func(t *testing.T, _ string, tk *toolkit.Toolkit, _ *string) {
			tk.NVCC = toolkit.File{}
		}, "cannot find nvcc"},
		{"no profile", func(t *testing.T, _ string, tk *toolkit.Toolkit, _ *string) {
			if err := os.Remove(filepath.Join(tk.Root, "bin/nvcc.profile")); err != nil {
				t.Fatal(err)
			}
		}, "cannot read the profile of nvcc"},
		{"self in the shim", func(t *testing.T, dir string, _ *toolkit.Toolkit, self *string) {
			*self = filepath.Join(dir, "bin/nvlink")
		}, "in the shim itself"},
		{"self is gone", func(t *testing.T, _ string, _ *toolkit.Toolkit, self *string) {
			*self += "-gone"
		}, "cannot make"},
		{"self is no program", func(t *testing.T, _ string, _ *toolkit.Toolkit, self *string) {
			if err := os.Chmod(*self, 0o644); err != nil {
				t.Fatal(err)
			}
		}, "not a program"},
		{"a file in the way", func(t *testing.T, dir string, _ *toolkit.Toolkit, _ *string) {
			write(t, dir, "", 0o644)
		}, "cannot make the shim"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root, tk, self := setUp(t)
			dir := filepath.Join(root, "shim")
			test.spoil(t, dir, tk, &self)
			err := Make(dir, tk, self)
			var m *message.Message
			if !errors.As(err, &m) || m.Severity != message.Fatal || !strings.Contains(m.Text, test.want) {
				t.Errorf("got %v, want a message with %q", err, test.want)
			}
			if _, err := os.Stat(filepath.Join(dir, toolkit.ShimRecord)); err == nil {
				t.Error("a record was written all the same")
			}
		})
	}
}

func TestNotShimIsTyped(t *testing.T) {
	root, tk, self := setUp(t)
	if err := Make(filepath.Join(root, "cuda"), tk, self); !errors.Is(err, ErrNotShim) {
		t.Errorf("got %v, want ErrNotShim", err)
	}
}

func TestEnvironment(t *testing.T) {
	tests := []struct {
		name    string
		version toolkit.Version
		environ []string
		want    []string
	}{
		{"plain", toolkit.Version{Major: 13}, []string{"HOME=/h", "PATH=/usr/bin:/bin"}, []string{
			"HOME=/h", "PATH=/s/bin:/usr/bin:/bin", "CUDA_HOME=/s", "CUDA_PATH=/s", "CUDACXX=/s/bin/nvcc",
			"NVCC_APPEND_FLAGS=-no-compress",
		}},
		{"all set", toolkit.Version{Major: 13},
			[]string{"CUDA_HOME=/c", "CUDACXX=/c/bin/nvcc -v", "NVCC_APPEND_FLAGS=-lineinfo", "PATH=/c/bin", "CUDA_PATH=/c"},
			[]string{
				"PATH=/s/bin:/c/bin", "CUDA_HOME=/s", "CUDA_PATH=/s", "CUDACXX=/s/bin/nvcc -v",
				"NVCC_APPEND_FLAGS=-lineinfo -no-compress",
			}},
		{"inside another run", toolkit.Version{Major: 13},
			[]string{"PATH=/s/bin:/bin", "CUDA_HOME=/s", "CUDA_PATH=/s", "CUDACXX=/s/bin/nvcc",
				"NVCC_APPEND_FLAGS=-no-compress"}, []string{
				"NVCC_APPEND_FLAGS=-no-compress", "PATH=/s/bin:/bin", "CUDA_HOME=/s", "CUDA_PATH=/s", "CUDACXX=/s/bin/nvcc",
			}},
		{"another compiler", toolkit.Version{Major: 13}, []string{"PATH=/bin", "CUDACXX=clang++"}, []string{
			"CUDACXX=clang++", "PATH=/s/bin:/bin", "CUDA_HOME=/s", "CUDA_PATH=/s", "NVCC_APPEND_FLAGS=-no-compress",
		}},
		{"before LTO", toolkit.Version{Major: 11, Minor: 1}, []string{"PATH=/bin"}, []string{
			"PATH=/s/bin:/bin", "CUDA_HOME=/s", "CUDA_PATH=/s", "CUDACXX=/s/bin/nvcc",
		}},
		{"the last of two counts", toolkit.Version{}, []string{"PATH=/no", "PATH=/bin", "odd"}, []string{
			"odd", "PATH=/s/bin:/bin", "CUDA_HOME=/s", "CUDA_PATH=/s", "CUDACXX=/s/bin/nvcc", "NVCC_APPEND_FLAGS=-no-compress",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			given := strings.Join(test.environ, "\n")
			got := Environment("/s", &toolkit.Toolkit{Version: test.version}, test.environ)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if strings.Join(test.environ, "\n") != given {
				t.Error("the given environment was changed")
			}
		})
	}
}
