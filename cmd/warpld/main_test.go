package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/warpld/warpld/internal/toolkit"
)

// TestMain lets the test binary stand for warpld, under all of its names.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"warpld":               main,
		"nvlink":               main,
		"ptxas":                main,
		"clang-nvlink-wrapper": main,
		"llvm-bitcode-linker":  main,
	})
}

// TestScripts runs the scripts of testdata/script, which need no CUDA toolkit.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			// Nothing of this machine's toolkit may be found.
			for _, name := range []string{"CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX", "VIRTUAL_ENV", "WARPLD_FLAGS"} {
				env.Setenv(name, "")
			}
			env.Setenv("WARPLD_CACHE_DIR", env.WorkDir+"/cache")
			return os.Mkdir(env.WorkDir+"/empty", 0o777)
		},
		Condition: func(name string) (bool, error) {
			if name != "installed" {
				return false, fmt.Errorf("unknown condition %s", name)
			}
			return toolkitInstalled()
		},
	})
}

// toolkitInstalled reports whether this machine has a CUDA toolkit that is found without
// being named. Then scripts cannot check what happens without one.
func toolkitInstalled() (bool, error) {
	env := func(name string) string {
		if name == "PATH" {
			return os.Getenv(name)
		}
		return ""
	}
	tk, err := toolkit.Find(toolkit.Query{Env: env})
	return err == nil && tk.Root != "", err
}

// TestStartedAs checks that a bare name is looked up as the shell does it.
func TestStartedAs(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for path, mode := range map[string]os.FileMode{
		filepath.Join(first, "nvcc"):    0o777,
		filepath.Join(second, "nvlink"): 0o777,
	} {
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", first+string(filepath.ListSeparator)+second)
	defer func(name string) { os.Args[0] = name }(os.Args[0])
	for name, want := range map[string]string{
		"nvlink":      filepath.Join(second, "nvlink"),
		"warpld":      "warpld", // not in PATH
		"./nvlink":    "./nvlink",
		"/bin/nvlink": "/bin/nvlink",
	} {
		os.Args[0] = name
		if got := startedAs(); got != want {
			t.Errorf("%s was started as %s, want %s", name, got, want)
		}
	}
}

func TestTerminalWidth(t *testing.T) {
	defer func(f *os.File) { os.Stderr = f }(os.Stderr)
	f, err := os.Create(filepath.Join(t.TempDir(), "messages"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	os.Stderr = f
	if width := terminalWidth(); width != 80 {
		t.Errorf("messages that go to a file are %d columns wide, want 80", width)
	}
}
