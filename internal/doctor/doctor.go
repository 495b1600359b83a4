// Package doctor finds what is wrong with the device code of a program as a whole: device
// links that are missing or done twice, and objects that don't fit together.
package doctor

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/warpld/warpld/internal/gpu"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/object/container"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/internal/size"
)

// An Input is what is known about one file of the program.
type Input struct {
	File *size.File
	// Modules are the ids of objects that wait for a device link, and Linked the ids of those
	// that a device link has linked into this file.
	Modules, Linked []string
}

// Examine reads a file.
func Examine(f *container.File, m *size.Meter) (*Input, error) {
	measured, err := m.Measure(f)
	if err != nil {
		return nil, err
	}
	in := &Input{File: measured}
	if f.Kind != container.Object && !f.Kind.Linked() {
		return in, nil
	}
	h, err := hostelf.Read(io.NewSectionReader(f.R, 0, f.Size), f.Size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	in.Modules, in.Linked = h.ModuleIDs, h.LinkedIDs
	return in, nil
}

// Check returns what is wrong with a program that consists of these files. The driver is
// the release of CUDA that the oldest driver supports, or the zero Release.
func Check(inputs []*Input, driver gpu.Release) (found []*message.Message) {
	c := &checker{inputs: inputs, linkedBy: map[string][]*Input{}}
	for _, in := range inputs {
		for _, id := range in.Linked {
			c.linkedBy[id] = append(c.linkedBy[id], in)
		}
	}
	c.missingLinks()
	c.doubledLinks()
	c.acrossLibraries()
	c.architectures()
	c.sameNames()
	if driver.Known() {
		c.newerPTX(driver)
	}
	return c.found
}

type checker struct {
	inputs   []*Input
	linkedBy map[string][]*Input // by module id
	found    []*message.Message
}

func (c *checker) report(severity message.Severity, id, hint string, notes []string, format string, args ...any) {
	c.found = append(c.found, &message.Message{Severity: severity, ID: id, Text: fmt.Sprintf(format, args...),
		Notes: notes, Hint: hint})
}

// linkedIn reports whether an id is linked in the file itself or, for an object, in any
// other object.
func (c *checker) linkedIn(in *Input, id string) bool {
	return slices.ContainsFunc(c.linkedBy[id], func(by *Input) bool { return by == in || !in.File.Kind.Linked() })
}

// missingLinks finds objects with relocatable device code that no device link has linked.
func (c *checker) missingLinks() {
	var waiting []string
	var links []string
	for _, in := range c.inputs {
		if !in.File.Kind.Linked() && len(in.Linked) > 0 {
			links = append(links, in.File.Name)
		}
		for _, id := range in.Modules {
			switch {
			case c.linkedIn(in, id):
			case in.File.Kind.Linked():
				c.report(message.Error, "missing-device-link", "link the library with 'nvcc -dlink' and the object that it "+
					"writes, or with 'nvcc -shared'", []string{"__cudaRegisterLinkedBinary" + id + " is not defined in it"},
					"%s has relocatable device code (-rdc=true, -dc) that no device link has linked", in.File.Name)
			default:
				waiting = append(waiting, in.File.Name)
			}
		}
	}
	if len(waiting) == 0 {
		return
	}
	hint := "run 'nvcc -dlink' on all objects with relocatable device code, and give its output to the host's linker"
	notes := []string{"without it the host's linker reports __cudaRegisterLinkedBinary_... as undefined"}
	if len(links) > 0 {
		notes = append(notes, "there is a device link, "+message.FirstFew(links)+", without these objects")
		hint = "add these objects to the command line of that device link"
	}
	c.report(message.Error, "missing-device-link", hint, notes,
		"no device link has linked the relocatable device code of %s", message.FirstFew(waiting))
}

// doubledLinks finds objects that two device links have linked. A library beside the
// objects that it was made of is not counted twice.
func (c *checker) doubledLinks() {
	reported := map[string]bool{}
	for _, in := range c.inputs {
		for _, id := range in.Linked {
			var names []string
			for _, by := range c.linkedBy[id] {
				if by.File.Kind.Linked() == in.File.Kind.Linked() && !slices.Contains(names, by.File.Name) {
					names = append(names, by.File.Name)
				}
			}
			key := strings.Join(names, "\x00")
			if len(names) < 2 || reported[key] {
				continue
			}
			reported[key] = true
			c.report(message.Error, "doubled-device-link", "link each object into one device link only; objects that two "+
				"libraries need belong into a library of their own",
				[]string{"both define __cudaRegisterLinkedBinary" + id},
				"%s is linked twice: by %s", c.nameOf(id), strings.Join(names, " and by "))
		}
	}
}

// nameOf returns the object of a module id, or the id.
func (c *checker) nameOf(id string) string {
	for _, in := range c.inputs {
		if slices.Contains(in.Modules, id) && !in.File.Kind.Linked() {
			return in.File.Name
		}
	}
	return "the object " + id
}

// acrossLibraries finds calls of device functions that only a shared library defines.
func (c *checker) acrossLibraries() {
	defined := map[string]*Input{} // by objects
	shared := map[string]*Input{}
	for _, in := range c.inputs {
		for i := range in.File.Pieces {
			p := &in.File.Pieces[i]
			for _, fn := range p.Functions {
				switch {
				case !p.Relocatable:
				case in.File.Kind.Linked():
					shared[fn.Name] = in
				default:
					defined[fn.Name] = in
				}
			}
		}
	}
	seen := map[[2]string]bool{}
	for _, in := range c.inputs {
		if in.File.Kind.Linked() {
			continue
		}
		for i := range in.File.Pieces {
			for _, name := range in.File.Pieces[i].Needs {
				library := shared[name]
				if library == nil || defined[name] != nil || seen[[2]string{in.File.Name, name}] {
					continue
				}
				seen[[2]string{in.File.Name, name}] = true
				c.report(message.Error, "device-code-in-library", "put the objects of that library into a static library, or "+
					"pass data through kernels and host functions", nil,
					"%s calls %s, which only the shared library %s defines; device code is not linked from shared libraries",
					in.File.Name, message.Demangle(name), library.File.Name)
			}
		}
	}
}

// newerPTX finds PTX that a driver can't read.
func (c *checker) newerPTX(driver gpu.Release) {
	type version struct {
		text  string
		since gpu.Release
	}
	users := map[version][]string{}
	for _, in := range c.inputs {
		for i := range in.File.Pieces {
			p := &in.File.Pieces[i]
			if p.Kind != size.KindPTX {
				continue
			}
			majorText, minorText, _ := strings.Cut(p.Version, ".")
			major, _ := strconv.Atoi(majorText)
			minor, _ := strconv.Atoi(minorText)
			since, known := gpu.PTXSince(major, minor)
			v := version{p.Version, since}
			if known && driver.Before(since) && !slices.Contains(users[v], in.File.Name) {
				users[v] = append(users[v], in.File.Name)
			}
		}
	}
	var versions []version
	for v := range users {
		versions = append(versions, v)
	}
	slices.SortFunc(versions, func(a, b version) int { return strings.Compare(a.text, b.text) })
	for _, v := range versions {
		hint := "compile with CUDA " + driver.String() + " or older, or add code for the GPUs that have this driver " +
			"(-gencode arch=compute_N,code=sm_N)"
		c.report(message.Warning, "newer-ptx", hint, nil,
			"PTX %s of %s needs a driver for CUDA %s or later; one for %s can't compile it", v.text,
			message.FirstFew(users[v]), v.since, driver)
	}
}
