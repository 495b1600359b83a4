package size

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/warpld/warpld/internal/message"
)

// A Change is a row of one of two documents, or of both with other bytes.
type Change struct {
	Table string `json:"table"`
	Name  string `json:"name"`
	Old   int64  `json:"old_bytes"`
	New   int64  `json:"new_bytes"`
}

// By returns how many bytes more there are.
func (c Change) By() int64 { return c.New - c.Old }

// Diff returns what is different between two documents: the sums, and the rows of each
// table, those with the largest difference first.
func Diff(before, after *Document) (list []Change) {
	list = append(list, Change{"all", "device sections", before.Device, after.Device},
		Change{"all", "code, expanded", before.Expanded, after.Expanded})
	for _, table := range []string{ByPart, ByArch, ByTemplate, ByKernel, BySection} {
		list = append(list, changes(table, before.bytes(table), after.bytes(table))...)
	}
	return list
}

// bytes returns the rows of a table by name. Units and files are left out: other names
// of the same objects would make all of them different.
func (d *Document) bytes(table string) map[string]int64 {
	rows := map[string]int64{}
	switch table {
	case ByPart:
		for _, r := range d.Parts {
			rows[r.Name] += r.Bytes
		}
	case ByArch:
		for _, r := range d.Archs {
			rows[r.Arch+" "+r.Kind] += r.Stored
		}
	case ByTemplate:
		for _, r := range d.Templates {
			rows[r.Name] += r.Bytes
		}
	case ByKernel:
		for _, r := range d.Kernels {
			rows[r.Arch+" "+message.Demangle(r.Name)] += r.Bytes
		}
	case BySection:
		for _, r := range d.Sections {
			rows[r.Name] += r.Bytes
		}
	}
	return rows
}

func changes(table string, before, after map[string]int64) (list []Change) {
	for name, n := range before {
		if after[name] != n {
			list = append(list, Change{table, name, n, after[name]})
		}
	}
	for name, n := range after {
		if _, known := before[name]; !known {
			list = append(list, Change{table, name, 0, n})
		}
	}
	size := func(c Change) int64 { return max(c.By(), -c.By()) }
	slices.SortFunc(list, func(a, b Change) int {
		return cmp.Or(cmp.Compare(size(b), size(a)), strings.Compare(a.Name, b.Name))
	})
	return list
}

// WriteDiff writes changes for people, of each table at most so many; 0 stands for all.
func WriteDiff(w io.Writer, list []Change, most int) {
	shown, table := 0, ""
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
	for _, c := range list {
		if c.Table != table {
			table, shown = c.Table, 0
			tw.Flush()
			fmt.Fprintf(w, "%s\n", table)
			fmt.Fprintln(tw, "old\tnew\tdifference\t")
		}
		if shown++; most > 0 && shown > most {
			continue
		}
		sign := ""
		if c.By() > 0 {
			sign = "+"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s%s\t  %s\n", num(c.Old), num(c.New), sign, num(c.By()), c.Name)
	}
	tw.Flush()
}
