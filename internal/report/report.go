// Package report shows the record of a link as one HTML page that needs nothing else:
// no script, no font, no request. What it shows as a drawing it also has as a table.
package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/record"
)

//go:embed page.html
var pageText string

//go:embed style.css
var style string

// Write gives the page. Its template is read here and not when the program starts,
// which every link would wait for.
func Write(w io.Writer, r *record.Record) error {
	page := template.Must(template.New("page").Funcs(template.FuncMap{
		"time": duration, "bytes": size, "name": message.Demangle, "base": filepath.Base, "files": files,
	}).Parse(pageText))
	return page.Execute(w, &view{
		Record: r, Style: template.CSS(style), Timeline: newTimeline(r), Graph: newGraph(r),
		Work: work(r), Kernels: kernels(r), Parts: partsOf(r), Objects: objects(r), Removed: removed(r), Totals: totals(r),
	})
}

// A view is what the page is filled with.
type view struct {
	*record.Record
	Style    template.CSS
	Timeline *timeline
	Graph    *graph
	Work     []workRow
	Kernels  []kernelRow
	Parts    []sizeRow
	Objects  []sizeRow
	Removed  []removedGroup
	Totals   total
}

// Title names the link.
func (v *view) Title() string {
	if v.Output == nil {
		return "A link for " + v.Target + " that failed"
	}
	return filepath.Base(v.Output.Path) + " for " + v.Target
}

// Failed says whether the link did.
func (v *view) Failed() bool { return v.Exit != message.ExitOK }

// BlockSize is that of the blocks that occupancy is about.
func (v *view) BlockSize() int { return blockSize }

// A sourced action says where its result is from.
type sourced struct{ *record.Action }

// From says it.
func (s sourced) From() string { return source(s.Action) }

// Sources are the actions.
func (v *view) Sources() []sourced {
	var list []sourced
	for i := range v.Actions {
		list = append(list, sourced{&v.Actions[i]})
	}
	return list
}

// Agreed are the options that all objects were compiled with, and Disagreed the others.
func (v *view) Agreed() string {
	var agreed []string
	for _, o := range v.Options {
		if len(o.Said) == 1 && o.Value != "" {
			agreed = append(agreed, o.Value)
		}
	}
	return strings.Join(agreed, " ")
}

func (v *view) Disagreed() []record.Option {
	return slices.DeleteFunc(slices.Clone(v.Options), func(o record.Option) bool { return len(o.Said) == 1 })
}

// Loud are the messages that people should see.
func (v *view) Loud() []record.Message {
	return slices.DeleteFunc(slices.Clone(v.Messages), func(m record.Message) bool { return m.Severity == message.Info.String() })
}

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
		switch {
		case a.Source == "cache":
			t.Cached++
		case a.Where != "":
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
	for _, a := range r.Actions {
		row := rows[a.Label]
		if row == nil {
			row = &workRow{Label: a.Label}
			rows[a.Label] = row
		}
		row.Count++
		if a.Source == "cache" {
			row.Cached++
		} else if a.Where != "" {
			row.Remote++
		}
		row.Wall += a.Wall
		row.CPU += a.CPU
		row.Longest = max(row.Longest, a.Wall)
		row.Memory = max(row.Memory, a.Memory)
	}
	var list []workRow
	for _, label := range slices.Sorted(maps.Keys(rows)) {
		list = append(list, *rows[label])
	}
	slices.SortStableFunc(list, func(a, b workRow) int { return cmp.Compare(b.Wall, a.Wall) })
	for i := range list {
		list[i].percent = share(list[i].Wall, list[0].Wall)
	}
	return list
}

func share(n, of int64) percent {
	if of <= 0 {
		return 0
	}
	return percent(float64(n) * 100 / float64(of))
}

// A kernelRow is a kernel with what it takes.
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
			banks = append(banks, bank+": "+size(int64(k.Constant[bank])))
		}
		row.Banks = strings.Join(banks, ", ")
		if o, ok := OccupancyOf(r.Target, blockSize, k.Registers, k.Shared); ok {
			row.Occupancy = &o
		}
		list = append(list, row)
	}
	slices.SortStableFunc(list, func(a, b kernelRow) int { return cmp.Compare(b.Code, a.Code) })
	for i := range list {
		list[i].percent = share(int64(list[i].Code), int64(list[0].Code))
	}
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
	slices.SortStableFunc(list, func(a, b sizeRow) int { return cmp.Compare(b.Size, a.Size) })
	for i := range list {
		list[i].percent = share(list[i].Size, list[0].Size)
	}
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
		{".text.", "code"}, {".nv.constant", "constants and parameters"}, {".nv.global", "variables"}, {".nv.shared", "shared memory (no bytes in the file)"},
		{".debug", "debug information"}, {".nv_debug", "debug information"}, {".rel", "relocations"}, {".nv.info", "attributes of kernels"},
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

// files lists some of the files without their folders.
func files(paths []string) string {
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = filepath.Base(path)
	}
	return message.FirstFew(names)
}

// duration writes microseconds for people.
func duration(us int64) string {
	d := time.Duration(us) * time.Microsecond
	switch {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	}
	return fmt.Sprintf("%.1f ms", float64(us)/1000)
}

// size writes bytes for people.
func size(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
