// Package report shows the record of a link as one HTML page that needs nothing else:
// no script, no font, no request. What it shows as a drawing it also has as a table.
package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
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

// Write writes the page. Its template is parsed here and not when the program starts, because
// every link would wait for it.
func Write(w io.Writer, r *record.Record) error {
	page := template.Must(template.New("page").Funcs(template.FuncMap{
		"time": duration, "bytes": byteText, "name": message.Demangle, "base": filepath.Base, "files": files,
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

// Failed reports whether the link failed.
func (v *view) Failed() bool { return v.Exit != message.ExitOK }

// BlockSize is that of the blocks that occupancy is about.
func (v *view) BlockSize() int { return blockSize }

// A sourced action also has the source of its result.
type sourced struct{ *record.Action }

// From returns the source of the result.
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
		if len(o.Votes) == 1 && o.Value != "" {
			agreed = append(agreed, o.Value)
		}
	}
	return strings.Join(agreed, " ")
}

func (v *view) Disagreed() []record.Option {
	return slices.DeleteFunc(slices.Clone(v.Options), func(o record.Option) bool { return len(o.Votes) == 1 })
}

// Loud are the messages that people should see.
func (v *view) Loud() []record.Message {
	return slices.DeleteFunc(slices.Clone(v.Messages),
		func(m record.Message) bool { return m.Severity == message.Info.String() })
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

// byteText writes bytes for people.
func byteText(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
