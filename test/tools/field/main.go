// Field links programs with nvlink and with warpld in all modes, compares what comes out, and
// writes a page and all results.
//
//	go run ./test/tools/field [options] DIRECTORY
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
// changes. It ends with 1 if a link is different. It reads WARPLD_TEST_CUDA and WARPLD_BIN, as
// the suites do.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/warpld/warpld/test/kit"
)

// A config is what the command line asks for.
type config struct {
	directory, cache, keep, json, page string
	warpld                             string
	archs, forms, releases             string
	flags, only                        string
	resume                             bool
	jobs, memory, most, mostFiles      int
	compile, link, minimize            time.Duration
}

func parse(args []string) (*config, error) {
	c := &config{}
	f := flag.NewFlagSet("field", flag.ContinueOnError)
	f.StringVar(&c.cache, "cache", "", "`folder` for objects; otherwise field below WARPLD_TOOLS")
	f.StringVar(&c.keep, "keep", "", "`folder` for inputs and outputs of links that differ")
	f.StringVar(&c.json, "json", "", "`file` for all results")
	f.StringVar(&c.page, "page", "", "`file` for the page; otherwise it is printed")
	f.StringVar(&c.warpld, "warpld", os.Getenv("WARPLD_BIN"), "the warpld under test, instead of WARPLD_BIN")
	f.StringVar(&c.archs, "archs", "sm_80", "`list` of targets")
	f.StringVar(&c.forms, "forms", strings.Join([]string{compressed, stored, plain}, ","), "`list` of forms")
	f.StringVar(&c.releases, "releases", "", "`list` of releases, as in 13.0, out of WARPLD_TEST_CUDA; otherwise all")
	f.StringVar(&c.flags, "flags", "", "`options` for nvcc, added to those of every source")
	f.StringVar(&c.only, "only", "", "`expression` that names of programs match")
	f.BoolVar(&c.resume, "resume", false, "take over programs that the file of -json has")
	f.IntVar(&c.jobs, "jobs", 2, "processes at the same time")
	f.IntVar(&c.memory, "memory", 12, "gigabytes of address space for each process")
	f.IntVar(&c.most, "most", 0, "at most so many programs, evenly chosen; 0 for all")
	f.IntVar(&c.mostFiles, "most-files", 0, "at most so many sources of each program, evenly chosen; 0 for all")
	f.DurationVar(&c.compile, "compile-limit", 10*time.Minute, "time for one source")
	f.DurationVar(&c.link, "link-limit", 30*time.Minute, "time for one link")
	f.DurationVar(&c.minimize, "minimize-limit", 10*time.Minute, "time to minimize one difference")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() != 1 {
		return nil, errors.New("want one directory of programs")
	}
	c.directory = f.Arg(0)
	return c, nil
}

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

// run does the trial.
func (c *config) run(ctx context.Context, out io.Writer) error {
	programs, err := c.programs()
	if err != nil {
		return err
	}
	t, err := c.trial()
	if err != nil {
		return err
	}
	defer os.RemoveAll(t.work)
	// Every process that is started inherits it.
	bytes := uint64(c.memory) << 30
	if err := unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: bytes, Max: bytes}); err != nil {
		return err
	}
	results, err := c.results(ctx, out, t, programs)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%d sources were compiled, all others kept\n", t.compiler.ran)
	if err := c.writePage(out, results); err != nil {
		return err
	}
	return results.verdict()
}

func (c *config) writePage(out io.Writer, results *Results) error {
	text := results.page()
	if c.page == "" {
		_, err := io.WriteString(out, text)
		return err
	}
	return os.WriteFile(c.page, []byte(text), 0o644)
}

// programs finds those that are chosen.
func (c *config) programs() ([]program, error) {
	only, err := regexp.Compile(c.only)
	if err != nil {
		return nil, err
	}
	found, err := findPrograms(c.directory, strings.Fields(c.flags))
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(p program) bool { return !only.MatchString(p.name) })
	if len(found) == 0 {
		return nil, fmt.Errorf("no program matches %q", c.only)
	}
	found = evenly(found, c.most)
	for i := range found {
		found[i].units = evenly(found[i].units, c.mostFiles)
	}
	return found, nil
}

// evenly chooses so many items, the first and others at equal distances.
func evenly[T any](items []T, most int) []T {
	if most <= 0 || len(items) <= most {
		return items
	}
	var chosen []T
	for i := range most {
		chosen = append(chosen, items[i*len(items)/most])
	}
	return chosen
}

// trial prepares tools and folders.
func (c *config) trial() (*trial, error) {
	all, err := kit.FindToolkits()
	if err != nil {
		return nil, err
	}
	if c.warpld == "" {
		return nil, errors.New("WARPLD_BIN is not set, and -warpld not given")
	}
	if c.cache == "" {
		dir, err := kit.CacheDir()
		if err != nil {
			return nil, err
		}
		c.cache = filepath.Join(dir, "field")
	}
	if c.cache, err = filepath.Abs(c.cache); err != nil { // compilers run in other folders
		return nil, err
	}
	t := &trial{archs: strings.Split(c.archs, ","), forms: strings.Split(c.forms, ","), keep: c.keep, limit: c.link,
		minimize: c.minimize, seeds: map[string][]byte{},
		compiler: &compiler{dir: c.cache, limit: c.compile, slots: make(chan struct{}, c.jobs), digests: map[string]string{}}}
	for _, tk := range all {
		if c.releases == "" || slices.Contains(strings.Split(c.releases, ","), tk.Release()) {
			t.toolkits = append(t.toolkits, tk)
		}
	}
	if len(t.toolkits) == 0 {
		return nil, fmt.Errorf("WARPLD_TEST_CUDA has no toolkit of %s", c.releases)
	}
	for _, form := range t.forms {
		if !slices.Contains([]string{compressed, stored, plain}, form) {
			return nil, fmt.Errorf("%q is no form of device code", form)
		}
	}
	exe, err := filepath.Abs(c.warpld)
	if err != nil {
		return nil, err
	}
	if t.work, err = os.MkdirTemp("", "field"); err != nil {
		return nil, err
	}
	t.nvlink = filepath.Join(t.work, "nvlink")
	return t, os.Symlink(exe, t.nvlink)
}

// results links all programs, and writes what is known after each of them, so that a trial
// that is ended can be resumed.
func (c *config) results(ctx context.Context, out io.Writer, t *trial, programs []program) (*Results, error) {
	before := &Results{}
	if c.resume && c.json != "" {
		var err error
		if before, err = readResults(c.json); err != nil {
			return nil, err
		}
	}
	done := make([]*Program, len(programs))
	collect := func() *Results {
		all := &Results{}
		for _, p := range done {
			if p != nil {
				all.Programs = append(all.Programs, *p)
			}
		}
		return all
	}
	var mu sync.Mutex
	var group errgroup.Group
	group.SetLimit(c.jobs)
	for i, p := range programs {
		if known, ok := before.find(p.name); ok {
			done[i] = &known
			continue
		}
		group.Go(func() error {
			result, err := t.program(ctx, p)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			done[i] = &result
			fmt.Fprintln(out, result.line())
			if c.json == "" {
				return nil
			}
			return collect().write(c.json)
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return collect(), nil
}
