package link

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
	"github.com/warpld/warpld/internal/pattern"
	"github.com/warpld/warpld/internal/reproduce"
	"github.com/warpld/warpld/internal/toolkit"
	"github.com/warpld/warpld/internal/version"
)

// A packer collects the files of a link.
type packer struct {
	*linker
	out   reproduce.Package
	files []reproduce.File
	// known are files by what makes them the same: an archive that is named twice is
	// linked once.
	known map[fileID]string
	err   error
}

type fileID struct{ device, inode uint64 }

// reproduce packs the link, before anything is read: also what can't be linked is
// worth to be looked at elsewhere. Builds with the option in the environment also ask
// for versions and scripts, which are no links.
func (l *linker) reproduce() error {
	if l.options.Own.Reproduce == "" || l.options.Version || l.options.GenHostLinkerScript != "" {
		return nil
	}
	p := &packer{linker: l, known: map[fileID]string{}}
	p.out = reproduce.Package{Warpld: version.Version, CUDA: l.toolkit.Version.String(), Output: outputName(l.options)}
	if llvm, err := toolkit.FindLLVM(l.options.Own.LLVM, l.Env); err == nil {
		p.out.LLVM = llvm.Major
	}
	if l.options.Own.ExactBytes {
		p.out.Record = l.commandLine()
	}
	inputs := 0
	arguments, err := l.options.Portable(options.Places{
		Input: func(path string) string {
			inputs++
			name := fmt.Sprintf("%s/%05d-%s", reproduce.Inputs, inputs-1, plainName(path))
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
	path := l.recordPath(l.options.Own.Reproduce, ".tar.zst")
	r, w := io.Pipe()
	defer r.Close()
	go func() { w.CloseWithError(reproduce.Write(w, &p.out, p.files)) }()
	return replaceFile(path, r)
}

func outputName(o *options.Options) string {
	if !o.Given("output-file") {
		return ""
	}
	return cmp.Or(plainName(o.Output), "output")
}

var notPlain = pattern.Lazy(`[^A-Za-z0-9._+-]`)

// plainName is the name of a file without what has a meaning somewhere.
func plainName(path string) string {
	return strings.TrimLeft(notPlain().ReplaceAllString(filepath.Base(path), "_"), ".-")
}

// library gives the folder for one of -L, with those libraries of -l that are in it.
func (p *packer) library(place int) string {
	folder := fmt.Sprintf("%s/%05d", reproduce.Libraries, place)
	for i, name := range p.options.Libraries {
		if slices.Contains(p.options.Libraries[:i], name) {
			continue
		}
		for _, extension := range []string{".so", ".a"} {
			path := filepath.Join(p.options.LibraryPaths[place], "lib"+name+extension)
			if _, err := os.Stat(path); err != nil {
				continue
			}
			if !reproduce.Inside(folder + "/lib" + name + extension) {
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

// add takes a file. One that is missing is missing in the replay, too.
func (p *packer) add(name, path string) {
	if path == "" {
		p.files = append(p.files, reproduce.File{Name: name})
		return
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err == nil && !info.Mode().IsRegular():
		err = errors.New("it is no file")
	case err == nil && p.toolkit.HasLibrary(path):
		p.out.Toolkit = append(p.out.Toolkit, reproduce.FromToolkit{Name: name, File: filepath.Base(path)})
		return
	case err == nil && isThin(path):
		err = errors.New("it is a thin archive, which holds only the names of its members")
	}
	if err != nil {
		p.err = errors.Join(p.err, &message.Message{Severity: message.Fatal, ID: "not-portable", Origin: message.Origin{File: path},
			Text: fmt.Sprintf("'%s' cannot be packed", path), Notes: []string{err.Error()}, Hint: "link without --warpld-reproduce", Cause: err})
		return
	}
	stat := info.Sys().(*syscall.Stat_t)
	id := fileID{uint64(stat.Dev), stat.Ino}
	file := reproduce.File{Name: name, Path: path, SameAs: p.known[id]}
	if file.SameAs == "" {
		p.known[id] = name
	}
	p.files = append(p.files, file)
}

// isThin says whether a file is an archive that holds only the names of its members.
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
