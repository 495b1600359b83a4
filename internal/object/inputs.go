package object

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/ar"
	"github.com/warpld/warpld/internal/object/elf64"
)

// readAtOnce is how many files are read, and so are open, at the same time.
const readAtOnce = 16

// Inputs are the inputs of a link, as the command line names them.
type Inputs struct {
	Files       []string
	Libraries   []string      // of -l
	LibraryPath []string      // of -L
	LTO         bool          // LTO-IR by itself may be an input
	Machine     elf64.Machine // of the host, which libraries must be for; 0 is any machine
	Release     gpu.Release   // of CUDA, whose rules apply
}

// Read reads one file. For an archive it returns an Object for each member.
func Read(path string, lto bool, report func(*message.Message)) ([]*Object, error) {
	return ReadAll(Inputs{Files: []string{path}, LTO: lto}, report)
}

// ReadAll reads all inputs in the order in which nvlink links them: files, then libraries. It
// also returns Objects that are not linked, with the reason. Messages that do not stop the
// link go to report. The error is that of the first input in link order, whichever was read
// first.
func ReadAll(in Inputs, report func(*message.Message)) ([]*Object, error) {
	folder, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	paths := append([]string(nil), in.Files...)
	for _, name := range in.Libraries {
		path, messages, err := in.findLibrary(name)
		for _, m := range messages {
			report(m)
		}
		if err != nil {
			return nil, err
		}
		if path != "" {
			paths = append(paths, path)
		}
	}
	readers := make([]*reader, len(paths))
	for i := range readers {
		readers[i] = &reader{lto: in.LTO, release: in.Release, folder: folder}
	}
	if err := readFiles(paths, readers); err != nil {
		return nil, err
	}
	return join(readers, report), nil
}

// readFiles reads each file with its own reader.
func readFiles(paths []string, readers []*reader) error {
	errs := make([]error, len(paths))
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(readAtOnce, len(paths)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(paths); i = int(next.Add(1)) - 1 {
				errs[i] = readers[i].file(paths[i])
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// join combines what the readers found. An archive that is named twice, by whatever path, is
// linked once.
func join(readers []*reader, report func(*message.Message)) []*Object {
	type stamp struct {
		size     int64
		modified time.Time
	}
	archives := map[stamp][]os.FileInfo{}
	var objects []*Object
next:
	for _, rd := range readers {
		if info := rd.archive; info != nil {
			key := stamp{info.Size(), info.ModTime()}
			for _, earlier := range archives[key] {
				if os.SameFile(earlier, info) {
					continue next
				}
			}
			archives[key] = append(archives[key], info)
		}
		for _, m := range rd.messages {
			report(m)
		}
		objects = append(objects, rd.objects...)
	}
	return objects
}

// findLibrary searches for the archive of -lNAME. A shared library anywhere in
// the path hides it, and then there is no device code to link.
func (in *Inputs) findLibrary(name string) (path string, messages []*message.Message, err error) {
	for _, folder := range in.LibraryPath {
		path := libraryFile(folder, name, ".so")
		if _, err := os.Stat(path); err == nil {
			return "", []*message.Message{libraryShared(name, path)}, nil
		}
	}
	for _, folder := range in.LibraryPath {
		path := libraryFile(folder, name, ".a")
		if _, err := os.Stat(path); err != nil {
			continue
		}
		switch why, err := in.incompatible(path); {
		case err != nil:
			return "", messages, err
		case why != nil:
			messages = append(messages, librarySkipped(name, path, why))
		default:
			return path, messages, nil
		}
	}
	if messages == nil {
		messages = []*message.Message{libraryMissing(name)}
	}
	return "", messages, nil
}

// libraryFile keeps the folder as it was given, because messages show it.
func libraryFile(folder, name, extension string) string {
	return strings.TrimSuffix(folder, "/") + "/lib" + name + extension
}

// incompatible returns why the search skips a library, if it does: its first member is not for
// this host.
func (in *Inputs) incompatible(path string) (why, err error) {
	origin := message.Origin{File: path}
	f, source, err := openFile(path)
	if err != nil {
		return nil, couldNotOpen(origin, err)
	}
	defer f.Close()
	archive, err := ar.Open(f, source.Size)
	if errors.Is(err, ar.ErrTruncated) {
		return err, nil
	}
	if err != nil {
		return nil, wrongArchive(origin, err)
	}
	for m, err := range archive.Members() {
		if err != nil {
			return err, nil
		}
		if m.Thin {
			return nil, nil
		}
		return wrongHost(io.NewSectionReader(f, m.Offset, m.Size), m, in.Machine), nil
	}
	return errors.New("the archive has no members"), nil
}

// wrongHost returns why the first member of a library is not for a machine. Device code is for
// any machine.
func wrongHost(r io.ReaderAt, m ar.Member, machine elf64.Machine) error {
	h, err := elf64.ReadHeader(r, m.Size)
	switch {
	case err != nil:
		return fmt.Errorf("its first member %s is not an object: %w", m.Name, err)
	case machine != 0 && h.Machine != machine && h.Machine != elf64.CUDA:
		return fmt.Errorf("its first member %s is for machine %d, not %d", m.Name, h.Machine, machine)
	}
	return nil
}
