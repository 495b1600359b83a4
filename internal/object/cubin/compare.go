package cubin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/object/elf64"
)

// A Difference is one thing in which two files are not the same.
type Difference struct {
	Where string // "header", "section .text.k", "file"
	What  string // "flags", "contents at 0x10"
	A, B  string
}

func (d Difference) String() string {
	return fmt.Sprintf("%s: %s: %s and %s", d.Where, d.What, d.A, d.B)
}

// Compare says in what the link results a and b differ: the header, which
// sections there are and in which order, their headers and contents. Where in
// the file a section is does not count. The records of command lines in
// .note.nv.tkinfo, and whether the files are equal byte for byte, count only
// when exact is set. A file that cannot be read is a difference.
func Compare(a, b *File, exact bool) []Difference {
	c := &comparison{a: a, b: b}
	if exact {
		c.files()
	}
	c.headers()
	c.order()
	c.sections(exact)
	return c.found
}

type comparison struct {
	a, b       *File
	found      []Difference
	bufA, bufB [1 << 15]byte
}

func (c *comparison) add(where, what string, a, b any) {
	c.found = append(c.found, Difference{where, what, fmt.Sprint(a), fmt.Sprint(b)})
}

func (c *comparison) headers() {
	a, b := &c.a.Header, &c.b.Header
	fields := []struct {
		name string
		a, b any
	}{
		{"identification", fmt.Sprintf("% x", a.Ident), fmt.Sprintf("% x", b.Ident)},
		{"type", a.Type, b.Type},
		{"machine", a.Machine, b.Machine},
		{"version", a.Version, b.Version},
		{"flags", fmt.Sprintf("%#x", a.Flags), fmt.Sprintf("%#x", b.Flags)},
		{"program headers", a.ProgramCount, b.ProgramCount},
	}
	for _, f := range fields {
		if f.a != f.b {
			c.add("header", f.name, f.a, f.b)
		}
	}
}

// order compares the names of the sections.
func (c *comparison) order() {
	a, b := sectionNames(c.a), sectionNames(c.b)
	if slices.Equal(a, b) {
		return
	}
	onlyA, onlyB := without(a, b), without(b, a)
	if len(onlyA)+len(onlyB) == 0 {
		i := 0
		for a[i] == b[i] {
			i++
		}
		c.add("sections", fmt.Sprintf("order from %d", i), a[i], b[i])
		return
	}
	c.add("sections", "only in one", "["+strings.Join(onlyA, " ")+"]", "["+strings.Join(onlyB, " ")+"]")
}

func sectionNames(f *File) []string {
	names := make([]string, len(f.Sections))
	for i := range f.Sections {
		names[i] = f.Sections[i].Name
	}
	return names
}

// without returns those of names that others lacks, or has less often.
func without(names, others []string) []string {
	count := map[string]int{}
	for _, name := range others {
		count[name]++
	}
	var only []string
	for _, name := range names {
		if count[name]--; count[name] < 0 {
			only = append(only, name)
		}
	}
	return only
}

// sections compares the sections that both files have; of those with the same
// name the first with the first, and so on.
func (c *comparison) sections(exact bool) {
	inB := map[string][]*elf64.Section{}
	for i := range c.b.Sections {
		s := &c.b.Sections[i]
		inB[s.Name] = append(inB[s.Name], s)
	}
	for i := range c.a.Sections {
		s := &c.a.Sections[i]
		others := inB[s.Name]
		if len(others) == 0 || (s.Name == toolSection && !exact) {
			continue
		}
		inB[s.Name] = others[1:]
		c.header(s, others[0])
		// Of uninitialized memory nvlink writes what lay behind the section in its
		// input into relocatable files.
		if exact || (s.Type != SHT_CUDA_SHARED && s.Type != SHT_CUDA_GLOBAL) {
			c.contents(s, others[0])
		}
	}
}

func (c *comparison) header(s, t *elf64.Section) {
	fields := []struct {
		name string
		a, b uint64
	}{
		{"type", uint64(s.Type), uint64(t.Type)},
		{"flags", s.Flags, t.Flags},
		{"address", s.Addr, t.Addr},
		{"size", s.Size, t.Size},
		{"link", uint64(s.Link), uint64(t.Link)},
		{"info", uint64(s.Info), uint64(t.Info)},
		{"alignment", s.Align, t.Align},
		{"entry size", s.EntSize, t.EntSize},
	}
	for _, f := range fields {
		if f.a != f.b {
			c.add("section "+s.Name, f.name, fmt.Sprintf("%#x", f.a), fmt.Sprintf("%#x", f.b))
		}
	}
}

func (c *comparison) contents(s, t *elf64.Section) {
	where := "section " + s.Name
	offsetA, sizeA, errA := c.a.Bytes(s)
	offsetB, sizeB, errB := c.b.Bytes(t)
	if errA != nil || errB != nil {
		c.add(where, "contents", errText(errA), errText(errB))
		return
	}
	c.bytes(where, c.a.Span(offsetA, sizeA), c.b.Span(offsetB, sizeB))
}

func errText(err error) string {
	if err == nil {
		return "can be read"
	}
	return err.Error()
}

func (c *comparison) files() {
	c.bytes("file", c.a.Span(0, c.a.Size()), c.b.Span(0, c.b.Size()))
}

// bytes finds the first byte in which a and b differ.
func (c *comparison) bytes(where string, a, b *io.SectionReader) {
	const shown = 16
	bufA, bufB := c.bufA[:], c.bufB[:]
	for offset := int64(0); ; {
		n, errA := io.ReadFull(a, bufA)
		m, errB := io.ReadFull(b, bufB)
		if errA = unexpected(errA); errA != nil {
			c.add(where, "contents", errA, errText(unexpected(errB)))
			return
		}
		if errB = unexpected(errB); errB != nil {
			c.add(where, "contents", errText(nil), errB)
			return
		}
		x, y := bufA[:n], bufB[:m]
		if !bytes.Equal(x, y) {
			at := 0
			for at < min(n, m) && x[at] == y[at] {
				at++
			}
			c.add(where, fmt.Sprintf("contents from %#x", offset+int64(at)),
				fmt.Sprintf("[% x]", x[at:min(n, at+shown)]), fmt.Sprintf("[% x]", y[at:min(m, at+shown)]))
			return
		}
		if n < len(bufA) {
			return
		}
		offset += int64(n)
	}
}

// unexpected returns an error unless it is the end of the data.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
