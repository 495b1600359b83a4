package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/warpld/warpld/internal/size"
)

// Sizes of the treemap.
const (
	mapWidth, mapHeight = 1030, 560
	mapHead             = 16  // height of the line with the name of a group
	mapLeast            = 3   // a box that is narrower is not drawn
	mapLetter           = 6.4 // width of a letter
	mapMost             = 400 // boxes of a group
)

// A box is a rectangle of the treemap.
type box struct {
	X, Y, Width, Height float64
	Class, Label, Title string
}

// LabelY is where the label is written.
func (b box) LabelY() float64 { return b.Y + 12 }

// A weight is something with a size that gets a box.
type weight struct {
	bytes  int64
	label  string
	title  string
	class  string
	inside []weight
}

// treemap draws the architectures and, in them, the templates, each as large as its
// expanded bytes.
func treemap(d *size.Document) (boxes []box) {
	for _, at := range squarify(groups(d), 0, 0, mapWidth, mapHeight) {
		boxes = append(boxes, at.box())
		if len(at.inside) > 0 && at.h > 2*mapHead && at.w > 2*mapHead {
			for _, inner := range squarify(at.inside, at.x+1, at.y+mapHead, at.w-2, at.h-mapHead-1) {
				boxes = append(boxes, inner.box())
			}
		}
	}
	return slices.DeleteFunc(boxes, func(b box) bool { return b.Width < mapLeast || b.Height < mapLeast })
}

var mapClasses = map[string]string{size.KindSASS: "ran", size.KindPTX: "cached", size.KindLTOIR: "remote",
	size.KindDebug: "failed"}

// groups returns the architectures with what is in each.
func groups(d *size.Document) (list []weight) {
	templates := map[string]map[string]*weight{}
	used := map[string]int64{}
	for i := range d.Kernels {
		k := &d.Kernels[i]
		if templates[k.Arch] == nil {
			templates[k.Arch] = map[string]*weight{}
		}
		name := size.TemplateName(k.Name)
		at := templates[k.Arch][name]
		if at == nil {
			at = &weight{label: name, class: "ran inner"}
			templates[k.Arch][name] = at
		}
		at.bytes += k.Bytes
		used[k.Arch] += k.Bytes
	}
	for _, row := range d.Archs {
		name := row.Arch + " " + row.Kind
		class, known := mapClasses[row.Kind]
		if !known {
			class = "phase"
		}
		g := weight{bytes: row.Expanded, label: name, class: class, title: name + ": " + byteText(row.Expanded)}
		if row.Kind == size.KindSASS {
			for _, inner := range templates[row.Arch] {
				inner.title = fmt.Sprintf("%s for %s: %s", inner.label, row.Arch, byteText(inner.bytes))
				g.inside = append(g.inside, *inner)
			}
			if rest := row.Expanded - used[row.Arch]; rest > 0 && len(g.inside) > 0 {
				g.inside = append(g.inside, weight{bytes: rest, label: "tables, names, headers", class: "phase inner",
					title: fmt.Sprintf("tables, names and headers for %s: %s", row.Arch, byteText(rest))})
			}
			g.inside = largest(g.inside)
		}
		list = append(list, g)
	}
	return largest(list)
}

// largest sorts weights, the largest first, and joins those that are too many to be drawn.
func largest(list []weight) []weight {
	slices.SortFunc(list, func(a, b weight) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.label, b.label))
	})
	if len(list) <= mapMost {
		return list
	}
	rest := weight{class: "phase inner", label: fmt.Sprintf("%d more", len(list)-mapMost)}
	for _, w := range list[mapMost:] {
		rest.bytes += w.bytes
	}
	rest.title = fmt.Sprintf("%s: %s", rest.label, byteText(rest.bytes))
	return append(list[:mapMost:mapMost], rest)
}

// A placed weight has a rectangle.
type placed struct {
	weight
	x, y, w, h float64
}

func (p *placed) box() box {
	label := p.label
	if room := int(p.w/mapLetter) - 1; p.h < mapHead || room < 4 {
		label = ""
	} else if runes := []rune(label); len(runes) > room {
		label = string(runes[:room-1]) + "…"
	}
	round := func(n float64) float64 { return float64(int(n*10+.5)) / 10 }
	return box{X: round(p.x), Y: round(p.y), Width: round(max(0, p.w-1)), Height: round(max(0, p.h-1)),
		Class: p.class, Label: label, Title: p.title}
}

// squarify fills a rectangle with weights, the largest first, in rows along its shorter
// side. A row ends where its boxes would become longer.
func squarify(list []weight, x, y, w, h float64) (all []placed) {
	sum := 0.0
	for _, e := range list {
		sum += float64(max(e.bytes, 0))
	}
	if sum == 0 || w <= 0 || h <= 0 {
		return nil
	}
	scale := w * h / sum
	for len(list) > 0 {
		side := min(w, h)
		n, area := 1, float64(list[0].bytes)*scale
		for ; n < len(list); n++ {
			next := area + float64(list[n].bytes)*scale
			if worst(list[:n+1], scale, next, side) > worst(list[:n], scale, area, side) {
				break
			}
			area = next
		}
		depth, along := area/side, 0.0
		for _, e := range list[:n] {
			length := 0.0
			if area > 0 {
				length = float64(e.bytes) * scale / area * side
			}
			if w >= h {
				all = append(all, placed{e, x, y + along, depth, length})
			} else {
				all = append(all, placed{e, x + along, y, length, depth})
			}
			along += length
		}
		if w >= h {
			x, w = x+depth, w-depth
		} else {
			y, h = y+depth, h-depth
		}
		list = list[n:]
	}
	return all
}

// worst returns the longest form of the boxes of a row: the ratio of their sides. Weights
// are sorted, so it is that of the first or the last.
func worst(row []weight, scale, area, side float64) float64 {
	first, last := float64(row[0].bytes)*scale, float64(row[len(row)-1].bytes)*scale
	if last == 0 || area == 0 {
		return 0
	}
	return max(side*side*first/(area*area), area*area/(side*side*last))
}
