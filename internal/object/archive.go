package object

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/ar"
)

// readArchive reads all members of an archive, needed or not, as nvlink does.
func (rd *reader) readArchive(in *input, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return couldNotOpen(in.origin, err)
	}
	rd.archive = info
	archive, err := ar.Open(in.r, in.source.Size)
	if err != nil {
		return wrongArchive(in.origin, err)
	}
	for m, err := range archive.Members() {
		switch {
		case err != nil && errors.Is(err, ar.ErrFormat):
			return wrongArchive(in.origin, err)
		case err != nil && rd.release.Rules().RefusesCutArchives:
			return cutArchive(in.origin, err)
		case err != nil:
			rd.ignore(in, Unknown, "the rest of the archive is damaged: "+err.Error())
			return nil
		case m.Thin:
			err = rd.thinMember(in, m)
		default:
			err = rd.member(in, m)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// member reads a member by its contents; the names of members mean nothing.
func (rd *reader) member(archive *input, m ar.Member) error {
	in := &input{
		origin: message.Origin{File: archive.origin.File, Member: m.Name},
		source: archive.source.part(m.Offset, m.Size),
		r:      io.NewSectionReader(archive.r, m.Offset, m.Size),
	}
	if m.Size == 0 {
		rd.ignore(in, Unknown, "it is empty")
		return nil
	}
	if err := in.readHead(); err != nil {
		return couldNotOpen(in.origin, err)
	}
	if in.isDevice() {
		rd.ignore(in, Cubin, "it is device code by itself, which is not linked from archives")
		return nil
	}
	return rd.object(in, false)
}

// thinMember reads a member that is a file beside the archive, or a member of
// another archive beside it.
func (rd *reader) thinMember(archive *input, m ar.Member) error {
	path := m.Name
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(archive.source.Path), path)
	}
	origin := message.Origin{File: archive.origin.File, Member: m.Name}
	f, source, err := openFile(path)
	if err != nil {
		return noThinMember(origin, path, err)
	}
	defer f.Close()
	outer := &input{origin: archive.origin, source: source, r: f}
	if m.InArchive == 0 {
		return rd.member(outer, ar.Member{Name: m.Name, Size: source.Size})
	}
	inner, err := nested(f, source, m.InArchive)
	if err != nil {
		return wrongArchive(origin, err)
	}
	return rd.member(outer, inner)
}

// nested finds the member of an archive whose header is at an offset.
func nested(f *os.File, source Source, header int64) (ar.Member, error) {
	archive, err := ar.Open(f, source.Size)
	if err != nil {
		return ar.Member{}, err
	}
	for m, err := range archive.Members() {
		if err != nil {
			return ar.Member{}, err
		}
		if m.Header == header && !m.Thin {
			return m, nil
		}
	}
	return ar.Member{}, fmt.Errorf("%s: no member at %d", source.Path, header)
}
