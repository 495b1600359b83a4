//go:build realtools

package modes

import (
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// A scenario is one command line of the comparison.
type scenario struct {
	group string
	line  string   // as the report shows it
	full  string   // all of it
	says  string   // what nvlink has to say, so that the scenario is what it claims to be
	archs []string // the targets to link for
	only  string   // the releases that have it, or empty for all
}

// in reports whether the scenario is one of a setting.
func (c scenario) in(s setting) bool {
	return slices.Contains(c.archs, s.arch) && (c.only == "" || c.has(s.tk.Release()))
}

// has reports whether a release is named.
func (c scenario) has(release string) bool { return slices.Contains(strings.Fields(c.only), release) }

// full says that every command line is run in every setting that it is for, as
// docs/comparison.md shows it.
func full() bool { return kit.Full() || os.Getenv("WARPLD_UPDATE_DOCS") == "1" }

// sampled reports whether a link is one of the reduced form: each command line is
// run in one setting, for sm_90 with the first release if it is for that, and
// one in sixteen of the other links is, too. Which ones depends on nothing else.
func (c scenario) sampled(s setting, first string) bool {
	arch := archs[1]
	if !slices.Contains(c.archs, arch) {
		arch = c.archs[sum(c.full)%uint32(len(c.archs))]
	}
	release := first
	if c.only != "" && !c.has(first) {
		release = c.only[strings.LastIndex(c.only, " ")+1:]
	}
	return (s.arch == arch && s.tk.Release() == release) || sum(c.full+s.String())%16 == 0
}

func sum(text string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(text))
	return h.Sum32()
}

// scenarios are all command lines in the order of the report.
func scenarios() []scenario {
	var list []scenario
	for _, g := range groups {
		for _, line := range g.lines() {
			list = append(list, scenario{group: g.name, line: line, full: standard(line), archs: g.targets()})
		}
	}
	for _, m := range messages {
		c := scenario{group: messageGroup, line: m.line, full: standard(m.line), says: m.text, archs: archs[:1], only: m.only}
		if rest, ok := strings.CutPrefix(m.line, "RAW "); ok {
			c.line, c.full = rest, rest
		}
		if m.arch != "" {
			c.archs = []string{m.arch}
		}
		list = append(list, c)
	}
	return list
}

// results holds the verdicts as they come in.
type results struct {
	mu       sync.Mutex
	verdicts map[string]map[string]verdict // by scenario.full and setting
}

func (r *results) add(c scenario, s setting, v verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.verdicts[c.full] == nil {
		r.verdicts[c.full] = map[string]verdict{}
	}
	r.verdicts[c.full][s.String()] = v
	if len(v.improved) > 0 && v.outcome != different {
		links.Add(s.tk, kit.Improved)
	} else {
		links.Same(s.tk, v.outcome != different)
	}
}

// TestComparison runs every command line with both linkers, in every setting.
func TestComparison(t *testing.T) {
	found := &results{verdicts: map[string]map[string]verdict{}}
	all, list := settings(t), scenarios()
	for _, s := range all {
		t.Run(strings.ReplaceAll(s.String(), " ", "/"), func(t *testing.T) {
			for _, c := range list {
				if !c.in(s) || (!full() && !c.sampled(s, all[0].tk.Release())) {
					continue
				}
				t.Run(c.line, func(t *testing.T) {
					t.Parallel()
					found.add(c, s, s.compare(t, c))
				})
			}
		})
	}
	report(t, all, list, found)
}

// compare runs a scenario with both linkers. A difference that is no improvement
// is an error.
func (s setting) compare(t *testing.T, c scenario) verdict {
	t.Helper()
	job := s.job(t, c.full)
	want := s.reference(t, job)
	if !strings.Contains(want.Stderr+want.Stdout, c.says) {
		t.Errorf("nvlink %s\ndoes not say %q but\n%s", strings.Join(job.Args, " "), c.says, want.Stderr)
	}
	v := s.judge(t, c.full, want, s.warpld(t, job, ""))
	for retry := 1; retry < retries && v.outcome == different && slices.ContainsFunc(job.Args, splits); retry++ {
		t.Logf("once more, because threads can get in each other's way: %s", strings.Join(v.differences, "\n"))
		job = s.job(t, c.full)
		v = s.judge(t, c.full, s.reference(t, job), s.warpld(t, job, ""))
	}
	if v.outcome == different {
		t.Errorf("nvlink %s\n%s", strings.Join(job.Args, " "), strings.Join(v.differences, "\n"))
	}
	return v
}
