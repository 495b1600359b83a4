package kit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// What came of a link that was compared.
const (
	Equal        = "equal"
	Different    = "different"
	Improved     = "listed improvement"
	BothRefuse   = "refused by both"
	LeftToNvlink = "left to nvlink"
)

// A Tally counts links by release and by what came of them. test/tools/releases reads what it
// prints.
type Tally struct {
	mu     sync.Mutex
	counts map[string]map[string]int
}

// Add counts a link.
func (t *Tally) Add(tk Toolkit, outcome string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]map[string]int{}
	}
	if t.counts[tk.Version] == nil {
		t.counts[tk.Version] = map[string]int{}
	}
	t.counts[tk.Version][outcome]++
}

// Same counts a link that is equal or not.
func (t *Tally) Same(tk Toolkit, equal bool) {
	if equal {
		t.Add(tk, Equal)
	} else {
		t.Add(tk, Different)
	}
}

// TallyPrefix begins the lines of a tally.
const TallyPrefix = "links compared with nvlink "

// String returns a line for each release.
func (t *Tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, version := range slices.Sorted(maps.Keys(t.counts)) {
		var parts []string
		for _, outcome := range slices.Sorted(maps.Keys(t.counts[version])) {
			parts = append(parts, fmt.Sprintf("%d %s", t.counts[version][outcome], outcome))
		}
		fmt.Fprintf(&b, "%s%s: %s\n", TallyPrefix, version, strings.Join(parts, ", "))
	}
	return b.String()
}

// ReadTally reads a line that String returned.
func ReadTally(line string) (version string, counts map[string]int, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), TallyPrefix)
	version, list, found := strings.Cut(rest, ": ")
	if !ok || !found {
		return "", nil, false
	}
	counts = map[string]int{}
	for part := range strings.SplitSeq(list, ", ") {
		var n int
		if _, err := fmt.Sscan(part, &n); err != nil {
			return "", nil, false
		}
		_, outcome, _ := strings.Cut(part, " ")
		counts[outcome] = n
	}
	return version, counts, true
}
