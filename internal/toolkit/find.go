package toolkit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/message"
)

// A Query is what the command line and the environment specify about the toolkit. The zero
// value of each field means that it is not given.
type Query struct {
	// CUDA is the directory of --warpld-cuda.
	CUDA string
	// NVVMPath is the value of nvlink's -nvvmpath.
	NVVMPath string
	// Origin is the path by which this program was started, argv[0]; a bare
	// name is looked up in PATH as the shell does.
	Origin string
	// Env is os.Getenv, except in tests.
	Env func(string) string
	// ForLink skips the parts that a link doesn't need.
	ForLink bool
	// System is put before the paths of places such as /usr/local. Only tests
	// need it.
	System string
}

// The names of the places, which messages show.
const (
	fromFlag     = "--warpld-cuda"
	fromNVVMPath = "-nvvmpath"
	fromShim     = "shim"
	fromBeside   = "beside warpld"
	fromPATH     = "nvcc in PATH"
	fromLocal    = "/usr/local"
	fromDebian   = "Debian"
	fromConda    = "CONDA_PREFIX"
	fromPip      = "pip"
)

// Find searches for the user's toolkit. It fails only if --warpld-cuda names a directory
// without one; a missing part is an error only for a caller that needs it.
func Find(q Query) (*Toolkit, error) {
	if q.Env == nil {
		q.Env = os.Getenv
	}
	s := search{q: q, t: &Toolkit{}, seen: map[string]bool{}, wanted: parts}
	if q.ForLink {
		s.wanted = linkParts
	}
	for _, look := range s.places() {
		look()
		if s.complete() {
			break
		}
	}
	if q.CUDA != "" && s.t.From != fromFlag {
		return nil, s.noToolkitIn(q.CUDA)
	}
	return s.t, nil
}

type search struct {
	q    Query
	t    *Toolkit
	seen map[string]bool
	// wanted are the parts that are sought.
	wanted []*part
	self   os.FileInfo // of the running program, nil if it is not known
	// pinned: -nvvmpath has the last word about libnvvm.
	pinned bool
}

// places are the places to look at, in order.
func (s *search) places() []func() {
	return []func(){
		func() { s.given(fromFlag, s.q.CUDA) },
		s.nvvmPath,
		s.origin,
		func() { s.given("CUDA_HOME", s.q.Env("CUDA_HOME")) },
		func() { s.given("CUDA_PATH", s.q.Env("CUDA_PATH")) },
		s.inPATH,
		s.local,
		s.debian,
		func() { s.given(fromConda, s.q.Env("CONDA_PREFIX")) },
		s.pip,
	}
}

// given looks at a directory that the user named.
func (s *search) given(place, dir string) {
	if dir == "" {
		s.note(place, "", "", "not set")
		return
	}
	s.root(place, dir)
}

// nvvmPath does as nvlink does for the library, by plain concatenation. The
// directory usually is <root>/nvvm, so the other parts are sought around it;
// conda links it into targets/<arch>, hence the resolved path comes first.
func (s *search) nvvmPath() {
	dir := s.q.NVVMPath
	if dir == "" {
		s.note(fromNVVMPath, "", "", "not set")
		return
	}
	if !s.t.NVVM.Found() {
		s.pinned = true
		path := dir + "/lib64/libnvvm.so"
		err := checkLibrary(path)
		s.note(fromNVVMPath, nvvmPart.name, path, reason(err))
		if err == nil {
			s.t.NVVM = File{resolve(path), fromNVVMPath}
		}
	}
	resolved, plain := filepath.Dir(resolve(dir)), filepath.Dir(absolute(dir))
	s.root(fromNVVMPath, resolved)
	if plain != resolved {
		s.root(fromNVVMPath, plain)
	}
}

// origin tries the parent of the directory of this program, if it is the root of a shim, or of
// a toolkit in which warpld is the nvlink or the ptxas. A warpld that is merely installed in /usr/bin does
// not determine the toolkit.
func (s *search) origin() {
	path := s.q.Origin
	if path != "" && !strings.Contains(path, "/") {
		path = s.lookPath(path)
	}
	if path == "" {
		s.note(fromBeside, "", "", "not known")
		return
	}
	if info, err := os.Stat(path); err == nil {
		s.self = info
	}
	switch dir := filepath.Dir(filepath.Dir(absolute(path))); {
	case isShim(dir):
		s.root(fromShim, dir)
	case filepath.Base(path) == "nvlink", filepath.Base(path) == "ptxas":
		s.root(fromBeside, dir)
	default:
		s.note(fromBeside, "", path, "not in a shim")
	}
}

func (s *search) lookPath(name string) string {
	for _, dir := range filepath.SplitList(s.q.Env("PATH")) {
		if path := filepath.Join(dir, name); checkTool(path) == nil {
			return path
		}
	}
	return ""
}

// inPATH looks around every nvcc in PATH. Links are resolved, which leads out
// of shims and of directories full of links; a compiler cache that poses as
// nvcc leads nowhere.
func (s *search) inPATH() {
	found := false
	for _, dir := range filepath.SplitList(s.q.Env("PATH")) {
		path := filepath.Join(dir, "nvcc")
		if checkTool(path) != nil {
			continue
		}
		found = true
		if resolved := resolve(path); filepath.Base(resolved) == "nvcc" {
			s.root(fromPATH, filepath.Dir(filepath.Dir(resolved)))
		} else {
			s.note(fromPATH, "", path, "a link to "+resolved)
		}
	}
	if !found {
		s.note(fromPATH, "", "", "none")
	}
}

// local looks at the installations of NVIDIA's packages, the newest first.
// /usr/local/cuda itself is a link to one of them, which the administrator
// chose; among equal versions it comes first.
func (s *search) local() {
	roots := glob(s.system("/usr/local"), "cuda*")
	versions := map[string]Version{}
	for _, r := range roots {
		versions[r] = versionOf(r)
	}
	slices.SortStableFunc(roots, func(a, b string) int { return versions[b].compare(versions[a]) })
	for _, r := range roots {
		s.root(fromLocal, r)
	}
	if len(roots) == 0 {
		s.note(fromLocal, "", s.system("/usr/local/cuda"), "not found")
	}
}

func (s *search) debian() {
	mark := s.system("/usr/lib/nvidia-cuda-toolkit")
	if _, err := os.Stat(mark); err != nil {
		s.note(fromDebian, "", mark, "not found")
		return
	}
	s.root(fromDebian, s.system("/usr"))
}

// pip looks at the nvidia/cu13 of the active environment, of the python in
// PATH and of the user. Only the file system is asked, not python.
func (s *search) pip() {
	prefixes := []string{s.q.Env("VIRTUAL_ENV"), s.q.Env("CONDA_PREFIX")}
	for _, name := range []string{"python3", "python"} {
		if path := s.lookPath(name); path != "" {
			prefixes = append(prefixes, filepath.Dir(filepath.Dir(path)), filepath.Dir(filepath.Dir(resolve(path))))
		}
	}
	if home := s.q.Env("HOME"); home != "" {
		prefixes = append(prefixes, filepath.Join(home, ".local"))
	}
	found := false
	for _, prefix := range prefixes {
		if prefix == "" {
			continue
		}
		roots := glob(prefix, "lib/python*/*-packages/nvidia/cu[0-9]*")
		slices.SortFunc(roots, func(a, b string) int { return compareNumbers(filepath.Base(b), filepath.Base(a)) })
		for _, r := range roots {
			found = true
			s.root(fromPip, r)
		}
	}
	if !found {
		s.note(fromPip, "", "", "no nvidia/cu* in any site-packages")
	}
}

// root looks for all parts that are still missing below one directory.
func (s *search) root(place, dir string) {
	dir, err := realRoot(dir)
	if err != nil {
		s.note(place, "", dir, reason(err))
		return
	}
	if s.seen[dir] {
		s.note(place, "", dir, "see above")
		return
	}
	s.seen[dir] = true

	found := map[*part]string{}
	first := len(s.t.trials)
	for _, p := range s.wanted {
		if p.slot(s.t).Found() {
			continue
		}
		if path := s.seek(place, dir, p); path != "" {
			found[p] = path
		}
	}
	if len(found) == 0 {
		return
	}
	v := versionOf(dir)
	switch {
	case s.t.Root == "" && !hasCore(found):
		s.refuse(first, "no compiler beside it")
		return
	case s.t.Root == "":
		s.t.Root, s.t.From, s.t.Version = dir, place, v
	case !s.t.Version.SameRelease(v):
		s.refuse(first, fmt.Sprintf("%v, but the toolkit in %s is %v", v, s.t.Root, s.t.Version))
		return
	}
	s.take(place, found)
}

// hasCore distinguishes a toolkit from a python environment that has libnvJitLink only because
// another package needs it.
func hasCore(found map[*part]string) bool {
	for _, p := range []*part{nvvmPart, ptxasPart, nvlinkPart, nvccPart} {
		if found[p] != "" {
			return true
		}
	}
	return false
}

// realRoot follows links, and the record of a shim to its toolkit. It also
// leads from Debian's private directory, which has a bin of its own, to the
// root that has the rest.
func realRoot(dir string) (string, error) {
	dir = absolute(dir)
	if isShim(dir) {
		record, err := ReadShim(dir)
		if err != nil {
			return dir, err
		}
		dir = record.Toolkit
	}
	if info, err := os.Stat(dir); err != nil {
		return dir, err
	} else if !info.IsDir() {
		return dir, fmt.Errorf("not a directory")
	}
	dir = resolve(dir)
	if up, ok := strings.CutSuffix(dir, "/lib/nvidia-cuda-toolkit"); ok {
		dir = up
	}
	return dir, nil
}

// seek returns the first path of the part below dir that passes its check.
func (s *search) seek(place, dir string, p *part) string {
	for _, path := range p.paths(dir) {
		why := reason(p.check(path))
		switch {
		case why != "":
		case s.isSelf(path):
			why = "this program"
		case p == nvvmPart && s.pinned:
			why = "passed over for -nvvmpath"
			if !s.t.passedOver.Found() {
				s.t.passedOver, s.t.passedOverRoot = File{path, place}, dir
			}
		}
		s.note(place, p.name, path, why)
		if why == "" {
			return path
		}
	}
	return ""
}

// isSelf keeps us from starting ourselves as the vendor's nvlink or ptxas.
func (s *search) isSelf(path string) bool {
	info, err := os.Stat(path)
	return err == nil && s.self != nil && os.SameFile(info, s.self)
}

func (s *search) take(place string, found map[*part]string) {
	for p, path := range found {
		f := File{path, place}
		if p == nvvmPart || p == jitLinkPart {
			f.Path = resolve(path)
		}
		*p.slot(s.t) = f
	}
}

// refuse marks what was found since the first trial as not taken.
func (s *search) refuse(first int, why string) {
	for i := range s.t.trials[first:] {
		if tr := &s.t.trials[first+i]; tr.why == "" {
			tr.why = why
		}
	}
}

func (s *search) complete() bool {
	for _, p := range s.wanted {
		if !p.slot(s.t).Found() && !(p == nvvmPart && s.pinned && s.t.passedOver.Found()) {
			return false
		}
	}
	return true
}

func (s *search) note(place, part, path, why string) {
	s.t.trials = append(s.t.trials, trial{place, part, path, why})
}

func (s *search) system(path string) string { return filepath.Join(s.q.System, path) }

func (s *search) noToolkitIn(dir string) error {
	m := &message.Message{
		Severity: message.Fatal,
		ID:       "toolkit-not-found",
		Text:     fmt.Sprintf("no CUDA toolkit in '%s'", dir),
		Hint:     "--warpld-cuda takes the directory that holds bin/nvcc, such as /usr/local/cuda",
	}
	for _, tr := range s.t.trials {
		if tr.place == fromFlag {
			m.Notes = append(m.Notes, tr.String())
		}
	}
	return m
}

// resolve follows links as far as they lead anywhere.
func resolve(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return absolute(resolved)
	}
	return absolute(path)
}

// absolute fails only without a working directory; then the path stays as it is.
func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}
