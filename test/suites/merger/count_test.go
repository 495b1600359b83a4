//go:build realtools

package merger

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/warpld/warpld/test/kit"
)

// counts holds how many links went how, by toolkit and target.
type counts struct {
	mu    sync.Mutex
	rows  map[string]map[string]int
	links kit.Tally
}

var counted = counts{rows: map[string]map[string]int{}}

func (c *counts) add(s setting, how string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	row := s.tk.Release() + " " + s.arch
	if c.rows[row] == nil {
		c.rows[row] = map[string]int{}
	}
	c.rows[row][how]++
	c.links.Add(s.tk, outcome(strings.TrimPrefix(how, relinked)))
}

// relinked begins what is counted of links with -r.
const relinked = "-r: "

// outcome is the tally's word for what is counted.
func outcome(how string) string {
	switch {
	case strings.HasPrefix(how, kit.LeftToNvlink):
		return kit.LeftToNvlink
	case strings.HasPrefix(how, "refused"):
		return kit.BothRefuse
	case how == kit.Different:
		return kit.Different
	}
	return kit.Equal
}

// table shows, for each toolkit and target, how many links went how.
func (c *counts) table() string {
	var b strings.Builder
	for _, row := range slices.Sorted(maps.Keys(c.rows)) {
		fmt.Fprintln(&b, row)
		for _, how := range slices.Sorted(maps.Keys(c.rows[row])) {
			fmt.Fprintf(&b, "%8d %s\n", c.rows[row][how], how)
		}
	}
	return b.String()
}
