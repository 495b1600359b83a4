package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/test/kit"
)

// The forms of device code in objects.
const (
	compressed = "compressed" // LTO-IR as nvcc has it by default
	stored     = "stored"     // LTO-IR with -no-compress
	plain      = "plain"      // native code
)

var allForms = []string{compressed, stored, plain}

// A trial links programs in all settings.
type trial struct {
	compiler *compiler
	nvcc     *kit.Toolkit // that makes LTO-IR for all releases, or nil if each has its own
	base     string       // target whose objects all others link where possible, or empty
	nvlink   string       // warpld under nvlink's name
	work     string       // folder for all that is not kept
	keep     string       // folder for inputs and outputs of links with problems, or empty
	toolkits []kit.Toolkit
	archs    []string
	forms    []string
	modes    []string
	limit    time.Duration // of a link
	minimize time.Duration // of the search for the objects that are needed
	mu       sync.Mutex
	seeds    map[string][]byte // by toolkit: the cache's digests of tools
}

// A setting is how a program is linked.
type setting struct {
	tk         kit.Toolkit
	arch, form string
}

func (s setting) name() string { return settingName(s.tk.Release(), s.arch, s.form) }

// settings returns those of each release and target, in the order in which they are tried.
func (t *trial) settings() (list [][]setting) {
	for _, tk := range t.toolkits {
		for _, arch := range t.archs {
			var forms []setting
			for _, form := range t.forms {
				forms = append(forms, setting{tk, arch, form})
			}
			list = append(list, forms)
		}
	}
	return list
}

// options returns how nvcc is called for a setting. Compressed LTO-IR and native code are in
// the same objects if both are asked for.
func (t *trial) options(s setting) []string {
	from, isBase := s.arch, t.serves(s)
	if isBase {
		from = t.base
	}
	number := strings.TrimPrefix(from, "sm_")
	code := "lto_" + number
	switch isBoth := slices.Contains(t.forms, compressed) && slices.Contains(t.forms, plain); {
	case s.form == stored:
	case isBase || (isBoth && t.base == ""):
		code = fmt.Sprintf("[lto_%s,sm_%s]", number, number)
	case s.form == plain:
		code = "sm_" + number
	}
	list := []string{"-dc", "-gencode", "arch=compute_" + number + ",code=" + code}
	if s.form == stored {
		list = append(list, "-no-compress")
	}
	return list
}

// serves reports whether the objects for the base target are linked in the setting. Native code
// is only for targets of its family.
func (t *trial) serves(s setting) bool {
	if t.base == "" || s.form != plain {
		return t.base != ""
	}
	base, _ := gpu.Parse(t.base)
	target, _ := gpu.Parse(s.arch)
	return base.MergesInto(target)
}

// program compiles and links a program in a setting.
func (t *trial) program(ctx context.Context, s setting, p program) (Entry, error) {
	e := Entry{Program: p.Name, Setting: s.name(), Files: len(p.Units)}
	nvcc := s.tk
	if t.nvcc != nil && s.form != plain { // nvlink may have rules for code of other releases
		nvcc = *t.nvcc
	}
	var inputs []input
	inputs, e.NotCompiled = t.compile(ctx, nvcc, p, t.options(s))
	if ctx.Err() != nil {
		return e, ctx.Err()
	}
	for i := range e.NotCompiled {
		e.NotCompiled[i].Setting = e.Setting
	}
	e.Time = time.Now().UTC().Truncate(time.Second)
	if len(inputs) == 0 {
		return e, nil
	}
	l := &linking{trial: t, tk: s.tk, arch: s.arch, form: s.form, inputs: inputs}
	link, err := l.result(p.Name)
	if err != nil {
		return e, fmt.Errorf("%s: %w", p.Name, err)
	}
	e.Link = &link
	return e, ctx.Err()
}

// An input is an object with the name that links have for it.
type input struct{ name, path string }

// compile compiles all sources. What does not compile is not linked.
func (t *trial) compile(ctx context.Context, tk kit.Toolkit, p program, options []string) (
	inputs []input, failed []Failure) {
	objects, errs := make([]string, len(p.Units)), make([]error, len(p.Units))
	var group errgroup.Group
	group.SetLimit(cap(t.compiler.slots))
	for i, u := range p.Units {
		group.Go(func() error {
			objects[i], errs[i] = t.compiler.object(ctx, tk, u, options)
			return nil
		})
	}
	group.Wait() // errors are in errs
	taken := map[string]int{}
	for i, u := range p.Units {
		if errs[i] != nil {
			failed = append(failed, Failure{Source: u.Source, Error: errs[i].Error()})
			continue
		}
		base := strings.TrimSuffix(filepath.Base(u.Source), filepath.Ext(u.Source))
		name := base + ".o"
		if n := taken[base]; n > 0 {
			name = fmt.Sprintf("%s-%d.o", base, n+1)
		}
		taken[base]++
		inputs = append(inputs, input{name, objects[i]})
	}
	return inputs, failed
}

// folder makes an empty folder with links to the inputs, which must exist: both linkers refuse
// a missing file, and that is no result.
func (t *trial) folder(inputs []input) (string, error) {
	dir, err := os.MkdirTemp(t.work, "link-")
	for _, in := range inputs {
		link := filepath.Join(dir, in.name)
		err = errors.Join(err, os.Symlink(in.path, link))
		_, missing := os.Stat(link)
		err = errors.Join(err, missing)
	}
	return dir, err
}

// newCache makes a cache that has nothing but the digests of the toolkit's programs, which
// take half a second, and only once for all links.
func (t *trial) newCache(tk kit.Toolkit) (string, error) {
	dir, err := os.MkdirTemp(t.work, "cache-")
	if err != nil {
		return "", err
	}
	t.mu.Lock()
	seed := t.seeds[tk.Root]
	t.mu.Unlock()
	if seed == nil {
		return dir, nil
	}
	return dir, os.WriteFile(filepath.Join(dir, digestsFile), seed, 0o644)
}

// digestsFile is where warpld's cache has digests of files by their times.
const digestsFile = "digests"

// learn keeps the digests of a cache for the next one.
func (t *trial) learn(tk kit.Toolkit, cache string) {
	data, err := os.ReadFile(filepath.Join(cache, digestsFile))
	if err != nil {
		return // it costs time only
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seeds[tk.Root] = data
}
