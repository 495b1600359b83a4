package size

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/warpld/warpld/internal/message"
)

// The tables that WriteText writes.
const (
	ByFile     = "file"
	ByPart     = "part"
	ByArch     = "arch"
	ByUnit     = "unit"
	ByKernel   = "kernel"
	ByTemplate = "template"
	BySection  = "section"
)

// Tables are all tables, in their order.
var Tables = []string{ByFile, ByPart, ByArch, ByUnit, ByTemplate, ByKernel, BySection}

// WriteText writes tables for people, each with at most so many rows; 0 stands for all.
func (d *Document) WriteText(w io.Writer, tables []string, most int) {
	for _, table := range tables {
		title, columns, rows := d.table(table)
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(w, "%s\n", title)
		tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(tw, strings.Join(columns, "\t")+"\t")
		shown := rows
		if most > 0 && len(rows) > most {
			shown = rows[:most]
		}
		for _, row := range shown {
			// The last column is text, which begins after the numbers.
			fmt.Fprintln(tw, strings.Join(row[:len(row)-1], "\t")+"\t  "+row[len(row)-1])
		}
		tw.Flush()
		if len(shown) < len(rows) {
			fmt.Fprintf(w, "  and %d more (--all shows them)\n", len(rows)-len(shown))
		}
		fmt.Fprintln(w)
	}
	d.writeDuplicates(w)
	for _, p := range d.Problems {
		fmt.Fprintf(w, "not looked into: %s\n", p)
	}
}

// table returns one table; the last column is the name.
func (d *Document) table(table string) (title string, columns []string, rows [][]string) {
	switch table {
	case ByFile:
		title, columns = "files", []string{"device", "file", "%"}
		for _, r := range d.Files {
			if r.Device > 0 {
				rows = append(rows, []string{num(r.Device), num(r.Size), percent(r.Device, r.Size), r.Name + " (" + kind(r) + ")"})
			}
		}
	case ByPart:
		title, columns = "device sections, every byte", []string{"bytes", "%"}
		for _, r := range d.Parts {
			rows = append(rows, []string{num(r.Bytes), percent(r.Bytes, d.Device), r.Name})
		}
		rows = append(rows, []string{num(d.Device), percent(d.Device, d.Device), "all"})
	case ByArch:
		title, columns = "architectures", []string{"bytes", "%", "expanded", "pieces"}
		for _, r := range d.Archs {
			rows = append(rows, []string{num(r.Stored), percent(r.Stored, d.Device), num(r.Expanded),
				strconv.Itoa(r.Pieces), r.Arch + " " + r.Kind})
		}
	case ByUnit:
		title, columns = "translation units", []string{"bytes", "%", "expanded", "kernels"}
		for _, r := range d.Units {
			rows = append(rows, []string{num(r.Stored), percent(r.Stored, d.Device), num(r.Expanded),
				strconv.Itoa(r.Kernels), r.Name})
		}
	case ByKernel:
		title, columns = "kernels and functions, expanded", []string{"bytes", "code", "copies", "registers", "spills"}
		for _, r := range d.Kernels {
			rows = append(rows, []string{num(r.Bytes), num(r.Code), strconv.Itoa(r.Copies), strconv.Itoa(r.Registers),
				strconv.Itoa(r.Spills), r.Arch + " " + message.Demangle(r.Name)})
		}
	case ByTemplate:
		title, columns = "templates with all instances, expanded", []string{"bytes", "instances", "copies"}
		for _, r := range d.Templates {
			rows = append(rows, []string{num(r.Bytes), strconv.Itoa(r.Instances), strconv.Itoa(r.Copies), r.Name})
		}
	case BySection:
		title, columns = "sections of cubins, expanded", []string{"bytes", "%", "cubins"}
		for _, r := range d.Sections {
			rows = append(rows, []string{num(r.Bytes), percent(r.Bytes, d.Expanded), strconv.Itoa(r.Count), r.Name})
		}
	}
	return title, columns, rows
}

func kind(r FileRow) string {
	if r.Machine == "" || r.Machine == "CUDA" {
		return r.Kind
	}
	return r.Kind + ", " + r.Machine
}

func (d *Document) writeDuplicates(w io.Writer) {
	t := &d.Duplicates
	if t.Code == 0 {
		return
	}
	fmt.Fprintf(w, "%s of %s bytes of code are there more than once\n", num(t.Extra), num(t.Code))
	if t.Link > 0 {
		fmt.Fprintf(w, "a device link (-rdc=true) would keep one copy of each name: %s bytes less, expanded\n", num(t.Link))
	}
	if t.Pieces > 0 {
		fmt.Fprintf(w, "whole cubins or PTX that are there again: %s bytes, expanded\n", num(t.Pieces))
	}
}

// num writes a number with commas.
func num(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

func percent(n, of int64) string {
	if of == 0 {
		return "-"
	}
	return strconv.FormatFloat(float64(n)*100/float64(of), 'f', 1, 64)
}
