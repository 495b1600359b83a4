// Package scripts runs links and commands in scripts, without a CUDA toolkit. What stands
// for the toolkit is real as far as warpld can see: files where a toolkit has them, an
// assembler that makes a cubin of PTX, and a compiler of LTO-IR. In these tests LTO-IR is
// a container with PTX in it, so the compiler has little to do. All else is warpld:
// options, reading, the plan, the actions and their processes, the cache and the merger.
package scripts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/warpld/warpld/internal/action/remote"
	"github.com/warpld/warpld/internal/action/remote/reapi"
	"github.com/warpld/warpld/internal/action/remote/service"
	"github.com/warpld/warpld/internal/link"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/toolkit"
)

// A Command runs what a first argument names if that is not an option, and returns the
// exit code.
type Command func(ctx context.Context, c link.Caller, args []string) int

// Main is for TestMain. The test binary stands for warpld, with run for its commands, and
// for the tools of the toolkit.
func Main(m *testing.M, run Command) {
	programs := map[string]func(){
		"warpld": func() { os.Exit(warpld(run)) },
		service.Program: func() {
			service.Serve(os.Stdin, func(s remote.Settings) (service.Backend, error) { return reapi.Dial(s) })
			os.Exit(0)
		},
		"test-ptxas":   func() { os.Exit(ptxas(os.Args[1:])) },
		"test-compile": func() { os.Exit(copyCompiler(os.Args[1:])) },
	}
	programs["clang-nvlink-wrapper"] = func() {
		translate := options.StandIn("clang-nvlink-wrapper")
		os.Exit(link.RunAs(context.Background(), caller(), translate, os.Args[1:]))
	}
	for name, program := range llvmPrograms {
		programs[name] = func() {
			if err := program(os.Args[1:]); err != nil {
				fmt.Fprintln(os.Stderr, "error:", err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	testscript.Main(m, programs)
}

// Inspect is a Command for tests of links: 'inspect FILE' prints the kernels of a result.
func Inspect(_ context.Context, c link.Caller, args []string) int {
	log := message.NewLog(c.Stderr, message.Style{})
	if len(args) != 2 || args[0] != "inspect" {
		log.Fail(fmt.Errorf("%q is not a command of these tests", args))
		return log.ExitCode()
	}
	data, err := os.ReadFile(args[1])
	var f *cubin.File
	if err == nil {
		f, err = cubin.Parse(data)
	}
	var kernels []cubin.Resources
	if err == nil {
		kernels, err = f.Resources()
	}
	for _, k := range kernels {
		fmt.Fprintf(c.Stdout, "kernel %s: %d bytes of code, %d registers\n", k.Kernel, k.Code, k.Registers)
	}
	log.Fail(err)
	return log.ExitCode()
}

// selfVariable has the path of what links start as their worker.
const selfVariable = "TEST_WARPLD"

// workerArgument is warpld's first argument when it is a worker.
const workerArgument = "worker"

func warpld(run Command) int {
	args := os.Args[1:]
	switch {
	case len(args) > 0 && args[0] == workerArgument:
		return work(args[1:])
	case len(args) > 0 && strings.HasPrefix(args[0], "-"):
		return link.Run(context.Background(), caller(), args)
	}
	return run(context.Background(), caller(), args)
}

// caller is the world of a script.
func caller() link.Caller {
	return link.Caller{
		Self:   os.Getenv(selfVariable),
		Origin: os.Args[0],
		Stdout: os.Stdout,
		Stderr: os.Stderr,
		Env:    os.Getenv,
		Width:  func() int { return 80 },
	}
}

// Run runs the scripts of a directory. Beside testscript's own commands they have
// 'warpld', 'object', 'toolkit', 'llvm', 'damage' and 'glob', and the condition 'installed'.
func Run(t *testing.T, dir string, more map[string]func(ts *testscript.TestScript, neg bool, args []string)) {
	t.Helper()
	commands := map[string]func(ts *testscript.TestScript, neg bool, args []string){
		"damage":  damage,
		"glob":    glob,
		"llvm":    writeLLVM,
		"object":  writeObject,
		"toolkit": writeToolkit,
	}
	for name, command := range more {
		commands[name] = command
	}
	testscript.Run(t, testscript.Params{
		Dir:  dir,
		Cmds: commands,
		Setup: func(env *testscript.Env) error {
			// No toolkit of this machine may be found by chance.
			for _, name := range []string{"CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX", "VIRTUAL_ENV", "WARPLD_FLAGS"} {
				env.Setenv(name, "")
			}
			env.Setenv("WARPLD_CACHE_DIR", filepath.Join(env.WorkDir, "cache"))
			env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, "user-cache"))
			script, err := starter("warpld")
			if err != nil {
				return err
			}
			env.Setenv(selfVariable, filepath.Join(env.WorkDir, ".bin", "warpld"))
			env.Setenv("XDG_RUNTIME_DIR", "") // the path may be too long for a socket
			if err := os.Mkdir(filepath.Join(env.WorkDir, ".bin"), 0o777); err != nil {
				return err
			}
			helper, err := starter(service.Program)
			if err != nil {
				return err
			}
			return errors.Join(os.WriteFile(env.Getenv(selfVariable), script, 0o777),
				os.WriteFile(filepath.Join(env.WorkDir, ".bin", service.Program), helper, 0o777))
		},
		Condition: func(name string) (bool, error) {
			if name != "installed" {
				return false, fmt.Errorf("unknown condition %s", name)
			}
			return ToolkitInstalled()
		},
	})
}

// starter returns a script that runs the test binary under one of its names. Actions have
// an empty environment, in which a binary that measures coverage would print a warning.
func starter(name string) ([]byte, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, err
	}
	script := "#!/bin/sh\n"
	if dir := os.Getenv("GOCOVERDIR"); dir != "" {
		script += "export GOCOVERDIR='" + dir + "'\n"
	}
	return []byte(script + "exec '" + path + "' \"$@\"\n"), nil
}

// ToolkitInstalled reports whether this machine has a CUDA toolkit that is found without
// being named. Then scripts cannot check what happens without one.
func ToolkitInstalled() (bool, error) {
	env := func(name string) string {
		if name == "PATH" {
			return os.Getenv(name)
		}
		return ""
	}
	tk, err := toolkit.Find(toolkit.Query{Env: env})
	return err == nil && tk.Root != "", err
}

// damage changes the outputs that a cache holds, but not their sizes: damage DIR.
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
