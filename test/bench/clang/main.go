// Command clang compares links of LLVM bitcode: what clang's own linker makes of a program, what
// warpld makes of it, and what nvcc and nvlink make of the same sources. Programs are the
// examples of test/suites/clang and a generated one of many modules, which are the sources in
// kernels, over and over, each with other constants and calls.
//
// With -write it writes docs/clang-measured.md; with -check it fails if warpld does not keep
// what the issue of this engine asked for.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/warpld/warpld/test/kit"
)

func main() {
	modules := flag.Int("modules", 100, "how many modules the generated program has")
	turns := flag.Int("turns", 3, "how often each link is run; the one with the least CPU time counts")
	write := flag.Bool("write", false, "write docs/clang-measured.md instead of printing it")
	check := flag.Bool("check", false, "fail if a limit is not kept")
	dir := flag.String("dir", "", "where what is compiled stays for the next run; else it is removed")
	flag.Parse()
	if err := run(*modules, *turns, *dir, *write, *check); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(modules, turns int, kept string, write, check bool) error {
	toolkits, err := kit.FindToolkits()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "warpld-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if kept == "" {
		kept = dir
	}
	b := &bench{toolkit: toolkits[0], dir: dir, compiled: kept, turns: turns, warpld: os.Getenv("WARPLD_BIN")}
	text, err := b.report(modules)
	if err != nil {
		return err
	}
	if write {
		err = os.WriteFile(filepath.Join("docs", "clang-measured.md"), []byte(text), 0o666)
	} else {
		fmt.Print(text)
	}
	if err == nil && check {
		err = b.limits()
	}
	return err
}
