package cache

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/warpld/warpld/internal/action"
)

// A Manifest lists what an action depended on, to explain why it was run.
type Manifest struct {
	Label   string
	Key     string
	Hit     bool
	When    time.Time
	Wall    time.Duration // of the run that made the result
	Tool    Part
	Args    []string
	Env     []string
	Inputs  []Part
	Changed string // what differs from the previous link, or empty if nothing does or there was none
}

// A Part is an input by the name that people know it by.
type Part struct {
	Name   string
	Digest string
}

// Follow makes the cache record what the link of an output depended on.
func (c *Cache) Follow(output string) { c.output = output }

// remember adds an action to the trail.
func (c *Cache) remember(a *action.Action, key action.Digest, digests map[string]action.Digest, hit bool,
	wall time.Duration) {
	if c.output == "" {
		return
	}
	part := func(f action.File) Part { return Part{cmp.Or(f.Origin, f.Name), digests[f.Name].Hash} }
	m := Manifest{Label: a.Label, Key: key.Hash, Hit: hit, When: time.Now(), Wall: wall, Args: a.Args, Env: a.Env,
		Tool: part(a.Tool)}
	for _, f := range a.Inputs {
		m.Inputs = append(m.Inputs, part(f))
	}
	c.trailMu.Lock()
	defer c.trailMu.Unlock()
	c.trail = append(c.trail, m)
}

// saveTrail compares the trail with the previous one and overwrites that.
func (c *Cache) saveTrail() error {
	if c.output == "" || len(c.trail) == 0 {
		return nil
	}
	path, err := c.trailPath(c.output)
	if err != nil {
		return err
	}
	before, _ := readTrail(path) // none, or one that can't be read: nothing to compare with
	slices.SortFunc(c.trail, func(a, b Manifest) int { return strings.Compare(a.Label+a.Key, b.Label+b.Key) })
	for i := range c.trail {
		if m := &c.trail[i]; !m.Hit {
			m.Changed = difference(before, m)
		}
	}
	text, err := json.MarshalIndent(c.trail, "", "\t")
	if err != nil {
		return err
	}
	return c.write(path, text)
}

func (c *Cache) trailPath(output string) (string, error) {
	absolute, err := filepath.Abs(output)
	return filepath.Join(c.dir, "last", action.DigestOf([]byte(absolute)).Hash), err
}

func readTrail(path string) (list []Manifest, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	return list, err
}

// Why returns the actions of the last link of an output: whether each was run, and if so, what
// had changed.
func (c *Cache) Why(output string) ([]Manifest, error) {
	path, err := c.trailPath(output)
	if err != nil {
		return nil, err
	}
	return readTrail(path)
}

// difference names the first thing in which an action differs from its like in the
// link before: of several with its label, the one that shares most inputs.
func difference(before []Manifest, m *Manifest) string {
	var like *Manifest
	most := -1
	for i := range before {
		if b := &before[i]; b.Label == m.Label && b.common(m) > most {
			like, most = b, b.common(m)
		}
	}
	switch {
	case like == nil:
		return ""
	case like.Key == m.Key:
		return "its result was not kept"
	case like.Tool.Digest != m.Tool.Digest:
		return "the tool " + m.Tool.Name
	case !slices.Equal(like.Args, m.Args):
		return "the arguments: " + strings.Join(m.Args, " ")
	case !slices.Equal(like.Env, m.Env):
		return "the environment"
	case len(like.Inputs) != len(m.Inputs):
		return fmt.Sprintf("the number of inputs, %d after %d", len(m.Inputs), len(like.Inputs))
	}
	for i, in := range m.Inputs {
		if old := like.Inputs[i]; old.Digest != in.Digest {
			return in.Name
		}
	}
	return "the time limit or the names of inputs"
}

func (m *Manifest) common(other *Manifest) int {
	known := map[string]bool{}
	for _, in := range m.Inputs {
		known[in.Digest] = true
	}
	n := 0
	for _, in := range other.Inputs {
		if known[in.Digest] {
			n++
		}
	}
	return n
}
