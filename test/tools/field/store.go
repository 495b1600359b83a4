package main

import (
	"bufio"
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// An Entry is what is known of one program in one setting. It has a file of its own.
type Entry struct {
	Program     string    `json:"program"`
	Setting     string    `json:"setting"`
	Files       int       `json:"files"`
	Time        time.Time `json:"time"`
	NotCompiled []Failure `json:"not_compiled,omitempty"`
	Link        *Link     `json:"link,omitempty"` // nil if nothing was compiled
}

// About is what the page says of the trials that the results are from.
type About struct {
	// Sources are texts by the names of collections.
	Sources map[string]string `json:"sources,omitempty"`
	// Found are numbers of programs by the names of collections.
	Found    map[string]int `json:"found,omitempty"`
	Toolkits []string       `json:"toolkits"`
	Warpld   []string       `json:"warpld"`
	Machines []string       `json:"machines"`
	Commands []string       `json:"commands"`
}

const aboutName = "about.json"

// A store has the results, and writes each of them to a folder, if there is one.
type store struct {
	dir     string
	out     io.Writer
	mu      sync.Mutex
	about   About
	entries map[string]Entry // by file name
	left    int              // links that were not begun
}

// openStore reads what the folder has.
func openStore(dir string, out io.Writer) (*store, error) {
	s := &store{dir: dir, out: out, entries: map[string]Entry{}}
	if dir == "" {
		return s, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	if err := readJSON(filepath.Join(dir, aboutName), &s.about); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*"+entryEnding))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		var e Entry
		if err := readJSON(path, &e); err != nil {
			return nil, err
		}
		s.entries[filepath.Base(path)] = e
	}
	return s, nil
}

// entryEnding tells the files of entries from others.
const entryEnding = ".link.json"

// fileName is where the result of a program and setting is.
func fileName(program, setting string) string {
	return url.PathEscape(program) + "," + strings.ReplaceAll(setting, " ", ",") + entryEnding
}

// isDone reports whether a link need not be made: it was good in all these modes, or there was
// nothing to link.
func (s *store) isDone(program, setting string, modes []string, again bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.entries[fileName(program, setting)]
	switch {
	case !ok:
		return false
	case e.Link == nil:
		return !again
	}
	for _, mode := range modes {
		if _, ran := e.Link.CPU[mode]; !ran {
			return false
		}
	}
	return e.Link.isGood() && (len(e.NotCompiled) == 0 || !again)
}

// leave counts a link that was not begun.
func (s *store) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left++
}

// add keeps a result and prints it.
func (s *store) add(e Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := fileName(e.Program, e.Setting)
	s.entries[name] = e
	fmt.Fprintln(s.out, e.line())
	if s.dir == "" {
		return nil
	}
	return writeJSON(filepath.Join(s.dir, name), e)
}

// results are those of all entries, by the names of programs.
func (s *store) results() *Results {
	programs := map[string]*Program{}
	for _, name := range slices.Sorted(maps.Keys(s.entries)) {
		e := s.entries[name]
		p := programs[e.Program]
		if p == nil {
			p = &Program{Name: e.Program, Links: []Link{}}
			programs[e.Program] = p
		}
		p.Files = max(p.Files, e.Files)
		p.NotCompiled = append(p.NotCompiled, e.NotCompiled...)
		if e.Link != nil {
			p.Links = append(p.Links, *e.Link)
		}
	}
	r := &Results{About: s.about, Programs: []Program{}}
	for _, e := range s.entries {
		r.note(e.Time)
	}
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		r.Programs = append(r.Programs, *programs[name])
	}
	return r
}

// describe adds a trial to what is said of all.
func (s *store) describe(c *config, t *trial, found int) error {
	add := func(list *[]string, text string) {
		if text != "" && !slices.Contains(*list, text) {
			*list = append(*list, text)
		}
	}
	for _, tk := range t.toolkits {
		add(&s.about.Toolkits, tk.Version)
	}
	slices.Sort(s.about.Toolkits)
	add(&s.about.Warpld, cmp.Or(revision(c.warpld), c.commit))
	add(&s.about.Machines, machine())
	add(&s.about.Commands, c.command)
	if s.about.Sources == nil {
		s.about.Sources = map[string]string{}
	}
	if c.choice.source != "" {
		s.about.Sources[c.choice.collection] = c.choice.source
	}
	if s.about.Found == nil {
		s.about.Found = map[string]int{}
	}
	s.about.Found[c.choice.collection] = max(s.about.Found[c.choice.collection], found)
	if s.dir == "" {
		return nil
	}
	return writeJSON(filepath.Join(s.dir, aboutName), s.about)
}

// revision is the commit that a program was built from, or empty if it does not say so.
func revision(path string) string {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return ""
	}
	values := map[string]string{}
	for _, setting := range info.Settings {
		values[setting.Key] = setting.Value
	}
	commit := values["vcs.revision"]
	if values["vcs.modified"] == "true" {
		return commit[:min(12, len(commit))] + " with changes"
	}
	return commit[:min(12, len(commit))]
}

// machine says what the trial runs on.
func machine() string {
	model := runtime.GOARCH
	f, err := os.Open("/proc/cpuinfo")
	if err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%d cores, %s", runtime.NumCPU(), model)
}

func readJSON(path string, to any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// writeJSON writes a file that is whole at any time.
func writeJSON(path string, value any) error {
	data, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		return err
	}
	part := path + ".part"
	if err := os.WriteFile(part, append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(part, path)
}
