// Field links programs with nvlink and with warpld in all modes, compares what comes out, and
// writes a page and all results.
//
//	go run ./test/tools/field [options] DIRECTORY
//	go run ./test/tools/field -results FOLDER -page FILE
//
// DIRECTORY has programs in one or more of these layouts, or is one of the lists itself:
//
//	compile_commands.json       calls of nvcc; targets of CMake are programs
//	programs.txt                lines "program: file.cu flags"
//	NAME/Makefile, src/NAME/Makefile
//	                            what "make -n" would compile; Makefiles may run programs, so
//	                            they must be trusted
//	Samples/CHAPTER/NAME/*.cu   with headers in Common
//	LIBRARY/src/NAME-cuda       all sources below it are one program, with headers in
//	                            LIBRARY/include and LIBRARY/src
//
// Nothing is executed on a GPU. Objects are kept and used again while no file that took part
// changes. With -results a trial can be stopped and continued, in parts and for several
// directories; the second form writes the page about all of them. It ends with 1 if a link is
// different. It reads WARPLD_TEST_CUDA and WARPLD_BIN, as the suites do.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

func main() {
	c, err := parse(os.Args[1:])
	if err == nil {
		// A trial that is stopped ends the compilers that it has started.
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, unix.SIGTERM)
		defer stop()
		err = c.run(ctx, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "field:", err)
		os.Exit(1)
	}
}

// run does the trial, or writes the page about those before.
func (c *config) run(ctx context.Context, out io.Writer) error {
	s, err := openStore(c.places.results, out)
	if err != nil {
		return err
	}
	if !c.choice.isPage {
		if err := c.link(ctx, s, out); err != nil {
			return err
		}
	}
	results := s.results()
	if c.places.json != "" {
		if err := writeJSON(c.places.json, results); err != nil {
			return err
		}
	}
	if err := c.writePage(out, results); err != nil {
		return err
	}
	return results.verdict()
}

// link compiles and links the programs.
func (c *config) link(ctx context.Context, s *store, out io.Writer) error {
	programs, err := c.choice.programs()
	if err != nil {
		return err
	}
	t, err := c.trial()
	if err != nil {
		return err
	}
	defer os.RemoveAll(t.work)
	if err := s.describe(c, t, len(programs)); err != nil {
		return err
	}
	// Every process that is started inherits it.
	bytes := uint64(c.limits.memory) << 30
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: bytes, Max: bytes}); err != nil {
		return err
	}
	if err := c.schedule(ctx, t, programs, s); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d sources were compiled, all others kept\n", t.compiler.ran)
	if s.left > 0 {
		fmt.Fprintf(out, "%d links were left for another time\n", s.left)
	}
	return nil
}

func (c *config) writePage(out io.Writer, results *Results) error {
	text := results.page()
	if c.places.page == "" {
		_, err := io.WriteString(out, text)
		return err
	}
	return os.WriteFile(c.places.page, []byte(text), 0o644)
}
