//go:build realtools

// Package compare links the same inputs with nvlink and with warpld and
// compares all that a caller can see: exit code, messages, and every file,
// byte for byte.
package compare

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

func TestMain(m *testing.M) {
	code := m.Run()
	fmt.Print(counted.table(), &links)
	os.Exit(code)
}

// links counts all that were compared.
var links kit.Tally

// A form is how the objects hold their LTO-IR, with the engine that is made
// for it and must do the work.
type form struct {
	name   string
	engine string
}

var forms = []form{{"default", "jitlink"}, {"stored", "nvvm"}}

// A setting is one point of the matrix that every program is linked in.
type setting struct {
	tk kit.Toolkit
	// withoutNvlink is tk for warpld when it has to do the link alone.
	withoutNvlink kit.Toolkit
	arch          string
	form          form
	assemble      string // --warpld-assemble, if it is not the default
}

// forEachSetting runs f for the toolkits, the targets and the forms.
func forEachSetting(t *testing.T, archs []string, f func(t *testing.T, s setting)) {
	for _, tk := range kit.Toolkits(t) {
		withoutNvlink, err := tk.WithoutNvlink(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for _, arch := range archs {
			for _, form := range forms {
				s := setting{tk: tk, withoutNvlink: withoutNvlink, arch: arch, form: form}
				t.Run(fmt.Sprintf("%s/%s/%s", tk.Release(), arch, form.name), func(t *testing.T) { f(t, s) })
			}
		}
	}
}

// A link is one command line of nvlink, without what the setting adds.
type link struct {
	// inputs are KIND/FILE in the built corpus; FORM in KIND is the setting's. Objects of
	// the kind testdata are compiled from the sources in that folder.
	inputs  []string
	beside  []string // files that must lie beside the inputs
	options []string
	exit    int      // of nvlink: a link that fails for another reason than ours proves nothing
	merges  bool     // cubins have to be merged, for which warpld needs nvlink
	extra   []string // warnings that nvlink lacks
}

// with is the link with more options.
func (l link) with(options ...string) link {
	l.options = slices.Concat(l.options, options)
	return l
}

// objects names host objects of the setting's form.
func objects(names ...string) []string { return filesOf("FORM", ".o", names) }

func filesOf(kind, ext string, names []string) []string {
	var files []string
	for _, name := range names {
		files = append(files, kind+"/"+name+ext)
	}
	return files
}

// job is the link as nvcc would write it.
func (s setting) job(t *testing.T, l link) kit.Job {
	t.Helper()
	args := []string{"-m64", "-arch=" + s.arch, "--register-link-binaries=register.c", "-cpu-arch=X86_64", "-dlto",
		"-nvvmpath=" + s.tk.NVVM()}
	args = append(args, l.options...)
	var paths []string
	for _, input := range slices.Concat(l.inputs, l.beside) {
		kind, name, _ := strings.Cut(strings.ReplaceAll(input, "FORM", s.form.name), "/")
		if kind == "testdata" {
			paths = append(paths, s.compiled(t, name))
			continue
		}
		paths = append(paths, s.tk.Object(t, kind, name))
	}
	for _, input := range l.inputs {
		args = append(args, input[strings.LastIndexByte(input, '/')+1:])
	}
	args = append(args, "-L"+s.tk.Lib(), "-lcudadevrt", "-o", "linked")
	return kit.NewJob(t, paths, args...)
}

// compiled returns an object of a source in testdata.
func (s setting) compiled(t *testing.T, object string) string {
	t.Helper()
	options := kit.LTO
	if s.form.name == "stored" {
		options = kit.Stored
	}
	objects, err := s.tk.Compile(options, "testdata/"+strings.TrimSuffix(object, ".o")+".cu")
	if err != nil {
		t.Fatal(err)
	}
	return objects[0]
}

// warpld gets no nvlink for links that it has to do alone.
func (s setting) warpld(t *testing.T, l link) kit.Linker {
	tk := s.withoutNvlink
	if l.merges {
		tk = s.tk
	}
	flags := "--warpld-cuda=" + tk.Root + " --warpld-engine=" + s.form.engine
	if s.assemble != "" {
		flags += " --warpld-assemble=" + s.assemble
	}
	return kit.Warpld(t, flags)
}

// splits reports whether the compilers use several threads.
func (l link) splits() bool {
	return slices.ContainsFunc(l.options, func(o string) bool { return strings.HasPrefix(o, "-split-compile") })
}

func (s setting) differences(t *testing.T, l link, job kit.Job, want kit.Result) []string {
	t.Helper()
	got, err := s.warpld(t, l).Run(job)
	if err != nil {
		t.Fatal(err)
	}
	return kit.Comparison{Merged: l.merges, Extra: l.extra}.Differences(want, got)
}

// compare links with both and reports every difference.
func (s setting) compare(t *testing.T, l link) {
	t.Helper()
	job := s.job(t, l)
	want := s.tk.Reference(t, job)
	if want.Exit != l.exit {
		t.Fatalf("nvlink %q\nexit code %d, not the expected %d:\n%s", job.Args, want.Exit, l.exit, want.Stderr)
	}
	if l.exit == 0 && len(want.Files["linked"]) == 0 {
		t.Fatalf("nvlink %q\nwrote nothing", job.Args)
	}
	differences := s.differences(t, l, job, want)
	// With several threads ptxas now and then takes another register, on a busy
	// machine, under either linker: once in some hundred links.
	for retry := 0; retry < 2 && len(differences) > 0 && l.splits(); retry++ {
		t.Logf("once more, because of -split-compile: %s", strings.Join(differences, "\n"))
		differences = s.differences(t, l, job, want)
	}
	counted.add(s, l.merges, len(differences) == 0)
	links.Same(s.tk, len(differences) == 0)
	if len(differences) > 0 {
		t.Errorf("nvlink %s\n%s", strings.Join(job.Args, " "), strings.Join(differences, "\n"))
	}
}
