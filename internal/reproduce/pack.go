package reproduce

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/ar"
	"github.com/warpld/warpld/internal/options"
	"github.com/warpld/warpld/internal/output"
	"github.com/warpld/warpld/internal/pattern"
	"github.com/warpld/warpld/internal/toolkit"
	"github.com/warpld/warpld/internal/version"
)

// A Request describes a link that is to be packed.
type Request struct {
	Options *options.Options
	Toolkit *toolkit.Toolkit
	// LLVM is the version of the libLLVM at hand, or 0.
	LLVM int
	// CommandLine is the one that nvlink would record.
	CommandLine string
}

// A packer collects the files of a link.
type packer struct {
	options *options.Options
	toolkit *toolkit.Toolkit
	out     Package
	files   []File
	// known are files by their identity: an archive that is named twice is linked once.
	known map[fileID]string
	err   error
}

type fileID struct{ device, inode uint64 }

// Pack writes a link to the file that --warpld-reproduce names. It reads no input as
// code, because what can't be linked is worth looking at elsewhere, too.
func Pack(r Request) error {
	o := r.Options
	p := &packer{options: o, toolkit: r.Toolkit, known: map[fileID]string{}}
	p.out = Package{Warpld: version.Version, CUDA: r.Toolkit.Version.String(), LLVM: r.LLVM, Output: outputName(o)}
	if o.Own.ExactBytes {
		p.out.Record = r.CommandLine
	}
	inputs := 0
	arguments, err := o.Portable(options.Places{
		Input: func(path string) string {
			inputs++
			name := fmt.Sprintf("%s/%05d-%s", Inputs, inputs-1, plainName(path))
			p.add(name, path)
			return name
		},
		Folder: p.library,
		Output: func(option string) string { return option },
	})
	if err = errors.Join(err, p.err); err != nil {
		return err
	}
	p.out.Arguments = arguments
	path := output.Path(o.Own.Reproduce, filepath.Base(o.Output)+"."+o.Arch.String()+".tar.zst")
	reader, writer := io.Pipe()
	defer reader.Close()
	go func() { writer.CloseWithError(Write(writer, &p.out, p.files)) }()
	return output.Replace(path, reader)
}

func outputName(o *options.Options) string {
	if !o.Given("output-file") {
		return ""
	}
	return cmp.Or(plainName(o.Output), "output")
}

var notPlain = pattern.Lazy(`[^A-Za-z0-9._+-]`)

// plainName returns the name of a file without characters that mean something
// elsewhere.
func plainName(path string) string {
	return strings.TrimLeft(notPlain().ReplaceAllString(filepath.Base(path), "_"), ".-")
}

// library returns the folder for one of -L, with those libraries of -l that are in it.
func (p *packer) library(place int) string {
	folder := fmt.Sprintf("%s/%05d", Libraries, place)
	for i, name := range p.options.Libraries {
		if slices.Contains(p.options.Libraries[:i], name) {
			continue
		}
		for _, extension := range []string{".so", ".a"} {
			path := filepath.Join(p.options.LibraryPaths[place], "lib"+name+extension)
			if _, err := os.Stat(path); err != nil {
				continue
			}
			if !Inside(folder + "/lib" + name + extension) {
				p.err = fmt.Errorf("the library '%s' cannot be packed because of its name", name)
				continue
			}
			if extension == ".so" {
				path = "" // that it is there is all that counts
			}
			p.add(folder+"/lib"+name+extension, path)
		}
	}
	return folder
}

// add adds a file. One that is missing is missing in the replay, too.
func (p *packer) add(name, path string) {
	if path == "" {
		p.files = append(p.files, File{Name: name})
		return
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err == nil && !info.Mode().IsRegular():
		err = errors.New("it is no file")
	case err == nil && p.toolkit.HasLibrary(path):
		p.out.Toolkit = append(p.out.Toolkit, FromToolkit{Name: name, File: filepath.Base(path)})
		return
	case err == nil && isThin(path):
		err = errors.New("it is a thin archive, which holds only the names of its members")
	}
	if err != nil {
		p.err = errors.Join(p.err, &message.Message{Severity: message.Fatal, ID: "not-portable",
			Origin: message.Origin{File: path}, Text: fmt.Sprintf("'%s' cannot be packed", path),
			Notes: []string{err.Error()}, Hint: "link without --warpld-reproduce", Cause: err})
		return
	}
	stat := info.Sys().(*syscall.Stat_t)
	id := fileID{uint64(stat.Dev), stat.Ino}
	file := File{Name: name, Path: path, SameAs: p.known[id]}
	if file.SameAs == "" {
		p.known[id] = name
	}
	p.files = append(p.files, file)
}

// isThin reports whether a file is an archive that holds only the names of its members.
func isThin(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false
	}
	archive, err := ar.Open(f, info.Size())
	return err == nil && archive.Thin
}
