package report

import (
	_ "embed"
	"html/template"
	"io"
	"path/filepath"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/size"
)

//go:embed size.html
var sizeText string

// mostShown is how many rows of a table the page of sizes has. The document has all.
const mostShown = 500

// A sizeView is what the page of sizes is filled with.
type sizeView struct {
	Doc                                            *size.Document
	Style                                          template.CSS
	Map                                            []box
	Files, Parts, Archs, Units, Templates, Classes []sizeLine
	Kernels                                        []kernelLine
}

// A sizeLine is a row of a table of sizes.
type sizeLine struct {
	Name            string
	Count, Copies   int
	Bytes, Expanded int64
	percent
}

// A kernelLine is a row of the table of kernels.
type kernelLine struct {
	size.FunctionRow
	percent
}

// Title names the page.
func (v *sizeView) Title() string {
	if len(v.Doc.Files) == 1 {
		return filepath.Base(v.Doc.Files[0].Name)
	}
	return "Device code of several files"
}

// Width is that of the treemap.
func (v *sizeView) Width() int { return mapWidth }

// Height is that of the treemap.
func (v *sizeView) Height() int { return mapHeight }

// Hidden returns how many rows of a table with so many are not shown.
func (v *sizeView) Hidden(rows int) int { return max(0, rows-mostShown) }

// WriteSize writes the page about what device code takes how many bytes.
func WriteSize(w io.Writer, d *size.Document) error {
	page := template.Must(template.New("size").Funcs(template.FuncMap{
		"bytes": byteText, "name": message.Demangle, "base": filepath.Base,
	}).Parse(sizeText))
	v := &sizeView{Doc: d, Style: template.CSS(style), Map: treemap(d)}
	for _, r := range d.Files {
		if r.Device > 0 {
			v.Files = append(v.Files, sizeLine{Name: r.Name, Count: r.Pieces, Bytes: r.Device, Expanded: r.Size})
		}
	}
	for _, r := range d.Parts {
		v.Parts = append(v.Parts, sizeLine{Name: r.Name, Bytes: r.Bytes})
	}
	for _, r := range d.Archs {
		v.Archs = append(v.Archs, sizeLine{Name: r.Arch + " " + r.Kind, Count: r.Pieces, Bytes: r.Stored,
			Expanded: r.Expanded})
	}
	for _, r := range d.Units {
		v.Units = append(v.Units, sizeLine{Name: r.Name, Count: r.Kernels, Bytes: r.Stored, Expanded: r.Expanded})
	}
	for _, r := range d.Templates {
		v.Templates = append(v.Templates, sizeLine{Name: r.Name, Count: r.Instances, Copies: r.Copies, Bytes: r.Bytes})
	}
	for _, r := range d.Sections {
		v.Classes = append(v.Classes, sizeLine{Name: r.Name, Count: r.Count, Bytes: r.Bytes})
	}
	for _, r := range d.Kernels {
		v.Kernels = append(v.Kernels, kernelLine{FunctionRow: r})
	}
	for _, lines := range []*[]sizeLine{&v.Files, &v.Parts, &v.Archs, &v.Units, &v.Templates, &v.Classes} {
		rank(*lines, func(l *sizeLine) (int64, *percent) { return l.Bytes, &l.percent })
		*lines = (*lines)[:min(len(*lines), mostShown)]
	}
	rank(v.Kernels, func(l *kernelLine) (int64, *percent) { return l.Bytes, &l.percent })
	v.Kernels = v.Kernels[:min(len(v.Kernels), mostShown)]
	return page.Execute(w, v)
}
