//go:build realtools

package modes

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/object/cubin"
	"github.com/warpld/warpld/test/kit"
)

// Outcomes, from the best to the worst.
const (
	sameBytes    = "same bytes"
	sameSections = "same sections" // but for .note.nv.tkinfo, which records a command line
	sameMessages = "same messages and exit code"
	different    = "different"
)

// A verdict is what the comparison of one command line came to.
type verdict struct {
	outcome     string
	improved    []string // IDs of the improvements that were seen
	differences []string
}

func (v verdict) String() string {
	if len(v.improved) == 0 {
		return v.outcome
	}
	text := "improvement: " + strings.Join(v.improved, ", ")
	if v.outcome == sameMessages {
		return text
	}
	return text + "; " + v.outcome
}

// judge compares what warpld made of a command line with what nvlink made of it,
// or would have made if it did not have the fault of a listed improvement.
func (s setting) judge(tb testing.TB, line string, want, got kit.Result) verdict {
	var said []string
	got.Stderr, said = withoutWarnings(want.Stderr, got.Stderr)
	v := compare(want, got)
	if v.outcome == different {
		for _, i := range improvements {
			if i.instead == nil || !i.applies(line, want) {
				continue
			}
			if other := i.instead(s, tb, line, want, got); other.outcome != different {
				v = other
				v.improved = []string{i.id}
				break
			} else {
				v.differences = append(v.differences, "with "+i.id+": "+strings.Join(other.differences, "\n"))
			}
		}
	}
	v.improved = append(v.improved, said...)
	return v
}

// output is what -o names.
const output = "linked"

// compare holds all that a link left behind against what it should be. A link
// that fails leaves no file but that of -time, though nvlink leaves others.
func compare(want, got kit.Result) verdict {
	v := verdict{outcome: sameMessages}
	wantFiles, gotFiles := map[string][]byte{}, maps.Clone(got.Files)
	if want.Exit == 0 {
		v.outcome, v.differences = compareOutput(want.Files[output], got.Files[output])
		wantFiles = maps.Clone(want.Files)
		delete(wantFiles, output)
		delete(gotFiles, output)
	} else if times, ok := want.Files["times.csv"]; ok {
		wantFiles["times.csv"] = times
	}
	want.Files, got.Files = nil, nil
	v.differences = append(v.differences, kit.Comparison{}.Differences(want, got)...)
	v.differences = append(v.differences, kit.Comparison{}.Differences(kit.Result{Files: wantFiles},
		kit.Result{Files: gotFiles})...)
	if len(v.differences) > 0 {
		v.outcome = different
	}
	return v
}

// compareOutput says how much of two outputs is the same.
func compareOutput(want, got []byte) (outcome string, differences []string) {
	if bytes.Equal(want, got) {
		return sameBytes, nil
	}
	a, errA := cubin.Parse(want)
	b, errB := cubin.Parse(got)
	if errA != nil || errB != nil {
		return different, []string{fmt.Sprintf("outputs of %d and %d bytes (%v, %v)", len(want), len(got), errA, errB)}
	}
	found := cubin.Compare(a, b, false)
	if len(found) == 0 {
		return sameSections, nil
	}
	for _, d := range found[:min(len(found), 8)] {
		differences = append(differences, d.String())
	}
	return different, append(differences, fmt.Sprintf("%d differences in the output", len(found)))
}

// withoutWarnings takes out of warpld's text the warnings that nvlink doesn't
// have, and gives the IDs of their improvements.
func withoutWarnings(nvlinks, text string) (rest string, ids []string) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		at := slices.IndexFunc(improvements,
			func(i improvement) bool { return i.warning != nil && i.warning.MatchString(line) })
		if at < 0 || strings.Contains(nvlinks, line) {
			b.WriteString(line)
		} else if id := improvements[at].id; !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return b.String(), ids
}
