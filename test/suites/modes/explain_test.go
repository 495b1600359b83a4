//go:build realtools

package modes

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/record"
)

const (
	explainFile = "testdata/explain.txt"
	recordFile  = "record.json"
)

// What warpld explain says of each set of inputs of the comparison: the mode, and the
// object and the rule that led to it, or the message that the link ended with.
// WARPLD_UPDATE_DOCS=1 writes the texts anew.
func TestExplain(t *testing.T) {
	var all strings.Builder
	for _, g := range groups {
		s := settings(t)[max(0, slices.Index(archs, g.targets()[0]))]
		for _, inputs := range g.inputs {
			line := inputs
			if len(g.options) > 0 {
				line = strings.Join(strings.Fields(inputs+" "+g.options[0]), " ")
			}
			t.Run(g.name+"/"+line, func(t *testing.T) {
				fmt.Fprintf(&all, "== %s: %s\n%s\n", g.name, line, s.explained(t, line))
			})
		}
	}
	if os.Getenv("WARPLD_UPDATE_DOCS") != "" {
		if err := os.WriteFile(explainFile, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(explainFile)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(want), "toolkit "+settings(t)[0].tk.Version+",") {
		return // the texts are about the first release that CI links with
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(all.String(), "\n")); diff != "" {
		t.Errorf("%s (-want +got; WARPLD_UPDATE_DOCS=1 accepts it):\n%s", explainFile, diff)
	}
}

// explained is the explanation of a link, without what differs from run to run.
func (s setting) explained(t *testing.T, line string) string {
	t.Helper()
	job := s.job(t, standard(line))
	got := s.warpld(t, job, "--warpld-record="+recordFile)
	r, err := record.Read(bytes.NewReader(got.Files[recordFile]))
	if err != nil {
		return "no record\n"
	}
	r.Wall = 0
	for i := range r.Actions {
		a := &r.Actions[i]
		a.Wall, a.CPU, a.Memory, a.Source = 0, 0, 0, "ran"
	}
	slices.SortStableFunc(r.Actions, func(a, b record.Action) int { return strings.Compare(a.Label, b.Label) })
	if r.Mode != "" {
		s.checkReasons(t, r)
	}
	var text strings.Builder
	r.Explain(&text)
	explained := strings.NewReplacer(s.tk.Root, "CUDA", filepath.Dir(filepath.Dir(job.Dir)), "DIR").Replace(text.String())
	return outputSize.ReplaceAllString(explained, "linked, N bytes")
}

// outputSize matches the size of a result. The note of one that was merged has the command
// line, and so the path of the toolkit; suite compare compares the bytes.
var outputSize = regexp.MustCompile(`linked, \d+ bytes`)

// checkReasons: a link that is partial because of an input names the input.
func (s setting) checkReasons(t *testing.T, r *record.Record) {
	t.Helper()
	if len(r.Reasons) == 0 {
		t.Errorf("nothing says why the link is %s", r.Mode)
	}
	for _, reason := range r.Reasons {
		if named := slices.ContainsFunc(r.Inputs,
			func(in record.Input) bool { return in.Name == reason.Input }); reason.Input != "" && !named {
			t.Errorf("%q is about %q, which is no input", reason.Rule, reason.Input)
		}
		if reason.Rule == "native code takes part" && reason.Input == "" {
			t.Error("nothing says which native code takes part")
		}
	}
}
