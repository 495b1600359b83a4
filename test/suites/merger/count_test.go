//go:build realtools

package merger

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// counts holds how many links went how, by toolkit and target.
type counts struct {
	mu   sync.Mutex
	rows map[string]map[string]int
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
