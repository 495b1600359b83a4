package report_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/report"
	"github.com/warpld/warpld/internal/size"
)

// sizes is a document with something of everything, names that are no HTML, and more
// kernels than are drawn.
func sizes() *size.Document {
	d := &size.Document{Device: 5000, Expanded: 90000,
		Files: []size.FileRow{{Name: "<lib>.so", Kind: "shared library", Size: 9000, Device: 5000}},
		Parts: []size.Part{{Name: "SASS", Bytes: 4000}, {Name: "PTX", Bytes: 1000}},
		Archs: []size.ArchRow{{Arch: "sm_80", Kind: "SASS", Pieces: 1, Stored: 4000, Expanded: 80000},
			{Arch: "compute_90", Kind: "PTX", Pieces: 1, Stored: 1000, Expanded: 10000}},
		Units:      []size.UnitRow{{Name: "<lib>.so#1", Pieces: 2, Kernels: 600, Stored: 5000}},
		Templates:  []size.TemplateRow{{Name: "scale<>", Instances: 3, Copies: 6, Bytes: 700}},
		Sections:   []size.Row{{Name: ".text", Count: 1, Bytes: 70000}},
		Duplicates: size.Duplicates{Code: 70000, Extra: 30000, Link: 20000},
		Problems:   []string{"a < b"}}
	for i := range 600 {
		d.Kernels = append(d.Kernels, size.FunctionRow{Name: fmt.Sprintf("_Z4k%03dPf", i), Arch: "sm_80", Kernel: true,
			Copies: 1, Bodies: 1, Code: 100, Bytes: int64(130 - i/10)})
	}
	return d
}

func sizePage(t *testing.T, d *size.Document) string {
	t.Helper()
	var page bytes.Buffer
	if err := report.WriteSize(&page, d); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

func TestSizePage(t *testing.T) {
	page := sizePage(t, sizes())
	for what, want := range map[string]string{
		"title":      `<h1>&lt;lib&gt;.so</h1>`,
		"arch box":   `<title>sm_80 SASS: 78 KB</title>`,
		"kernel box": `<title>k000 for sm_80: 130 B</title>`,
		"rest":       `<title>tables, names and headers for sm_80: `,
		"too many":   `100 more are not shown`,
		"kernel row": `k000(float*)</span>`,
		"problem":    `<li>a &lt; b</li>`,
		"all bytes":  `<tfoot><tr><th scope="row">all</th><td class="n">5000</td></tr></tfoot>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%s: no %q in the page", what, want)
		}
	}
	for _, pattern := range []string{`<script`, `(?i)\bon[a-z]+=`, `src=`, `@import`, `https?://`, `url\([^#]`} {
		if found := regexp.MustCompile(pattern).FindString(page); found != "" {
			t.Errorf("the page has %q", found)
		}
	}
	for name, d := range map[string]*size.Document{"full": sizes(), "empty": {}} {
		x := xml.NewDecoder(strings.NewReader(sizePage(t, d)))
		x.Strict, x.Entity = true, xml.HTMLEntity
		for {
			_, err := x.Token()
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

var rectangle = regexp.MustCompile(`<rect class="([^"]*)" x="([^"]*)" y="([^"]*)" width="([^"]*)" height="([^"]*)"/>`)

// Boxes of the same kind don't overlap, lie in the map, and are as large as their bytes.
func TestTreemap(t *testing.T) {
	type box struct{ x, y, w, h float64 }
	var groups, inner []box
	for _, m := range rectangle.FindAllStringSubmatch(sizePage(t, sizes()), -1) {
		var b box
		if _, err := fmt.Sscan(m[2]+" "+m[3]+" "+m[4]+" "+m[5], &b.x, &b.y, &b.w, &b.h); err != nil {
			t.Fatal(err)
		}
		if b.x < 0 || b.y < 0 || b.x+b.w > 1030.1 || b.y+b.h > 560.1 {
			t.Errorf("%v is outside of the map", b)
		}
		if strings.HasSuffix(m[1], "inner") {
			inner = append(inner, b)
		} else {
			groups = append(groups, b)
		}
	}
	if len(groups) != 2 || len(inner) < 300 {
		t.Fatalf("%d groups, %d boxes in them", len(groups), len(inner))
	}
	for _, list := range [][]box{groups, inner} {
		for i, a := range list {
			for _, b := range list[:i] {
				if a.x < b.x+b.w && b.x < a.x+a.w && a.y < b.y+b.h && b.y < a.y+a.h {
					t.Fatalf("%v and %v overlap", a, b)
				}
			}
		}
	}
	ratio := groups[0].w * groups[0].h / (groups[1].w * groups[1].h)
	if ratio < 7.5 || ratio > 8.5 {
		t.Errorf("80000 and 10000 bytes are drawn as 1 to %.2f", ratio)
	}
}
