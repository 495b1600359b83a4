package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/record"
	"github.com/warpld/warpld/internal/report"
)

// sample has something of everything, and names that are no HTML.
func sample() *record.Record {
	return &record.Record{
		Target: "sm_80", Toolkit: "13.0.88", Wall: 2_000_000, Mode: "partial", Engine: "nvvm",
		EngineReason: "all LTO-IR can be read",
		Arguments:    []string{"-dlto", "<a>.o"},
		Reasons:      []record.Reason{{Rule: "native code takes part", Input: "dir/b.o"}},
		Options: []record.Option{
			{Name: "-ftz", Value: "-ftz=1", Votes: []record.Vote{{Value: "-ftz=1", Inputs: []string{"a.o"}}}},
			{Name: "-maxrregcount", Value: "-maxrregcount=32",
				Votes: []record.Vote{{Value: "-maxrregcount=32", Inputs: []string{"a.o"}}, {Inputs: []string{"dir/b.o"}}}}},
		Inputs: []record.Input{
			{Name: "<a>.o", Kind: "host object", SymbolsFrom: "x", Uses: []string{"dir/b.o"},
				Modules: []record.Module{{Kind: "LTO-IR", Target: "sm_80", Linked: true}}},
			{Name: "dir/b.o", Kind: "host object", SymbolsFrom: "x",
				Modules: []record.Module{{Kind: "ELF", Target: "sm_80", Linked: true}}},
			{Name: "c.o", Kind: "host object", NotLinked: "it has no device code"}},
		Phases: []record.Phase{{Name: "plan", Start: 0, Wall: 1000}},
		Actions: []record.Action{
			{Label: "compile", Tool: "/bin/warpld", Source: "ran", Start: 1000, Wall: 900_000, CPU: 800_000, Memory: 64 << 20},
			{Label: "assemble", Tool: "/bin/ptxas", Source: "cache", Start: 2000, Wall: 100},
			{Label: "assemble", Tool: "/bin/ptxas", Source: "ran", Where: "worker-7", Start: 3000, Wall: 600_000,
				Waited: 100_000},
			{Label: "merge", Tool: "/bin/nvlink", Source: "ran", Failure: "exit code 255", Start: 950_000, Wall: 5}},
		Messages: []record.Message{{Severity: "info", Text: "silent"},
			{Severity: "warning", Text: "stack <unknown>", Notes: []string{"a note"}, Hint: "a hint"}},
		Output: &record.File{Path: "out/prog.cubin", Size: 20480},
		Kernels: []record.Kernel{{Name: "_Z1kPi", Registers: 64, Stack: 16, Shared: 2048, Barriers: 1, Code: 512,
			Constant: map[string]uint64{"0": 360, "3": 8}}, {Name: "huge", Registers: 255, Code: 1024}},
		Sections: []record.Section{{Name: ".text._Z1kPi", Size: 512}, {Name: ".text.huge", Size: 1024},
			{Name: ".symtab", Size: 96}},
		Symbols: []record.Symbol{
			{Name: "_Z1kPi", Kind: "kernel", Inputs: []string{"<a>.o"}, Kept: true, Reason: "host code refers to it", Size: 512},
			{Name: "_Z4lostPi", Kind: "kernel", Inputs: []string{"<a>.o"}, Reason: "no host code refers to it"},
			{Name: "v", Kind: "variable", Inputs: []string{"dir/b.o"}, Reason: "no use of it was left after optimization",
				By: "_Z1kPi"}},
	}
}

func rendered(t *testing.T, r *record.Record) string {
	t.Helper()
	var page bytes.Buffer
	if err := report.Write(&page, r); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

func TestContents(t *testing.T) {
	page := rendered(t, sample())
	for what, want := range map[string]string{
		"title":          `<h1>prog.cubin for sm_80</h1>`,
		"reason":         `native code takes part: <span class="file">dir/b.o</span>`,
		"agreed":         `<code>-ftz=1</code>`,
		"disagreed":      `-maxrregcount=32: a.o; not given: b.o`,
		"kernel":         `k(int*)</span>`,
		"occupancy":      `<td>50 %, registers</td>`,
		"banks":          `0: 360 B, 3: 8 B`,
		"bar on a track": `<title>compile: 900.0 ms, ran here</title>`,
		"cached bar":     `<title>assemble: 0.1 ms, from the cache</title>`,
		"remote bar":     `<title>assemble: 500.0 ms, ran on worker-7, after it had waited for 100.0 ms</title>`,
		"failed bar":     `<title>merge: 0.0 ms, failed: exit code 255</title>`,
		"removed kernel": `1 kernel: no host code refers to it`,
		"removed by":     `used by <span class="symbol">k(int*)</span>`,
		"cache":          `<th scope="row">assemble</th><td class="n">1</td><td class="n">1</td><td class="n">0</td>`,
		"module graph":   `2 inputs from top to bottom, and 1 arcs`,
		"not linked":     `no: it has no device code`,
		"escaped":        `&lt;a&gt;.o`,
		"message":        `stack &lt;unknown&gt;`,
		"size of part": `code<span class="bar" style="width:100.0%"></span></th><td class="n">2</td><td class="n">1536 ` +
			`B</td>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s: no %q in the page", what, want)
		}
	}
	if strings.Contains(page, "silent") {
		t.Error("the page shows an info")
	}
}

// A page asks for nothing: no address that a browser would fetch, and no script.
func TestSelfContained(t *testing.T) {
	page := rendered(t, sample())
	for _, pattern := range []string{`<script`, `(?i)\bon[a-z]+=`, `src=`, `@import`, `https?://`, `url\([^#]`} {
		if found := regexp.MustCompile(pattern).FindString(page); found != "" {
			t.Errorf("the page has %q", found)
		}
	}
	for _, link := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(link[1], "#") && link[1] != "data:," {
			t.Errorf("the page leads to %s", link[1])
		}
		if id := strings.TrimPrefix(link[1], "#"); id != link[1] && !strings.Contains(page, `id="`+id+`"`) {
			t.Errorf("nothing in the page is called %s", id)
		}
	}
}

// Elements are closed in their order, whatever the record has.
func TestWellFormed(t *testing.T) {
	for name, r := range map[string]*record.Record{"full": sample(), "empty": {},
		"failed": {Exit: 255, Target: "sm_80", Messages: []record.Message{{Severity: "error", Text: "no"}}}} {
		d := xml.NewDecoder(strings.NewReader(rendered(t, r)))
		d.Strict, d.Entity = true, xml.HTMLEntity
		for {
			_, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
		}
	}
}

// Every table has a caption and heads, and is in a region that the keyboard reaches.
func TestTables(t *testing.T) {
	page := rendered(t, sample())
	tables := strings.Split(page, "<table>")
	if len(tables) < 8 {
		t.Fatalf("%d tables", len(tables)-1)
	}
	for i, table := range tables[1:] {
		table, _, _ = strings.Cut(table, "</table>")
		if !strings.Contains(table, "<caption>") || !strings.Contains(table, `scope="col"`) ||
			!strings.Contains(table, `scope="row"`) {
			t.Errorf("table %d lacks a caption or heads: %.80s", i, table)
		}
		if !strings.HasSuffix(strings.TrimSpace(tables[i]), `tabindex="0">`) {
			t.Errorf("table %d is in no region", i)
		}
	}
	ids := regexp.MustCompile(` id="([^"]*)"`).FindAllString(page, -1)
	slices.Sort(ids)
	if len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("an id is there twice: %q", ids)
	}
}

func TestOccupancy(t *testing.T) {
	for _, test := range []struct {
		target             string
		threads, registers int
		shared             uint64
		warps              int
		limit              string
	}{
		{"sm_80", 256, 32, 0, 64, "warps"},
		{"sm_80", 256, 33, 0, 48, "registers"},
		{"sm_80", 256, 255, 0, 8, "registers"},
		{"sm_80", 256, 1 << 59, 0, 0, "registers"},
		{"sm_80", 32, 16, 0, 32, "blocks"},
		{"sm_80", 128, 16, 40 << 10, 12 + 4, "shared memory"},
		{"sm_75", 256, 32, 48 << 10, 8, "shared memory"},
		{"sm_90a", 1024, 32, 0, 64, "warps"},
		{"sm_120", 256, 32, 200 << 10, 0, "shared memory"},
	} {
		o, ok := report.OccupancyOf(test.target, test.threads, test.registers, test.shared)
		if !ok || o.Warps != test.warps || o.Limit != test.limit {
			t.Errorf("%+v: %+v", test, o)
		}
	}
	if _, ok := report.OccupancyOf("sm_999", 256, 32, 0); ok {
		t.Error("limits of sm_999 are known")
	}
}

func FuzzWrite(f *testing.F) {
	var text bytes.Buffer
	sample().Write(&text)
	f.Add(text.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, err := record.Read(bytes.NewReader(data)); err == nil {
			if err := report.Write(io.Discard, r); err != nil {
				t.Fatal(err)
			}
		}
	})
}
