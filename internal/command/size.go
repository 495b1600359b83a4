package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/inventory"
	"github.com/warpld/warpld/internal/link"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/output"
	"github.com/warpld/warpld/internal/report"
	"github.com/warpld/warpld/internal/size"
)

// A sizeRequest is the command line of 'warpld size'.
type sizeRequest struct {
	diff   bool
	json   bool
	html   string
	all    bool
	tables []string
	files  []string
}

// defaultTables are those that 'warpld size' prints if no other are asked for.
var defaultTables = []string{size.ByFile, size.ByPart, size.ByArch, size.ByUnit, size.ByTemplate, size.ByKernel}

// mostRows is how many rows of a table are printed without --all.
const mostRows = 15

func parseSize(args []string) (r sizeRequest, ok bool) {
	for i, arg := range args {
		by, isBy := cutFlag(arg, "by")
		html, isHTML := cutFlag(arg, "html")
		switch {
		case arg == "--diff":
			r.diff = true
		case arg == "--json":
			r.json = true
		case arg == "--all":
			r.all = true
		case arg == "--":
			r.files = append(r.files, args[i+1:]...)
			return r, r.sound()
		case isHTML:
			r.html = html
		case isBy:
			for _, table := range strings.Split(by, ",") {
				if !slices.Contains(size.Tables, table) {
					return r, false
				}
				r.tables = append(r.tables, table)
			}
		case strings.HasPrefix(arg, "-"):
			return r, false
		default:
			r.files = append(r.files, arg)
		}
	}
	return r, r.sound()
}

// sound reports whether the files and options fit together.
func (r *sizeRequest) sound() bool {
	if r.diff {
		return len(r.files) == 2 && r.html == ""
	}
	return len(r.files) > 0
}

// showSize prints what device code takes how many bytes.
func showSize(_ context.Context, c link.Caller, args []string) error {
	r, ok := parseSize(args)
	if !ok {
		return usage("size")
	}
	if r.tables == nil {
		r.tables = defaultTables
	}
	most := mostRows
	if r.all {
		most = 0
	}
	if r.diff {
		return diffSizes(c, &r, most)
	}
	doc, err := measure(c, r.files)
	if err != nil {
		return err
	}
	switch {
	case r.html != "":
		return writePage(r.html, func(w io.Writer) error { return report.WriteSize(w, doc) })
	case r.json:
		return doc.Write(c.Stdout)
	}
	doc.WriteText(printable{c.Stdout}, r.tables, most)
	return nil
}

// writePage writes a page completely or not at all.
func writePage(path string, write func(io.Writer) error) error {
	r, w := io.Pipe()
	go func() { w.CloseWithError(write(w)) }()
	defer r.Close()
	return output.Replace(path, r)
}

// diffSizes prints what is different between two builds.
func diffSizes(c link.Caller, r *sizeRequest, most int) error {
	var docs [2]*size.Document
	for i, path := range r.files {
		var err error
		if docs[i], err = readSize(c, path); err != nil {
			return err
		}
	}
	list := size.Diff(docs[0], docs[1])
	if r.json {
		e := json.NewEncoder(c.Stdout)
		e.SetIndent("", " ")
		return e.Encode(list)
	}
	size.WriteDiff(printable{c.Stdout}, list, most)
	return nil
}

// readSize reads what --json has written, or measures a file.
func readSize(c link.Caller, path string) (*size.Document, error) {
	if !strings.HasSuffix(path, ".json") {
		return measure(c, []string{path})
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	doc, err := size.Read(f)
	if err != nil {
		hint := "give a file that 'warpld size --json' wrote"
		if errors.Is(err, size.ErrVersion) {
			hint = "read it with the warpld that wrote it"
		}
		return nil, &message.Message{Severity: message.Fatal, ID: "size", Origin: message.Origin{File: path},
			Text: fmt.Sprintf("%s: %v", path, err), Hint: hint, Cause: err}
	}
	return doc, nil
}

// measure measures files. It fails if none of them has device code.
func measure(c link.Caller, paths []string) (*size.Document, error) {
	files, err := measureFiles(c, paths)
	if err != nil {
		return nil, err
	}
	return size.New(files), nil
}

// garbagePercent is how much garbage there may be, in percent of what is used.
const garbagePercent = 40

func measureFiles(c link.Caller, paths []string) ([]*size.File, error) {
	// Expanded code comes and goes quickly: without this, as much garbage as code stays.
	debug.SetGCPercent(garbagePercent)
	files, warnings, err := inventory.Read(paths, size.NewMeter().Measure)
	if err != nil {
		return nil, err
	}
	log := message.NewLog(c.Stderr, message.Style{Terminal: c.Terminal})
	for _, m := range warnings {
		m.Tool = "warpld"
		log.Report(m)
	}
	for _, f := range files {
		if f.Device > 0 {
			return files, nil
		}
	}
	return nil, &message.Message{Severity: message.Fatal, ID: "no-device-code",
		Text: "no device code was found in " + message.FirstFew(paths),
		Hint: "host code compiled without nvcc or clang's CUDA mode has none; name the library that has the kernels"}
}
