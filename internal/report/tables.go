package report

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/record"
)

// A total is about the whole link.
type total struct {
	CPU                        int64
	Memory                     int64 // of the largest action
	Ran, Cached, Remote        int
	Linked                     int
	KernelsGone, VariablesGone int
	Known                      bool // the symbols
}

func totals(r *record.Record) (t total) {
	for _, a := range r.Actions {
		t.CPU += a.CPU
		t.Memory = max(t.Memory, a.Memory)
		switch place(&a) {
		case "cached":
			t.Cached++
		case "remote":
			t.Remote++
		default:
			t.Ran++
		}
	}
	for _, in := range r.Inputs {
		if slices.ContainsFunc(in.Modules, func(m record.Module) bool { return m.Linked }) {
			t.Linked++
		}
	}
	for _, y := range r.Symbols {
		switch {
		case y.Kept:
		case y.Kind == record.KindKernel:
			t.KernelsGone++
		case y.Kind == record.KindVariable:
			t.VariablesGone++
		}
	}
	t.Known = len(r.Symbols) > 0
	return t
}

// A workRow is all actions of one label.
type workRow struct {
	Label              string
	Count, Cached      int
	Remote             int
	Wall, CPU, Longest int64
	Memory             int64
	percent
}

// Ran is how many ran on this machine.
func (w workRow) Ran() int { return w.Count - w.Cached - w.Remote }

// A percent is a share that tables show as a bar.
type percent float64

// Bar is the style of the bar.
func (p percent) Bar() template.CSS { return template.CSS(fmt.Sprintf("width:%.1f%%", float64(p))) }

// work groups the actions, the costliest first.
func work(r *record.Record) []workRow {
	rows := map[string]*workRow{}
	for i := range r.Actions {
		a := &r.Actions[i]
		row := rows[a.Label]
		if row == nil {
			row = &workRow{Label: a.Label}
			rows[a.Label] = row
		}
		row.Count++
		switch place(a) {
		case "cached":
			row.Cached++
		case "remote":
			row.Remote++
		}
		row.Wall += ran(a)
		row.CPU += a.CPU
		row.Longest = max(row.Longest, ran(a))
		row.Memory = max(row.Memory, a.Memory)
	}
	var list []workRow
	for _, label := range slices.Sorted(maps.Keys(rows)) {
		list = append(list, *rows[label])
	}
	rank(list, func(w *workRow) (int64, *percent) { return w.Wall, &w.percent })
	return list
}

// rank sorts rows by a number, the largest first, and sets each one's share of the largest.
func rank[T any](rows []T, by func(*T) (int64, *percent)) {
	number := func(row *T) int64 { n, _ := by(row); return n }
	slices.SortStableFunc(rows, func(a, b T) int { return cmp.Compare(number(&b), number(&a)) })
	for i := range rows {
		n, share := by(&rows[i])
		if most := number(&rows[0]); most > 0 {
			*share = percent(float64(n) * 100 / float64(most))
		}
	}
}

// A kernelRow is a kernel with its resources.
type kernelRow struct {
	record.Kernel
	Banks     string
	Occupancy *Occupancy
	percent
}

// blockSize is that of the blocks for which occupancy is shown: the record does not
// know how kernels are launched.
const blockSize = 256

func kernels(r *record.Record) []kernelRow {
	var list []kernelRow
	for _, k := range r.Kernels {
		row := kernelRow{Kernel: k}
		var banks []string
		for _, bank := range slices.Sorted(maps.Keys(k.Constant)) {
			banks = append(banks, bank+": "+byteText(int64(k.Constant[bank])))
		}
		row.Banks = strings.Join(banks, ", ")
		if o, ok := OccupancyOf(r.Target, blockSize, k.Registers, k.Shared); ok {
			row.Occupancy = &o
		}
		list = append(list, row)
	}
	rank(list, func(k *kernelRow) (int64, *percent) { return int64(k.Code), &k.percent })
	return list
}

// A sizeRow is a part of something.
type sizeRow struct {
	Name  string
	Size  int64
	Count int
	percent
}

func sized(sizes map[string]*sizeRow) []sizeRow {
	var list []sizeRow
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		list = append(list, *sizes[name])
	}
	rank(list, func(s *sizeRow) (int64, *percent) { return s.Size, &s.percent })
	return list
}

func add(sizes map[string]*sizeRow, name string, size uint64) {
	if sizes[name] == nil {
		sizes[name] = &sizeRow{Name: name}
	}
	sizes[name].Size += int64(size)
	sizes[name].Count++
}

// partsOf groups the sections of the output by what they are for.
func partsOf(r *record.Record) []sizeRow {
	sizes := map[string]*sizeRow{}
	for _, s := range r.Sections {
		add(sizes, sectionUse(s.Name), s.Size)
	}
	return sized(sizes)
}

func sectionUse(name string) string {
	for _, use := range []struct{ prefix, use string }{
		{".text.", "code"}, {".nv.constant", "constants and parameters"}, {".nv.global", "variables"},
		{".nv.shared", "shared memory (no bytes in the file)"},
		{".debug", "debug information"}, {".nv_debug", "debug information"}, {".rel", "relocations"},
		{".nv.info", "attributes of kernels"},
		{".symtab", "symbols and names"}, {".strtab", "symbols and names"}, {".shstrtab", "symbols and names"},
	} {
		if strings.HasPrefix(name, use.prefix) {
			return use.use
		}
	}
	return "other"
}

// objects adds up what the output has of each input. What several inputs define counts
// for the first.
func objects(r *record.Record) []sizeRow {
	sizes := map[string]*sizeRow{}
	for _, y := range r.Symbols {
		if y.Kept && len(y.Inputs) > 0 && y.Size > 0 {
			add(sizes, y.Inputs[0], y.Size)
		}
	}
	return sized(sizes)
}

// A removedGroup is what is gone for the same reason.
type removedGroup struct {
	Kind, Reason string
	Symbols      []record.Symbol
}

func removed(r *record.Record) []removedGroup {
	var list []removedGroup
	at := map[[2]string]int{}
	for _, y := range r.Symbols {
		if y.Kept {
			continue
		}
		key := [2]string{y.Kind, y.Reason}
		i, known := at[key]
		if !known {
			i = len(list)
			at[key] = i
			list = append(list, removedGroup{Kind: y.Kind, Reason: y.Reason})
		}
		list[i].Symbols = append(list[i].Symbols, y)
	}
	order := map[string]int{record.KindKernel: 0, record.KindVariable: 1, record.KindFunction: 2}
	slices.SortStableFunc(list, func(a, b removedGroup) int { return cmp.Compare(order[a.Kind], order[b.Kind]) })
	return list
}
