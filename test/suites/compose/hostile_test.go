//go:build realtools

package compose

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/warpld/warpld/internal/compose"
	"github.com/warpld/warpld/internal/compose/units"
	"github.com/warpld/warpld/test/kit"
)

// TestDamagedUnits composes files of units with some bytes changed. The composer must refuse them or
// compose them as they are, within a short time. WARPLD_TEST_COMPOSE_HOSTILE is how many.
func TestDamagedUnits(t *testing.T) {
	const limit = 10 * time.Second
	count, seed := kit.Number(t, "WARPLD_TEST_COMPOSE_HOSTILE", 900), kit.Number(t, "WARPLD_TEST_SEED", 1)
	random := rand.New(rand.NewPCG(uint64(seed), 3))
	toolkits := kit.Toolkits(t)
	refused, composed := 0, 0
	for _, arch := range []string{"sm_80", "sm_90", "sm_100"} {
		a := &assembler{toolkit: toolkits[len(toolkits)-1], arch: arch}
		for _, p := range handWritten(t) {
			cut, err := units.Cut(p.text, units.Settings{})
			if err != nil || (p.name != "externs" && p.name != "lines" && p.name != "tables") {
				continue
			}
			files := make([][]byte, len(cut.Units))
			for i := range cut.Units {
				files[i], _ = a.assemble(t, cut.Units[i].Text)
			}
			for range count / 9 {
				damaged := damage(random, files)
				start := time.Now()
				_, err := compose.Compose(cut, damaged)
				var r *compose.Refused
				if err != nil && !errors.As(err, &r) {
					t.Fatalf("an error that is no refusal: %v", err)
				}
				if time.Since(start) > limit {
					t.Fatalf("%s: it took %s", p.name, time.Since(start))
				}
				if err != nil {
					refused++
				} else {
					composed++
				}
			}
		}
	}
	t.Logf("%d damaged programs refused, %d composed as they are", refused, composed)
	if refused == 0 || composed == 0 {
		t.Error("damage is never noticed, or always")
	}
}

// damage changes a file: some bytes, its end, or a part copied to another place.
func damage(random *rand.Rand, files [][]byte) [][]byte {
	files = append([][]byte(nil), files...)
	i := random.IntN(len(files))
	b := bytes.Clone(files[i])
	switch random.IntN(8) {
	case 0:
		b = b[:random.IntN(len(b))]
	case 1:
		at, size := random.IntN(len(b)), 1+random.IntN(64)
		copy(b[random.IntN(len(b)):], b[at:min(len(b), at+size)])
	default:
		for range 1 + random.IntN(4) {
			b[random.IntN(len(b))] = [...]byte{0, 1, 0x7f, 0x80, 0xff, byte(random.IntN(256))}[random.IntN(6)]
		}
	}
	files[i] = b
	return files
}

// TestChangedText composes programs whose PTX was changed by a word. If ptxas takes the whole and all
// units, the composed file is that of the whole.
func TestChangedText(t *testing.T) {
	count, seed := kit.Number(t, "WARPLD_TEST_COMPOSE_CHANGES", 20), kit.Number(t, "WARPLD_TEST_SEED", 1)
	random := rand.New(rand.NewPCG(uint64(seed), 4))
	toolkits, total, programs := kit.Toolkits(t), newTally(), handWritten(t)
	for range count {
		p := programs[random.IntN(len(programs))]
		a := &assembler{toolkit: toolkits[random.IntN(len(toolkits))], arch: archs[random.IntN(len(archs))]}
		a.checkChanged(t, total, changeText(random, p.textFor(a.arch)))
	}
	total.report(t, "changed programs")
	if total.equal == 0 {
		t.Error("nothing was composed")
	}
}

// checkChanged is check for a text whose units ptxas may refuse too.
func (a *assembler) checkChanged(t *testing.T, c *tally, text []byte) {
	t.Helper()
	cut, err := units.Cut(text, units.Settings{})
	if err != nil {
		c.refuse("it is not cut")
		return
	}
	whole, said := a.assemble(t, text)
	if whole == nil || said != "" {
		c.skip("ptxas fails")
		return
	}
	files := make([][]byte, len(cut.Units))
	for i := range cut.Units {
		if files[i], said = a.assemble(t, cut.Units[i].Text); files[i] == nil || said != "" {
			c.skip("ptxas fails on a unit")
			return
		}
	}
	a.compare(t, c, cut, files, whole)
}

// changeText changes a text: a digit of a number, or a word, which is removed, doubled or replaced by
// another word of the text.
func changeText(random *rand.Rand, text []byte) []byte {
	if random.IntN(4) > 0 {
		changed := bytes.Clone(text)
		for at := random.IntN(len(text)); at < len(text); at++ {
			if c := text[at]; c >= '0' && c <= '9' {
				changed[at] = byte('0' + random.IntN(10))
				return changed
			}
		}
	}
	words := bytes.Fields(text)
	word := words[random.IntN(len(words))]
	with := words[random.IntN(len(words))]
	switch random.IntN(4) {
	case 0:
		with = nil
	case 1:
		with = append(append(bytes.Clone(word), ' '), word...)
	}
	at := bytes.Index(text, word)
	return append(append(bytes.Clone(text[:at]), with...), text[at+len(word):]...)
}
