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

	"github.com/warpld/warpld/test/kit"
)

// The forms of device code in objects.
const (
	compressed = "compressed" // LTO-IR as nvcc has it by default
	stored     = "stored"     // LTO-IR with -no-compress
	plain      = "plain"      // native code
)

// A trial links programs in all settings.
type trial struct {
	compiler *compiler
	nvlink   string // warpld under nvlink's name
	work     string // folder for all that is not kept
	keep     string // folder for inputs and outputs of links with problems, or empty
	toolkits []kit.Toolkit
	archs    []string
	forms    []string
	limit    time.Duration // of a link
	minimize time.Duration // of the search for the objects that are needed
	mu       sync.Mutex
	seeds    map[string][]byte // by toolkit: the cache's digests of tools
}

// An objectKind is how nvcc is called for one or two forms.
type objectKind struct {
	forms   []string
	options []string
}

// kinds returns how nvcc is called for a target. Compressed LTO-IR and native code are in
// the same objects if both are asked for.
func (t *trial) kinds(arch string) (list []objectKind) {
	number := strings.TrimPrefix(arch, "sm_")
	code := func(kinds string) []string {
		return []string{"-dc", "-gencode", "arch=compute_" + number + ",code=" + strings.ReplaceAll(kinds, "N", number)}
	}
	isPlain := slices.Contains(t.forms, plain)
	switch isCompressed := slices.Contains(t.forms, compressed); {
	case isCompressed && isPlain:
		list = append(list, objectKind{[]string{compressed, plain}, code("[lto_N,sm_N]")})
	case isCompressed:
		list = append(list, objectKind{[]string{compressed}, code("lto_N")})
	case isPlain:
		list = append(list, objectKind{[]string{plain}, code("sm_N")})
	}
	if slices.Contains(t.forms, stored) {
		list = append(list, objectKind{[]string{stored}, append(code("lto_N"), "-no-compress")})
	}
	return list
}

// program compiles and links a program in every setting.
func (t *trial) program(ctx context.Context, p program) (Program, error) {
	result := Program{Name: p.name, Files: len(p.units), Links: []Link{}}
	for _, tk := range t.toolkits {
		for _, arch := range t.archs {
			for _, kind := range t.kinds(arch) {
				if err := t.links(ctx, tk, arch, kind, p, &result); err != nil {
					return result, fmt.Errorf("%s: %w", p.name, err)
				}
			}
		}
	}
	return result, nil
}

// links compiles a program, and links it in the forms that its objects have.
func (t *trial) links(ctx context.Context, tk kit.Toolkit, arch string, kind objectKind, p program,
	result *Program) error {
	inputs, failed := t.compile(ctx, tk, p, kind.options)
	for i := range failed {
		failed[i].Setting = tk.Release() + " " + arch + " " + strings.Join(kind.forms, ", ")
	}
	result.NotCompiled = append(result.NotCompiled, failed...)
	for _, form := range kind.forms {
		if ctx.Err() != nil || len(inputs) == 0 {
			return ctx.Err()
		}
		l := &linking{trial: t, tk: tk, arch: arch, form: form, inputs: inputs}
		link, err := l.result(p.name)
		if err != nil {
			return err
		}
		result.Links = append(result.Links, link)
	}
	return ctx.Err()
}

// An input is an object with the name that links have for it.
type input struct{ name, path string }

// compile compiles all sources. What does not compile is not linked.
func (t *trial) compile(ctx context.Context, tk kit.Toolkit, p program, options []string) (
	inputs []input, failed []Failure) {
	objects, errs := make([]string, len(p.units)), make([]error, len(p.units))
	var group errgroup.Group
	group.SetLimit(cap(t.compiler.slots))
	for i, u := range p.units {
		group.Go(func() error {
			objects[i], errs[i] = t.compiler.object(ctx, tk, u, options)
			return nil
		})
	}
	group.Wait() // errors are in errs
	taken := map[string]int{}
	for i, u := range p.units {
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
