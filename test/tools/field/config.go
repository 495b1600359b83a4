package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/test/kit"
)

// A config is what the command line asks for.
type config struct {
	choice  choice
	places  places
	targets targets
	limits  limits
	warpld  string
	commit  string // what warpld was built from, if it does not say so itself
	command string // the command line, without the caller's folders and limits
}

// A choice is which programs take part.
type choice struct {
	directory, list    string
	collection, source string
	flags, only        string
	most, mostFiles    int
	again              bool
	isPage             bool // nothing is linked, and the page written from results
}

// places are where things are kept and written.
type places struct{ cache, results, keep, json, page string }

// targets are the settings of links.
type targets struct{ archs, forms, releases, modes, base, compiler string }

// limits are those of the whole trial and of each process.
type limits struct {
	jobs, memory                     int
	trial, compile, link, minimizing time.Duration
}

// telling are the options that decide what is linked.
var telling = []string{
	"archs", "base", "collection", "compiler", "flags", "forms", "modes", "most", "most-files", "only", "releases",
}

func parse(args []string) (*config, error) {
	c := &config{}
	f := flag.NewFlagSet("field", flag.ContinueOnError)
	f.StringVar(&c.warpld, "warpld", os.Getenv("WARPLD_BIN"), "the warpld under test, instead of WARPLD_BIN")
	f.StringVar(&c.commit, "commit", "", "`text` for the page: what warpld was built from, if it does not say so")
	c.choice.options(f)
	c.places.options(f)
	c.targets.options(f)
	c.limits.options(f)
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	c.choice.isPage = f.NArg() == 0 && c.places.results != ""
	if f.NArg() != 1 && !c.choice.isPage {
		return nil, errors.New("want one directory of programs, or -results alone")
	}
	c.choice.directory = f.Arg(0)
	c.command = "go run ./test/tools/field"
	f.Visit(func(option *flag.Flag) {
		if slices.Contains(telling, option.Name) {
			c.command += fmt.Sprintf(" -%s=%s", option.Name, quote(option.Value.String()))
		}
	})
	c.command += " -results=FOLDER DIRECTORY"
	return c, nil
}

// quote writes a word as a shell reads it.
func quote(word string) string {
	if strings.ContainsAny(word, " \t'\"$&|;()<>*?[]\\") {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

func (c *choice) options(f *flag.FlagSet) {
	f.StringVar(&c.list, "programs", "", "`file` that has the programs found in the directory; written if it is missing")
	f.StringVar(&c.collection, "collection", "", "`name` that comes before those of the programs")
	f.StringVar(&c.source, "source", "", "`text` about where the programs come from, for the page")
	f.StringVar(&c.flags, "flags", "", "`options` for nvcc, added to those of every source")
	f.StringVar(&c.only, "only", "", "`expression` that names of programs match")
	f.IntVar(&c.most, "most", 0, "at most so many programs, evenly chosen; 0 for all")
	f.IntVar(&c.mostFiles, "most-files", 0, "at most so many sources of each program, evenly chosen; 0 for all")
	f.BoolVar(&c.again, "again", false, "compile again what did not compile for -results")
}

func (p *places) options(f *flag.FlagSet) {
	f.StringVar(&p.cache, "cache", "", "`folder` for objects; otherwise field below WARPLD_TOOLS")
	f.StringVar(&p.results, "results", "", "`folder` with a result for each program and setting; what is there and good "+
		"is not linked again; without a directory of programs only the page is written")
	f.StringVar(&p.keep, "keep", "", "`folder` for inputs and outputs of links that differ")
	f.StringVar(&p.json, "json", "", "`file` for all results")
	f.StringVar(&p.page, "page", "", "`file` for the page; otherwise it is printed")
}

func (t *targets) options(f *flag.FlagSet) {
	f.StringVar(&t.archs, "archs", "sm_80", "`list` of targets")
	f.StringVar(&t.forms, "forms", strings.Join(allForms, ","), "`list` of forms")
	f.StringVar(&t.modes, "modes", strings.Join(allModes, ","), "`list` of modes; exact is always one")
	f.StringVar(&t.releases, "releases", "", "`list` of releases, as in 13.0, out of WARPLD_TEST_CUDA; otherwise all")
	f.StringVar(&t.base, "base", "", "`target` whose LTO-IR, and whose native code where possible, all targets link")
	f.StringVar(&t.compiler, "compiler", "", "`release` that makes LTO-IR for all releases")
}

func (l *limits) options(f *flag.FlagSet) {
	f.IntVar(&l.jobs, "jobs", 2, "processes at the same time")
	f.IntVar(&l.memory, "memory", 12, "gigabytes of address space for each process")
	f.DurationVar(&l.trial, "for", 0, "`time` after which no link begins any more; 0 for no limit")
	f.DurationVar(&l.compile, "compile-limit", 10*time.Minute, "time for one source")
	f.DurationVar(&l.link, "link-limit", 30*time.Minute, "time for one link")
	f.DurationVar(&l.minimizing, "minimize-limit", 10*time.Minute, "time to minimize one difference")
}

// programs finds those that are chosen, and sorts them by the size of their sources, so that a
// trial that is ended has seen as many as possible.
func (c *choice) programs() ([]program, error) {
	only, err := regexp.Compile(c.only)
	if err != nil {
		return nil, err
	}
	found, err := c.find()
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(p program) bool { return !only.MatchString(p.Name) })
	if len(found) == 0 {
		return nil, fmt.Errorf("no program matches %q", c.only)
	}
	found = evenly(found, c.most)
	for i := range found {
		found[i].Units = evenly(found[i].Units, c.mostFiles)
		for j, u := range found[i].Units {
			found[i].Units[j].Flags = slices.Concat(u.Flags, strings.Fields(c.flags))
		}
		if c.collection != "" {
			found[i].Name = c.collection + "/" + found[i].Name
		}
	}
	sortBySize(found)
	return found, nil
}

// find reads the list of programs, or searches for them and writes it.
func (c *choice) find() (found []program, err error) {
	if c.list == "" {
		return findPrograms(c.directory)
	}
	data, err := os.ReadFile(c.list)
	if err == nil {
		return found, json.Unmarshal(data, &found)
	}
	if found, err = findPrograms(c.directory); err != nil {
		return nil, err
	}
	return found, writeJSON(c.list, found)
}

// templates are libraries whose headers cost a compiler more than most programs do.
var templates = regexp.MustCompile(`#\s*include\s*[<"](thrust|cub|cuda/std|cute|cutlass)/`)

// templateSize is how much source takes as long as such headers.
const templateSize = 100_000

// sortBySize has the programs first that are probably compiled first.
func sortBySize(programs []program) {
	sizes := map[string]int{}
	for _, p := range programs {
		for _, u := range p.Units {
			data, err := os.ReadFile(u.path())
			if err != nil {
				continue // it does not compile
			}
			sizes[p.Name] += len(data)
			if templates.Match(data) {
				sizes[p.Name] += templateSize
			}
		}
	}
	slices.SortStableFunc(programs, func(a, b program) int { return cmp.Compare(sizes[a.Name], sizes[b.Name]) })
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
	if c.warpld == "" {
		return nil, errors.New("WARPLD_BIN is not set, and -warpld not given")
	}
	if c.places.cache == "" {
		dir, err := kit.CacheDir()
		if err != nil {
			return nil, err
		}
		c.places.cache = filepath.Join(dir, "field")
	}
	cache, err := filepath.Abs(c.places.cache) // compilers run in other folders
	if err != nil {
		return nil, err
	}
	root, err := filepath.Abs(c.choice.directory)
	if err != nil {
		return nil, err
	}
	t := &trial{keep: c.places.keep, limit: c.limits.link, minimize: c.limits.minimizing, seeds: map[string][]byte{},
		compiler: &compiler{dir: cache, root: root, limit: c.limits.compile,
			slots: make(chan struct{}, c.limits.jobs), digests: map[string]string{}}}
	if err := c.targets.choose(t); err != nil {
		return nil, err
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

// choose sets what the trial links, and checks the names.
func (s *targets) choose(t *trial) error {
	all, err := kit.FindToolkits()
	if err != nil {
		return err
	}
	t.archs, t.forms = strings.Split(s.archs, ","), strings.Split(s.forms, ",")
	t.modes, t.base = strings.Split(s.modes, ","), s.base
	for _, tk := range all {
		if s.releases == "" || slices.Contains(strings.Split(s.releases, ","), tk.Release()) {
			t.toolkits = append(t.toolkits, tk)
		}
		if tk.Release() == s.compiler {
			t.nvcc = &tk
		}
	}
	switch {
	case len(t.toolkits) == 0:
		return fmt.Errorf("WARPLD_TEST_CUDA has no toolkit of %s", s.releases)
	case s.compiler != "" && t.nvcc == nil:
		return fmt.Errorf("WARPLD_TEST_CUDA has no toolkit of %s", s.compiler)
	}
	for _, arch := range t.archs {
		if _, ok := gpu.Parse(arch); !ok {
			return fmt.Errorf("%q is no target", arch)
		}
	}
	return errors.Join(known("form of device code", t.forms, allForms), known("mode", t.modes, allModes))
}

// known wants all names to be out of a list.
func known(kind string, names, all []string) error {
	for _, name := range names {
		if !slices.Contains(all, name) {
			return fmt.Errorf("%q is no %s", name, kind)
		}
	}
	return nil
}

// schedule links all programs for the first release and target in all forms, then for the next
// ones, until the time is over.
func (c *config) schedule(ctx context.Context, t *trial, programs []program, s *store) error {
	var deadline time.Time
	if c.limits.trial > 0 {
		deadline = time.Now().Add(c.limits.trial)
	}
	var group errgroup.Group
	group.SetLimit(c.limits.jobs)
	for _, forms := range t.settings() {
		for _, p := range programs {
			group.Go(func() error {
				for _, set := range forms {
					if err := c.linkOnce(ctx, t, set, p, s, deadline); err != nil {
						return err
					}
				}
				return nil
			})
		}
	}
	return group.Wait()
}

// linkOnce links a program in a setting, unless that is done or the time is over.
func (c *config) linkOnce(ctx context.Context, t *trial, set setting, p program, s *store, deadline time.Time) error {
	if s.isDone(p.Name, set.name(), t.modesOf(set.form), c.choice.again) {
		return nil
	}
	if !deadline.IsZero() && time.Now().After(deadline) {
		s.leave()
		return nil
	}
	result, err := t.program(ctx, set, p)
	if err != nil {
		return err
	}
	return s.add(result)
}
