package main

import (
	"strings"
	"testing"
	"time"

	"github.com/warpld/warpld/test/kit"
)

// TestPage: what suites print ends in the row of the release, whatever else they print.
func TestPage(t *testing.T) {
	var links kit.Tally
	for range 3 {
		links.Same(kit.Toolkit{Version: "13.2.86"}, true)
	}
	links.Same(kit.Toolkit{Version: "13.2.86"}, false)
	links.Add(kit.Toolkit{Version: "13.2.86"}, kit.LeftToNvlink)
	links.Same(kit.Toolkit{Version: "13.3.73"}, true)
	output := "=== RUN   TestX\n" + links.String() + "ok  \tpackage\t1s\n"
	r := row{version: "13.2.86", suite: "merger", counts: counts(output, "13.2.86")}
	if got, want := r.String(), "| 13.2.86 | `merger` | 5 | 3 | 0 | 0 | 1 | 1 |\n"; got != want {
		t.Errorf("the row is %q, not %q", got, want)
	}
	if len(counts(output, "13.1.115")) != 0 {
		t.Error("a release that did not run has counts")
	}
	text := document([]row{r}, time.Date(2026, 11, 15, 0, 0, 0, 0, time.UTC), "run 13.2")
	if !strings.HasSuffix(text, r.String()) || !strings.Contains(text, "Written on 2026-11-15 by\n\n```text\nrun 13.2\n") {
		t.Errorf("the page is\n%s", text)
	}
	if got := failures("=== RUN   a\n    --- PASS: a\n--- FAIL: b\nwhy\n"); got != "--- FAIL: b\nwhy\n" {
		t.Errorf("failures are %q", got)
	}
}
