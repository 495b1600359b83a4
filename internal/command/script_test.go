package command

import (
	"context"
	"debug/elf"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/engine/worker"
	"github.com/warpld/warpld/internal/link"
	"github.com/warpld/warpld/internal/reproduce"
	"github.com/warpld/warpld/internal/toolkit"
)

// TestMain lets the test binary stand for warpld, in scripts and for the processes
// that commands start.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"warpld": warpld, "compiler": compiler})
}

// warpld runs a command. Links, which begin with an option, and their steps are run too,
// because commands start them.
func warpld() {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	caller := link.Caller{Self: self, Origin: os.Args[0], Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Getenv,
		Width: func() int { return 80 }}
	args := os.Args[1:]
	switch {
	case len(args) > 0 && args[0] == engine.WorkerArgument:
		os.Exit(worker.Main(args[1:]))
	case len(args) > 0 && strings.HasPrefix(args[0], "-"):
		os.Exit(link.Run(context.Background(), caller, args))
	}
	os.Exit(Run(context.Background(), caller, args))
}

// compiler stands for clang in a ThinLTO link. It copies its last argument to the file
// after -o, and fails if there is a -fail.
func compiler() {
	output := ""
	for i, arg := range os.Args {
		switch arg {
		case "-fail":
			fmt.Fprintln(os.Stderr, "error: cannot compile")
			os.Exit(3)
		case "-o":
			output = os.Args[i+1]
		}
	}
	data, err := os.ReadFile(os.Args[len(os.Args)-1])
	if err == nil {
		err = os.WriteFile(output, append([]byte("compiled "), data...), 0o666)
	}
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stderr, "warning: compiled quickly")
}

// TestScripts runs the scripts of testdata/script. They need no CUDA toolkit: inputs are
// made by 'object', links merge cubins with warpld's own merger, and what stands for a
// toolkit is made by 'toolkit', with shell scripts for its programs.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			// Nothing of this machine's toolkit may be found.
			for _, name := range []string{"CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX", "VIRTUAL_ENV", "WARPLD_FLAGS"} {
				env.Setenv(name, "")
			}
			env.Setenv("WARPLD_CACHE_DIR", filepath.Join(env.WorkDir, "cache"))
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, "user-cache"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "installed" {
				return false, fmt.Errorf("unknown condition %s", name)
			}
			return toolkitInstalled()
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"damage":  damage,
			"glob":    glob,
			"object":  makeObject,
			"pack":    pack,
			"toolkit": makeToolkit,
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

// makeToolkit makes a folder that is found as a CUDA toolkit: toolkit DIR VERSION.
// Scripts add the programs that they need.
func makeToolkit(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Join(dir, "bin"), 0o777))
	version, err := json.Marshal(map[string]any{"cuda_nvcc": map[string]string{"version": args[1]}})
	ts.Check(err)
	ts.Check(os.WriteFile(filepath.Join(dir, "version.json"), version, 0o666))
	// nvcc must be a program of this machine, but no test starts it.
	head := make([]byte, 64)
	copy(head, elf.ELFMAG)
	head[elf.EI_CLASS], head[elf.EI_DATA] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB)
	binary.LittleEndian.PutUint16(head[16:], uint16(elf.ET_EXEC))
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[runtime.GOARCH]
	binary.LittleEndian.PutUint16(head[18:], uint16(machine))
	ts.Check(os.WriteFile(filepath.Join(dir, "bin", "nvcc"), head, 0o777))
}

// pack packs a link that no warpld made: pack LINK.json FILE.tar.zst [INPUT...].
// Inputs are packed under their own names.
func pack(ts *testscript.TestScript, _ bool, args []string) {
	var p reproduce.Package
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &p))
	var files []reproduce.File
	for _, name := range args[2:] {
		files = append(files, reproduce.File{Name: name, Path: ts.MkAbs(name)})
	}
	f, err := os.Create(ts.MkAbs(args[1]))
	ts.Check(err)
	ts.Check(reproduce.Write(f, &p, files))
	ts.Check(f.Close())
}

// damage changes the outputs that a cache holds, but not their size: damage DIR.
func damage(ts *testscript.TestScript, _ bool, args []string) {
	found := 0
	blobs := filepath.Join(ts.MkAbs(args[0]), "blobs")
	ts.Check(filepath.WalkDir(blobs, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		data[len(data)/2] ^= 1
		found++
		return errors.Join(os.Chmod(path, 0o600), os.WriteFile(path, data, 0o600))
	}))
	if found == 0 {
		ts.Fatalf("there are no outputs in %s", args[0])
	}
}

// glob fails unless a pattern matches so many files: glob COUNT PATTERN.
func glob(ts *testscript.TestScript, _ bool, args []string) {
	found, err := filepath.Glob(ts.MkAbs(args[1]))
	ts.Check(err)
	if fmt.Sprint(len(found)) != args[0] {
		ts.Fatalf("%s matches %q", args[1], found)
	}
}
