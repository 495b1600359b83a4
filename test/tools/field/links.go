package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/internal/record"
	"github.com/warpld/warpld/test/kit"
)

// What is linked with, beside nvlink. A problem begins with the name of its mode.
const (
	exact  = "exact"
	cached = "cached" // exact again, with the cache that the first one has filled
	fast   = "fast"
)

const outputName = "linked.cubin"

// A linking is one program in one setting.
type linking struct {
	trial  *trial
	tk     kit.Toolkit
	arch   string
	form   string
	inputs []input
}

var allModes = []string{exact, cached, fast}

// modesOf returns those of the trial that the form has. The others are compared with exact mode.
func (t *trial) modesOf(form string) (list []string) {
	for _, mode := range allModes {
		if mode == exact || (slices.Contains(t.modes, mode) && (mode != fast || form != plain)) {
			list = append(list, mode)
		}
	}
	return list
}

// result links both ways in all modes, and searches for the objects that the first problem
// needs.
func (l *linking) result(name string) (Link, error) {
	link, runs, err := l.compare(l.inputs, l.trial.modesOf(l.form))
	if err != nil || link.isGood() || link.Outcome == Unknown {
		return link, err
	}
	mode, _, _ := strings.Cut(link.Problems[0], ": ")
	modes := []string{exact}
	if mode != exact {
		modes = append(modes, mode)
	}
	deadline := time.Now().Add(l.trial.minimize)
	link.Minimized = minimize(names(l.inputs), func(some []string) bool {
		if time.Now().After(deadline) {
			return false
		}
		less, lessRuns, err := l.compare(l.chosen(some), modes)
		found := err == nil && slices.ContainsFunc(less.Problems, func(p string) bool {
			return strings.HasPrefix(p, mode+": ")
		})
		if found {
			runs = lessRuns
		}
		return found
	})
	return link, l.keep(name, link.Minimized, mode, runs)
}

func names(inputs []input) (list []string) {
	for _, in := range inputs {
		list = append(list, in.name)
	}
	return list
}

// chosen returns the inputs of these names.
func (l *linking) chosen(some []string) []input {
	return slices.DeleteFunc(slices.Clone(l.inputs), func(in input) bool { return !slices.Contains(some, in.name) })
}

// keep writes inputs, command line and outputs of a link with a problem.
func (l *linking) keep(program string, some []string, mode string, runs map[string]kit.Result) error {
	if l.trial.keep == "" {
		return nil
	}
	program = strings.ReplaceAll(program, "/", "-")
	dir := filepath.Join(l.trial.keep, fmt.Sprintf("%s-%s-%s-%s", program, l.tk.Release(), l.arch, l.form))
	err := os.MkdirAll(dir, 0o755)
	for _, in := range l.chosen(some) {
		data, readErr := os.ReadFile(in.path)
		err = errors.Join(err, readErr, os.WriteFile(filepath.Join(dir, in.name), data, 0o644))
	}
	line := "nvlink " + strings.Join(l.arguments(l.chosen(some)), " ") + "\n" + l.flags(mode, "record.json") + "\n"
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, "command"), []byte(line), 0o644))
	for _, by := range []string{"nvlink", mode} {
		if data, ok := runs[by].Files[outputName]; ok {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, by+".cubin"), data, 0o644))
		}
	}
	return err
}

// arguments are those that nvcc gives to nvlink.
func (l *linking) arguments(inputs []input) []string {
	args := []string{"-m64", "-arch=" + l.arch, "-cpu-arch=X86_64", "--register-link-binaries=register.c",
		"-L" + l.tk.Lib()}
	if l.form != plain {
		args = append(args, "-dlto", "-nvvmpath="+l.tk.NVVM())
	}
	return append(append(args, names(inputs)...), "-lcudadevrt", "-o", outputName)
}

// flags are warpld's own options for a mode.
func (l *linking) flags(mode, record string) string {
	how := exact
	if mode == fast {
		how = fast
	}
	return fmt.Sprintf("--warpld-cuda=%s --warpld-mode=%s --warpld-exact-bytes --warpld-record=%s", l.tk.Root, how, record)
}

// A session is one folder of inputs and one cache, in which linkers run one after the other.
type session struct {
	linking *linking
	job     kit.Job
	cache   string
	runs    map[string]kit.Result
	link    Link
}

// compare links some inputs with nvlink and in the modes.
func (l *linking) compare(inputs []input, modes []string) (Link, map[string]kit.Result, error) {
	dir, err := l.trial.folder(inputs)
	if err != nil {
		return Link{}, nil, err
	}
	defer os.RemoveAll(dir)
	cache, err := l.trial.newCache(l.tk)
	if err != nil {
		return Link{}, nil, err
	}
	defer os.RemoveAll(cache)
	l.trial.compiler.slots <- struct{}{}
	defer func() { <-l.trial.compiler.slots }()
	s := &session{linking: l, job: kit.Job{Dir: dir, Args: l.arguments(inputs)}, cache: cache,
		runs: map[string]kit.Result{},
		link: Link{Toolkit: l.tk.Release(), Arch: l.arch, Form: l.form, Objects: names(inputs), CPU: map[string]float64{}}}
	err = s.run(modes)
	return s.link, s.runs, err
}

// run runs the linkers and judges.
func (s *session) run(modes []string) error {
	nvlink := s.linking.tk.Nvlink()
	nvlink.Limit = s.linking.trial.limit
	want, err := nvlink.Run(s.job)
	if err != nil || want.Exit > 128 {
		s.link.Outcome = Unknown
		s.problem("nvlink", notRun+describe(err, want))
		return nil
	}
	s.runs["nvlink"], s.link.CPU["nvlink"] = want, want.CPU
	s.link.Exit, s.link.Stderr = want.Exit, want.Stderr
	kernels, err := kernelsOf(want)
	if err != nil {
		return err
	}
	s.link.Kernels = len(kernels)
	var exactRecord *record.Record
	for _, mode := range modes {
		got, r, err := s.warpld(mode, "")
		if err != nil {
			s.problem(mode, notRun+err.Error())
			s.link.Outcome = Different
			continue
		}
		s.runs[mode], s.link.CPU[mode] = got, got.CPU
		switch mode {
		case exact:
			exactRecord = r
			err = s.judgeExact(want, got, r)
		case cached:
			s.problems(mode, kit.Differences(s.runs[exact], got))
		case fast:
			err = s.judgeFast(want, got, r, runtimeKernels(exactRecord))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// describe returns why a run of nvlink cannot be compared.
func describe(err error, got kit.Result) string {
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("exit code %d", got.Exit)
}

func (s *session) problem(mode, text string) { s.problems(mode, []string{text}) }

func (s *session) problems(mode string, texts []string) {
	for _, text := range texts {
		s.link.Problems = append(s.link.Problems, mode+": "+text)
	}
}

// warpld links in a mode. The record is nil if there is none, as of links that end early.
// Fast mode has a cache of its own, because it may take over steps of exact mode.
func (s *session) warpld(mode, more string) (kit.Result, *record.Record, error) {
	cache := s.cache
	if mode == fast {
		var err error
		if cache, err = s.linking.trial.newCache(s.linking.tk); err != nil {
			return kit.Result{}, nil, err
		}
		defer os.RemoveAll(cache)
	}
	path := cache + ".record"
	defer os.Remove(path)
	linker := kit.Linker{Exe: s.linking.trial.nvlink, Limit: s.linking.trial.limit,
		Env: []string{"WARPLD_FLAGS=" + s.linking.flags(mode, path) + more, "WARPLD_CACHE_DIR=" + cache}}
	got, err := linker.Run(s.job)
	if err != nil {
		return got, nil, err
	}
	s.linking.trial.learn(s.linking.tk, cache)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return got, nil, nil
	}
	if err != nil {
		return got, nil, err
	}
	defer f.Close()
	r, err := record.Read(f)
	return got, r, err
}

// judgeExact compares everything with nvlink's.
func (s *session) judgeExact(want, got kit.Result, r *record.Record) error {
	merger, err := s.merger(r)
	if err != nil {
		return err
	}
	s.link.Merger = merger
	differences := kit.Differences(want, got)
	isVendor := strings.HasPrefix(merger, byNvlink)
	switch {
	case len(differences) == 0 && want.Exit != 0:
		s.link.Outcome = Refused
	case len(differences) == 0:
		s.link.Outcome = Equal
	case isVendor && len(kit.Comparison{Merged: true}.Differences(want, got)) == 0:
		s.link.Outcome = Notes
	default:
		s.link.Outcome = Different
		s.problems(exact, differences)
	}
	return nil
}

// The texts in which a record and its messages have the reasons.
const (
	vendorMerges = "the toolkit's nvlink merges: "
	notSliced    = "linked without slices: "
)

// merger returns who merged. The reason why nvlink did is in the messages of a verbose link,
// which the cache answers.
func (s *session) merger(r *record.Record) (string, error) {
	if r == nil || r.Exit != 0 {
		return "", nil
	}
	merges := slices.DeleteFunc(slices.Clone(r.Actions), func(a record.Action) bool { return a.Label != "merge" })
	if len(merges) == 0 {
		return noMerge, nil
	}
	if last := merges[len(merges)-1]; len(last.Arguments) > 0 && last.Arguments[0] == "worker" {
		return byWarpld, nil
	}
	_, verbose, err := s.warpld(exact, " --warpld-verbose")
	if err != nil || verbose == nil {
		return byNvlink + "no reason was recorded", err
	}
	return byNvlink + textAfter(verbose, vendorMerges, "it is the default for this target"), nil
}

// textAfter returns what follows a prefix in the first message that has it.
func textAfter(r *record.Record, prefix, otherwise string) string {
	for _, m := range r.Messages {
		if rest, ok := strings.CutPrefix(m.Text, prefix); ok {
			return rest
		}
	}
	return otherwise
}

// judgeFast wants nvlink's exit code and every kernel. A link that was not cut has the bytes
// of the exact one. Kernels of the device runtime that nothing uses may be gone.
func (s *session) judgeFast(want, got kit.Result, r *record.Record, optional []string) error {
	if got.Exit != want.Exit {
		s.problem(fast, fmt.Sprintf("exit code %d, want %d\n%s", got.Exit, want.Exit, got.Stderr))
		return nil
	}
	if got.Exit != 0 || r == nil {
		return nil
	}
	s.link.Fast = textAfter(r, notSliced, inSlices)
	if s.link.Fast != inSlices {
		got.Stderr = s.runs[exact].Stderr // it differs by the reason
		s.problems(fast, kit.Differences(s.runs[exact], got))
		return nil
	}
	wanted, err := kernelsOf(want)
	if err != nil {
		return err
	}
	found, err := kernelsOf(got)
	for _, name := range wanted {
		if !slices.Contains(found, name) && !slices.Contains(optional, name) {
			s.problem(fast, "no kernel "+name)
		}
	}
	for _, name := range found {
		if !slices.Contains(wanted, name) {
			s.problem(fast, "an additional kernel "+name)
		}
	}
	return err
}

// runtimeKernels returns the kernels that only the device runtime defines.
func runtimeKernels(r *record.Record) (list []string) {
	if r == nil {
		return nil
	}
	for _, y := range r.Symbols {
		others := slices.ContainsFunc(y.Inputs, func(name string) bool { return !strings.Contains(name, "libcudadevrt") })
		if y.Kind == record.KindKernel && !others {
			list = append(list, y.Name)
		}
	}
	return list
}

func kernelsOf(r kit.Result) ([]string, error) {
	data, ok := r.Files[outputName]
	if r.Exit != 0 || !ok {
		return nil, nil
	}
	file, err := cubin.Parse(data)
	if err != nil {
		return nil, err
	}
	return file.Kernels()
}
