package main

import (
	"path/filepath"
	"strings"

	"github.com/warpld/warpld/test/kit"
)

// A corpus is everything that is built with one toolkit.
type corpus struct {
	tk        kit.Toolkit
	sources   string // of the hand-written files
	generated string // sources of the generated program
	objects   string // where objects go
	files     string // where the readers' files go
}

// A kind is one way to compile: nvcc's options and what they apply to.
type kind struct {
	name  string   // of the folder; FORM in it is replaced by the name of each form
	args  []string // FORM is replaced by the option of the form
	files []string // nil: the whole hand-written corpus
	ext   string
}

var (
	// everyIR asks for LTO-IR of each target in one object, half the work of
	// an object for each. The linkers have to pick the right one.
	everyIR = gencode("lto")
	oldIR   = []string{"-gencode", "arch=compute_75,code=lto_75"} // links for every newer target

	// The files that are compiled with other options too. Together they have
	// host references, static names, weak functions, strings and shared memory.
	few = []string{"hostref", "w1", "w2"}
)

// The forms of LTO-IR in an object: compressed and obfuscated, or as it is.
var forms = []struct {
	name   string
	option []string
}{{"default", nil}, {"stored", []string{"-no-compress"}}}

// gencode asks for code of one form for each target, as in code=lto_80.
func gencode(form string) []string {
	var args []string
	for _, arch := range kit.Archs {
		n := strings.TrimPrefix(arch, "sm_")
		args = append(args, "-gencode", "arch=compute_"+n+",code="+form+"_"+n)
	}
	return args
}

func kinds() []kind {
	dc := concat("-dc", "FORM", everyIR)
	return []kind{
		{name: "rdc", args: concat("-dc", gencode("sm")), files: []string{"a", "b", "r3_printf"}},
		{name: "rdc", args: []string{"-cubin", "-rdc=true", "-arch=sm_80"}, files: []string{"b"}, ext: ".cubin"},
		{name: "ltoir", args: []string{"-ltoir", "-dlto", "-arch=sm_75"}, files: []string{"a", "b", "hostref"},
			ext: ".ltoir"},
		{name: "FORM", args: dc},
		{name: "FORM", args: concat("-fatbin", "-rdc=true", "FORM", everyIR), files: []string{"a", "b", "cdp"},
			ext: ".fatbin"},
		{name: "FORM-single", args: []string{"-dc", "FORM", "-arch=sm_80", "-dlto"}, files: few},
		{name: "FORM-lineinfo", args: concat(dc, "-lineinfo"), files: few},
		{name: "FORM-maxreg", args: concat(dc, "-maxrregcount=32"), files: few},
		{name: "FORM-fastmath", args: concat(dc, "-use_fast_math"), files: few},
	}
}

// compileSteps returns all groups that start from sources.
func (c corpus) compileSteps() ([]group, error) {
	var groups []group
	for _, k := range kinds() {
		sources, err := c.sourcesOf(k)
		if err != nil {
			return nil, err
		}
		for _, source := range sources {
			groups = append(groups, c.inForms(k, source, nil))
		}
	}
	generated, err := filepath.Glob(filepath.Join(c.generated, "*.cu"))
	if err != nil {
		return nil, err
	}
	header := []string{filepath.Join(c.generated, "common.h")}
	for _, source := range generated {
		groups = append(groups, c.inForms(kind{name: "FORM-generated", args: concat("-dc", "FORM", oldIR)}, source, header))
	}
	groups = append(groups, group{c.hostOnly(filepath.Join(c.objects, "host", "host.o"))})
	return append(groups, c.readerFiles()...), nil
}

// inForms returns the steps that compile a source as kind k, one for each form if
// its name has FORM in it.
func (c corpus) inForms(k kind, source string, headers []string) group {
	if !strings.Contains(k.name, "FORM") {
		return group{c.nvcc(filepath.Join(c.objects, k.name), source, k.ext, headers, k.args)}
	}
	var steps group
	for _, form := range forms {
		dir := filepath.Join(c.objects, strings.ReplaceAll(k.name, "FORM", form.name))
		var args []string
		for _, arg := range k.args {
			if arg == "FORM" {
				args = append(args, form.option...)
			} else {
				args = append(args, arg)
			}
		}
		steps = append(steps, c.nvcc(dir, source, k.ext, headers, args))
	}
	return steps
}

func (c corpus) sourcesOf(k kind) ([]string, error) {
	if k.files == nil {
		return filepath.Glob(filepath.Join(c.sources, "*.cu"))
	}
	var sources []string
	for _, name := range k.files {
		sources = append(sources, filepath.Join(c.sources, name+".cu"))
	}
	return sources, nil
}

// nvcc compiles one source into folder dir.
func (c corpus) nvcc(dir, source, ext string, headers, args []string) step {
	if ext == "" {
		ext = ".o"
	}
	name := strings.TrimSuffix(filepath.Base(source), ".cu") + ext
	return step{out: filepath.Join(dir, name), inputs: concat(source, headers), nvcc: true,
		args: concat(c.tk.Tool("nvcc"), args, source, "-o", "OUT")}
}

// combineSteps returns all groups that start from objects.
func (c corpus) combineSteps() []group {
	groups := []group{{archive(filepath.Join(c.objects, "host"), "libhost.a", "rcs", "host.o")}}
	for _, form := range forms {
		dir := filepath.Join(c.objects, form.name)
		groups = append(groups,
			group{archive(dir, "libparts.a", "rcs", "b.o", "r3_printf.o", "r8_math.o")},
			group{archive(dir, "libthin.a", "rcsT", "b.o", "r3_printf.o", "r8_math.o")})
	}
	return append(groups, c.readerArchives()...)
}

// archive runs ar in the folder of its members: nvlink reads only those thin
// archives whose members have no folder in their names.
func archive(dir, name, operation string, members ...string) step {
	s := step{dir: dir, out: filepath.Join(dir, name), args: concat("ar", operation, "OUT", members)}
	for _, m := range members {
		s.inputs = append(s.inputs, filepath.Join(dir, m))
	}
	return s
}

// concat makes one list of strings and lists of strings.
func concat(parts ...any) []string {
	var list []string
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			list = append(list, p)
		case []string:
			list = append(list, p...)
		}
	}
	return list
}
