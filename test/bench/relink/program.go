package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/warpld/warpld/test/kit"
)

// A program is what is linked, and the objects that change after edits.
type program struct {
	name    string
	modules int
	objects []string
	edits   []edit
}

// An edit changes one file.
type edit struct {
	name     string
	file     string
	from, to string
	last     bool   // the last place with that text; otherwise the first
	object   string // the file after the edit
}

// newProgram writes and compiles a program.
func newProgram(tk kit.Toolkit, name, dir string) (*program, error) {
	p := &program{name: name}
	options := kit.Stored
	var sources []string
	var err error
	switch name {
	case "amplifying":
		sources, err = kit.Amplifying(dir)
		p.edits = []edit{
			{name: "a comment", file: "lib", from: "__device__", to: "// said here\n__device__"},
			{name: "a leaf", file: "lib", from: "return x + y;", to: "return 1.5f * x + y;"},
			{name: "a kernel", file: "kernels", from: "*p = 0", to: "*p = 0.5f"},
		}
	case "thrust", "thrust-stored":
		if name == "thrust" {
			options = kit.LTO // as nvcc does unless it is told otherwise
		}
		sources, err = kit.Thrust(dir)
		p.edits = []edit{
			{name: hostCode, file: "main", from: "1 << 20", to: "1 << 21"},
			{name: "a comment", file: "score", from: "#include", to: "// said here\n#include"},
			{name: "a kernel", file: "sort", from: "score(a) < score(b)", to: "score(a) < 2 * score(b)"},
			{name: "a library", file: "score", from: "float s = 0", to: "float s = 0.5f"},
		}
	default:
		if _, err = fmt.Sscan(name, &p.modules); err != nil {
			return nil, fmt.Errorf("there is no program %q", name)
		}
		sources, err = kit.Generate(dir, "--modules", name)
		middle := fmt.Sprintf("m%d", p.modules/2)
		p.edits = []edit{
			{name: "a comment", file: middle, from: "#include", to: "// said here\n#include"},
			{name: "a leaf", file: middle, from: "return x + y", to: "return 1.5f * x + y"},
			{name: "a function in between", file: middle, from: "return x + y", to: "return 1.5f * x + y", last: true},
			{name: "a kernel", file: middle, from: "out[blockIdx.x] = s;", to: "out[blockIdx.x] = s + 0.5f;"},
			{name: "a library", file: "lib1", from: "return x + y", to: "return 1.5f * x + y"},
		}
	}
	if err == nil {
		p.objects, err = tk.Compile(options, sources...)
	}
	if p.modules == 0 {
		p.modules = len(sources)
	}
	for i := range p.edits {
		if err == nil {
			err = p.edits[i].compile(tk, options, dir)
		}
	}
	return p, err
}

// compile makes the object for the file after the edit, which keeps its name.
func (e *edit) compile(tk kit.Toolkit, options []string, dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, e.file+".cu"))
	if err != nil {
		return err
	}
	at := strings.Index(string(text), e.from)
	if e.last {
		at = strings.LastIndex(string(text), e.from)
	}
	if at < 0 {
		return fmt.Errorf("%s has no %q", e.file, e.from)
	}
	edited := string(text[:at]) + e.to + string(text[at+len(e.from):])
	copied := filepath.Join(dir, "edits", strings.ReplaceAll(e.name, " ", "-"))
	if err := os.MkdirAll(copied, 0o755); err != nil {
		return err
	}
	headers, err := filepath.Glob(filepath.Join(dir, "*.h"))
	if err != nil {
		return err
	}
	for _, h := range headers {
		text, err := os.ReadFile(h)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(copied, filepath.Base(h)), text, 0o644); err != nil {
			return err
		}
	}
	source := filepath.Join(copied, e.file+".cu")
	if err := os.WriteFile(source, []byte(edited), 0o644); err != nil {
		return err
	}
	objects, err := tk.Compile(options, source)
	e.object = objects[0]
	return err
}
