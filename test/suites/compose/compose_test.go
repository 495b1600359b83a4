//go:build realtools

// Package compose compares files composed of units with those that ptxas makes of whole
// programs, byte for byte.
package compose

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/warpld/warpld/internal/compose"
	"github.com/warpld/warpld/internal/compose/units"
	"github.com/warpld/warpld/internal/object/cubin"
)

// A tally counts what became of programs.
type tally struct {
	mu      sync.Mutex
	kernels int
	equal   int
	refused map[string]int
	other   map[string]int // not composed, nor to be: ptxas fails on the whole too
}

func newTally() *tally { return &tally{refused: map[string]int{}, other: map[string]int{}} }

func (c *tally) refuse(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[reason]++
}

func (c *tally) skip(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.other[reason]++
}

// report prints the counts.
func (c *tally) report(t *testing.T, what string) {
	t.Helper()
	refused := 0
	for _, n := range c.refused {
		refused += n
	}
	fmt.Printf("%s: %d programs composed and equal (%d kernels), %d refused, %v\n", what, c.equal, c.kernels, refused,
		c.other)
	for _, reason := range slices.Sorted(maps.Keys(c.refused)) {
		fmt.Printf("\t%d refused: %s\n", c.refused[reason], reason)
	}
}

// check composes a program and compares the result with ptxas's.
func (a *assembler) check(t *testing.T, c *tally, text []byte, bundle int) {
	t.Helper()
	p, err := units.Cut(text, units.Settings{BundleSize: bundle})
	if err != nil {
		var r *units.Refused
		if !errors.As(err, &r) {
			t.Errorf("an error that is no refusal: %v", err)
			return
		}
		if r.Reason == units.NoKernels {
			c.skip("without kernels")
			return
		}
		c.refuse(string(r.Reason))
		return
	}
	whole, said := a.assemble(t, text)
	if whole == nil {
		c.skip("ptxas fails")
		return
	}
	if said != "" {
		c.skip("ptxas prints something")
		return
	}
	files := make([][]byte, len(p.Units))
	for i := range p.Units {
		file, said := a.assemble(t, p.Units[i].Text)
		if file == nil || said != "" {
			t.Errorf("ptxas takes the whole program, but of a unit it says: %s", said)
			c.refuse("ptxas fails on a unit")
			return
		}
		files[i] = file
	}
	a.compare(t, c, p, files, whole)
}

// compare composes files of units and compares the result with that of the whole.
func (a *assembler) compare(t *testing.T, c *tally, p *units.Program, files [][]byte, whole []byte) {
	t.Helper()
	file, err := compose.Compose(p, files)
	var r *compose.Refused
	switch {
	case errors.As(err, &r):
		c.refuse(string(r.Reason) + ": " + r.Name)
		if os.Getenv("WARPLD_TEST_COMPOSE_STRICT") != "" {
			t.Errorf("refused: %v", err)
		}
	case err != nil:
		t.Errorf("an error that is no refusal: %v", err)
	case !bytes.Equal(file, whole):
		t.Errorf("%s", difference(whole, file))
	default:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.equal++
		c.kernels += len(p.Kernels)
	}
}

// difference tells where a composed file is not ptxas's.
func difference(want, got []byte) string {
	a, errA := cubin.Parse(want)
	b, errB := cubin.Parse(got)
	var out strings.Builder
	if errA == nil && errB == nil {
		for i, d := range cubin.Compare(a, b, true) {
			if i == 12 {
				break
			}
			out.WriteString("\n" + d.String())
		}
	}
	at := 0
	for at < min(len(want), len(got)) && want[at] == got[at] {
		at++
	}
	fmt.Fprintf(&out, "\nfiles of %d and %d bytes differ from byte %#x on", len(want), len(got), at)
	return out.String()
}
