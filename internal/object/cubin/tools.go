package cubin

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/object/elf64"
)

// A Tool is what a tool recorded about its part in making a file.
type Tool struct {
	Output  string // name of its output, if it was told to record that
	Name    string // "ptxas", "nvlink"
	Version string
	Build   string
	Options string
}

// arch returns the architecture that the tool was told to make code for.
func (t *Tool) arch() (gpu.Arch, bool) {
	words := strings.Fields(t.Options)
	for i, word := range words {
		if word == "-arch" && i+1 < len(words) {
			return gpu.Parse(words[i+1])
		}
	}
	return gpu.Arch{}, false
}

func (f *File) readTools() error {
	notes, err := f.notes(toolSection)
	if err != nil {
		return err
	}
	for _, desc := range notes {
		tool, err := parseTool(desc)
		if err != nil {
			return err
		}
		f.Tools = append(f.Tools, tool)
	}
	return nil
}

// parseTool parses one record: u32 version, then the offsets of five
// strings as u32, then the strings, each with a NUL at its end.
func parseTool(desc []byte) (t Tool, err error) {
	fields := []*string{&t.Output, &t.Name, &t.Version, &t.Build, &t.Options}
	head := 4 + 4*len(fields)
	if len(desc) < head {
		return t, recordError("%d bytes", len(desc))
	}
	strs := string(desc[head:])
	for i, field := range fields {
		at := binary.LittleEndian.Uint32(desc[4+4*i:])
		if uint64(at) > uint64(len(strs)) {
			return t, recordError("string at %d of %d", at, len(strs))
		}
		text, _, ended := strings.Cut(strs[at:], "\x00")
		if !ended {
			return t, recordError("string at %d of %d does not end", at, len(strs))
		}
		*field = text
	}
	return t, nil
}

func recordError(format string, args ...any) error {
	err := fmt.Errorf("%w: record of a tool: "+format, append([]any{elf64.ErrFormat}, args...)...)
	return &elf64.Error{Part: "section " + toolSection, Err: err}
}

// notes returns the descriptions of the notes in a section: u32 sizes of name and
// description, u32 type, name, description, both padded to 4.
func (f *File) notes(section string) ([][]byte, error) {
	s := f.Section(section)
	if s == nil {
		return nil, nil
	}
	b, err := f.Data(s, maxNotes)
	if err != nil {
		return nil, err
	}
	var notes [][]byte
	for len(b) > 0 {
		desc, rest, ok := cutNote(b)
		if !ok {
			err := fmt.Errorf("%w: a note with %d bytes left", elf64.ErrFormat, len(b))
			return nil, &elf64.Error{Part: "section " + section, Err: err}
		}
		notes, b = append(notes, desc), rest
	}
	return notes, nil
}

func cutNote(b []byte) (desc, rest []byte, ok bool) {
	if len(b) < 12 {
		return nil, nil, false
	}
	le := binary.LittleEndian
	name, size := uint64(le.Uint32(b)), uint64(le.Uint32(b[4:]))
	start := 12 + (name+3)&^3
	if start+size > uint64(len(b)) {
		return nil, nil, false
	}
	end := min(start+(size+3)&^3, uint64(len(b)))
	return b[start : start+size], b[end:], true
}
