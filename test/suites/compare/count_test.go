//go:build realtools

package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/warpld/warpld/test/kit"
)

// counts holds how many links were compared in each corner of the matrix.
type counts struct {
	mu   sync.Mutex
	rows map[string]map[string]*count // engine and toolkit, then target
}

type count struct{ links, same int }

var counted = counts{rows: map[string]map[string]*count{}}

func (c *counts) add(s setting, merges, same bool) {
	row := fmt.Sprintf("%-8s %s", s.tk.Version, s.form.engine)
	if merges {
		row += ", merged"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows[row] == nil {
		c.rows[row] = map[string]*count{}
	}
	if c.rows[row][s.arch] == nil {
		c.rows[row][s.arch] = &count{}
	}
	c.rows[row][s.arch].links++
	if same {
		c.rows[row][s.arch].same++
	}
}

// table shows, for each corner, how many of the links were the same.
func (c *counts) table() string {
	if len(c.rows) == 0 {
		return ""
	}
	columns := slices.Concat(kit.Archs, otherTargets)
	var b strings.Builder
	fmt.Fprintf(&b, "%-24s", "same as nvlink")
	for _, arch := range columns {
		fmt.Fprintf(&b, "%10s", arch)
	}
	b.WriteByte('\n')
	for _, row := range slices.Sorted(maps.Keys(c.rows)) {
		fmt.Fprintf(&b, "%-24s", row)
		for _, arch := range columns {
			cell := "-"
			if n := c.rows[row][arch]; n != nil {
				cell = fmt.Sprintf("%d/%d", n.same, n.links)
			}
			fmt.Fprintf(&b, "%10s", cell)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
