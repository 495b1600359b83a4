// Assemble measures assembly kernel by kernel against ptxas on the whole program, and links with
// it against nvlink. The two take turns in one run, so that whatever else the machine does hits
// both.
//
//	go run ./test/bench/assemble [-turns N] [FILE.ptx...]
//
// It reads the same environment as the tests do; .ci/run sets it. Without files it takes the PTX
// of the 64 generated modules. Every run begins with an empty cache, but for those after an
// edit, which begin with a cache that knows the program before the edit.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/warpld/warpld/test/kit"
)

func main() {
	turns := flag.Int("turns", 3, "how often each is run")
	arch := flag.String("arch", "sm_80", "the target")
	flag.Parse()
	work, err := os.MkdirTemp("", "assemble")
	if err == nil {
		err = run(work, *turns, *arch, flag.Args())
		os.RemoveAll(work)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "assemble:", err)
		os.Exit(1)
	}
}

// A bench is the tools of one toolkit.
type bench struct {
	tk    kit.Toolkit
	work  string
	shim  string
	arch  string
	turns int
	dirs  int
}

func run(work string, turns int, arch string, files []string) error {
	toolkits, err := kit.FindToolkits()
	if err != nil {
		return err
	}
	fmt.Printf("%-8s %-32s %30s %30s  %s\n", "", "medians", "NVIDIA's (wall s, CPU s, MB)", "warpld (wall s, CPU s, MB)",
		"wall, CPU, MB of NVIDIA's")
	for _, tk := range toolkits {
		b := &bench{tk: tk, work: work, shim: filepath.Join(work, "shim-"+tk.Release()), arch: arch, turns: turns}
		if err := b.measure(files); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) measure(files []string) error {
	binary := os.Getenv("WARPLD_BIN")
	if out, err := exec.Command(binary, "shim", "--cuda="+b.tk.Root, b.shim).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	corpus := filepath.Join(os.Getenv("WARPLD_TEST_CORPUS"), b.tk.Release(), "stored-generated")
	objects, err := filepath.Glob(filepath.Join(corpus, "*.o"))
	if err != nil || len(objects) == 0 {
		return fmt.Errorf("no objects in %s (%v); test/tools/buildcorpus builds them, and .ci/run tells where", corpus, err)
	}
	link := append([]string{"-arch=" + b.arch, "-dlto", "-nvvmpath=" + b.tk.NVVM(), "-L" + b.tk.Lib(), "-lcudadevrt"},
		objects...)
	if err := b.turn("link of 64 modules, cold", "nvlink", append(link, "-o", "linked"), nil); err != nil {
		return err
	}
	if len(files) == 0 {
		text := filepath.Join(b.work, "modules-"+b.tk.Release()+".ptx")
		cmd := exec.Command(b.tk.Tool("nvlink"), append(link, "-emit-ptx", "-o", text)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		files = []string{text}
	}
	for _, file := range files {
		if err := b.program(file); err != nil {
			return err
		}
	}
	return nil
}

// program measures the assembly of a file, and that after an edit of one of its kernels.
func (b *bench) program(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	edited := filepath.Join(b.work, "edited.ptx")
	if err := os.WriteFile(edited, edit(text), 0o666); err != nil {
		return err
	}
	args := func(file string) []string { return []string{"-arch=" + b.arch, "-m64", file, "-o", "linked"} }
	if err := b.turn(filepath.Base(file)+", cold", "ptxas", args(file), nil); err != nil {
		return err
	}
	return b.turn(filepath.Base(file)+", one kernel edited", "ptxas", args(edited), args(file))
}

// edit adds an instruction to the kernel in the middle of a program.
func edit(text []byte) []byte {
	at := len(text) / 2
	if entry := bytes.Index(text[at:], []byte(".entry")); entry >= 0 {
		at += entry
	} else {
		at = bytes.LastIndex(text, []byte(".entry"))
	}
	end := at + bytes.Index(text[at:], []byte("\tret;"))
	return append(append(bytes.Clone(text[:end]), "\tmembar.gl;\n"...), text[end:]...)
}

// turn runs a tool of the toolkit and that of the shim in turn, and prints the medians. With
// before, the cache knows the result of a run with these arguments.
func (b *bench) turn(name, tool string, args, before []string) error {
	var theirs, ours []kit.Usage
	for range b.turns {
		b.dirs++
		cache := filepath.Join(b.work, fmt.Sprint("cache", b.dirs))
		command := func(exe string, args []string) *exec.Cmd {
			cmd := exec.Command(exe, args...)
			cmd.Dir = b.work
			cmd.Env = append(os.Environ(), "WARPLD_CACHE_DIR="+cache, "WARPLD_FLAGS=--warpld-assemble=auto")
			return cmd
		}
		if before != nil {
			if _, err := kit.Measure(command(filepath.Join(b.shim, "bin", tool), before)); err != nil {
				return err
			}
		}
		for _, side := range []struct {
			exe  string
			used *[]kit.Usage
		}{{b.tk.Tool(tool), &theirs}, {filepath.Join(b.shim, "bin", tool), &ours}} {
			used, err := kit.Measure(command(side.exe, args))
			if err != nil {
				return err
			}
			*side.used = append(*side.used, used)
		}
	}
	t, o := kit.Medians(theirs), kit.Medians(ours)
	fmt.Printf("%-8s %-32s %12.2f %9.2f %7.0f %12.2f %9.2f %7.0f  %.2f %.2f %.2f\n", b.tk.Release(), name, t.Wall, t.CPU,
		t.Memory, o.Wall, o.CPU, o.Memory, o.Wall/t.Wall, o.CPU/t.CPU, o.Memory/t.Memory)
	return nil
}
