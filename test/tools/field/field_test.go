package main

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/warpld/warpld/test/kit"
)

// fakeToolkit makes a toolkit whose nvcc is a script.
func fakeToolkit(t *testing.T, script string) kit.Toolkit {
	t.Helper()
	tk := kit.Toolkit{Root: t.TempDir(), Version: "1.2.3"}
	write(t, tk.Tool("nvcc"), "#!/bin/sh\n"+script, 0o755)
	return tk
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func newCompiler(dir string) *compiler {
	return &compiler{dir: dir, limit: time.Minute, slots: make(chan struct{}, 2), digests: map[string]string{}}
}

// TestKeptObjects: an object is compiled again if a header has changed, and not otherwise.
func TestKeptObjects(t *testing.T) {
	tk := fakeToolkit(t, `while [ $# -gt 0 ]; do
  case $1 in -MF) depends=$2; shift ;; -o) object=$2; shift ;; *.cu) source=$1 ;; esac
  shift
done
printf 'x.o : %s \\\n    x.h\n' "$source" >"$depends"
cat "$source" x.h >"$object"
`)
	dir, kept := t.TempDir(), t.TempDir()
	write(t, filepath.Join(dir, "x.cu"), "source ", 0o644)
	write(t, filepath.Join(dir, "x.h"), "header", 0o644)
	compile := func(options ...string) (string, int) {
		t.Helper()
		c := newCompiler(kept)
		path, err := c.object(t.Context(), tk, unit{Dir: dir, Source: "x.cu"}, options)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data), c.ran
	}
	expect := func(wantText string, wantRan int, options ...string) {
		t.Helper()
		if text, ran := compile(options...); text != wantText || ran != wantRan {
			t.Errorf("%q after %d compilations, want %q after %d", text, ran, wantText, wantRan)
		}
	}
	expect("source header", 1)
	expect("source header", 0)
	write(t, filepath.Join(dir, "x.h"), "other", 0o644)
	expect("source other", 1)
	expect("source other", 0)
	expect("source other", 1, "-O1")
}

func TestFailedCompilations(t *testing.T) {
	c := newCompiler(t.TempDir())
	tk := fakeToolkit(t, "echo note; echo \"$PWD/x.cu(1): error: no\"; exit 2\n")
	dir := t.TempDir()
	if _, err := c.object(t.Context(), tk, unit{Dir: dir, Source: "x.cu"}, nil); err == nil ||
		err.Error() != "exit status 2: x.cu(1): error: no" {
		t.Errorf("got %v", err)
	}
	c.limit = 50 * time.Millisecond
	tk = fakeToolkit(t, "sleep 60 & wait\n")
	start := time.Now()
	if _, err := c.object(t.Context(), tk, unit{Dir: dir, Source: "x.cu"}, nil); err == nil ||
		!strings.Contains(err.Error(), "did not compile within 50ms") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it ended after %s", took)
	}
}

func TestMinimize(t *testing.T) {
	all := strings.Fields("a b c d e f g h i j k l m")
	for _, needed := range []string{"a", "m", "c j", "a g m", "a b c d e f g h i j k l m"} {
		runs := 0
		got := minimize(all, func(some []string) bool {
			runs++
			return !slices.ContainsFunc(strings.Fields(needed), func(n string) bool { return !slices.Contains(some, n) })
		})
		if strings.Join(got, " ") != needed || runs > 100 {
			t.Errorf("%q after %d runs, want %q", got, runs, needed)
		}
	}
	if got := minimize(all, func([]string) bool { return false }); !slices.Equal(got, all) {
		t.Errorf("%q, want all", got)
	}
}

func TestEvenly(t *testing.T) {
	if got := evenly([]int{0, 1, 2, 3, 4, 5, 6}, 3); !slices.Equal(got, []int{0, 2, 4}) {
		t.Errorf("got %d", got)
	}
	if got := evenly([]int{0, 1}, 0); len(got) != 2 {
		t.Errorf("got %d", got)
	}
}

// someResults are of one program that is equal, one that is not, and one that is not built.
func someResults() *Results {
	link := func(outcome, how, merger string, problems ...string) Link {
		return Link{Toolkit: "13.0", Arch: "sm_80", Form: compressed, Kernels: 3, Outcome: outcome, Fast: how,
			Merger: merger, Problems: problems, CPU: map[string]float64{"nvlink": 1.5, exact: 1, fast: 2, cached: .25}}
	}
	bad := link(Different, inSlices, byNvlink+"no 'x'", "exact: linked.cubin: \nfile: contents\n"+
		"sections: order\nsection .a|b: size\nsection .a|b: contents")
	bad.Minimized = []string{"b.o"}
	return &Results{Programs: []Program{
		{Name: "two", Files: 2, Links: []Link{link(Equal, "it has 1 kernels in 'a'", noMerge), bad}},
		{Name: "one", Files: 1, Links: []Link{link(Equal, "it has 2 kernels in 'b'", noMerge)}},
		{Name: "none", Files: 1, NotCompiled: []Failure{{"13.0 sm_80", "x.cu", "error: no\nmore"}}},
	}}
}

func TestPage(t *testing.T) {
	r := someResults()
	r.About = About{Sources: map[string]string{"t": "somewhere"}, Found: map[string]int{"t": 5}}
	r.Programs[0].Name = "t/wo"
	page := r.page()
	for _, want := range []string{
		"| 13.0 sm_80 compressed | equal | 2 |\n", "| 13.0 sm_80 compressed | different | 1 |\n",
		"| it has N kernels in '...' | 2 |\n", "| in slices | 1 |\n", "| 13.0 sm_80 | nvlink: no '...' | 1 |\n",
		"| one | 1 | 3 | all 1 | 1.50 | 1.00 | 2.00 | 0.25 |\n| t/wo | 2 | 3 | **1 of 2** | 3.00 | 2.00 | 4.00 | 0.50 |\n",
		"| none | 1 | 0 | not built | 0.00 ", "| 3 programs | 4 | 6 |  | 4.50 |",
		`| t/wo | 13.0 sm_80 compressed | exact: linked.cubin:  sections, .a\|b | b.o |` + "\n",
		"| none | 1 | x.cu: error: no |\n", "| programs | 2 linked, 2 of them from all their sources; 1 not built |\n",
		"| `t` | somewhere: 1 of 5 programs linked |\n",
		"| links | 3 compared, 2 good, 1 different |\n", "| runs | 3 of nvlink, 3 exact, 3 from the cache, 3 fast |\n",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}

func TestVerdict(t *testing.T) {
	r := someResults()
	if err := r.verdict(); err == nil || err.Error() != "1 of 3 links are different" {
		t.Errorf("got %v", err)
	}
	r.Programs = r.Programs[1:]
	if err := r.verdict(); err != nil {
		t.Errorf("got %v", err)
	}
	r.Programs = r.Programs[1:]
	if err := r.verdict(); err == nil {
		t.Error("a trial without links is a success")
	}
}

// TestStore: a trial that goes on knows what was linked before, in which modes, and what was
// not good.
func TestStore(t *testing.T) {
	dir := t.TempDir()
	good := Entry{Program: "a/good", Setting: "13.0 sm_80 plain", Files: 2, Time: time.Unix(1e9, 0),
		Link: &Link{Toolkit: "13.0", Arch: "sm_80", Form: plain, Outcome: Equal, CPU: map[string]float64{exact: 1}}}
	bad, missing := good, good
	bad.Program, bad.Link = "a/bad", &Link{Outcome: Different, Problems: []string{"exact: x"}}
	missing.Program, missing.Link = "a/missing", nil
	missing.NotCompiled = []Failure{{"13.0", "x.cu", "error"}}
	s, err := openStore(dir, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []Entry{good, bad, missing} {
		if err := s.add(e); err != nil {
			t.Fatal(err)
		}
	}
	if s, err = openStore(dir, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		program string
		modes   []string
		again   bool
		want    bool
	}{
		{"a/good", []string{exact}, true, true}, {"a/good", []string{exact, fast}, false, false},
		{"a/bad", nil, false, false}, {"a/missing", nil, false, true}, {"a/missing", nil, true, false},
		{"a/other", nil, false, false},
	} {
		if got := s.isDone(c.program, good.Setting, c.modes, c.again); got != c.want {
			t.Errorf("isDone(%s, %s, %v) = %v", c.program, c.modes, c.again, got)
		}
	}
	r := s.results()
	if len(r.Programs) != 3 || r.Programs[1].Name != "a/good" || len(r.Programs[1].Links) != 1 ||
		len(r.Programs[2].NotCompiled) != 1 || dates(r.First, r.Last) != time.Unix(1e9, 0).Format(time.DateOnly) {
		t.Errorf("got %+v", r)
	}
	write(t, filepath.Join(dir, "x"+entryEnding), "{", 0o644)
	if _, err := openStore(dir, io.Discard); err == nil {
		t.Error("a file that is no result is accepted")
	}
}

// TestOptions: one object serves several settings where that is asked for.
func TestOptions(t *testing.T) {
	for _, c := range []struct {
		base, forms, arch, form, want string
	}{
		{"", "compressed,plain", "sm_90", compressed, "90,code=[lto_90,sm_90]"},
		{"", "compressed", "sm_90", compressed, "90,code=lto_90"},
		{"", "plain", "sm_90", plain, "90,code=sm_90"},
		{"", "stored,plain", "sm_90", stored, "90,code=lto_90 -no-compress"},
		{"sm_80", "compressed", "sm_120", compressed, "80,code=[lto_80,sm_80]"},
		{"sm_80", "plain", "sm_86", plain, "80,code=[lto_80,sm_80]"},
		{"sm_80", "compressed,plain", "sm_90", plain, "90,code=sm_90"},
		{"sm_80", "stored", "sm_90", stored, "80,code=lto_80 -no-compress"},
	} {
		tr := &trial{base: c.base, forms: strings.Split(c.forms, ",")}
		got := strings.Join(tr.options(setting{arch: c.arch, form: c.form}), " ")
		if want := "-dc -gencode arch=compute_" + c.want; got != want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// TestPrograms: the list of programs is written, read again, and sorted by size.
func TestPrograms(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "large.cu"), "// a comment", 0o644)
	write(t, filepath.Join(dir, "small.cu"), "//", 0o644)
	write(t, filepath.Join(dir, "sort.cu"), "#include <thrust/sort.h>", 0o644)
	write(t, filepath.Join(dir, listName), "sort: sort.cu\nlarge: large.cu -DX\nsmall: small.cu\n", 0o644)
	c := choice{directory: dir, list: filepath.Join(dir, "list.json"), collection: "c", flags: "-O1"}
	for range 2 {
		programs, err := c.programs()
		if err != nil || len(programs) != 3 || programs[0].Name != "c/small" ||
			describeUnits(programs[1].Units) != dir+":large.cu -DX -O1" {
			t.Errorf("got %+v, %v", programs, err)
		}
		os.Remove(filepath.Join(dir, listName)) // the second time the list is read
	}
}

// TestCommand: the page's command line has no folders of the machine.
func TestCommand(t *testing.T) {
	c, err := parse([]string{"-results", "/x/results", "-flags", "-O1 -DX", "-archs", "sm_90", "/x/programs"})
	if want := "go run ./test/tools/field -archs=sm_90 -flags='-O1 -DX' -results=FOLDER DIRECTORY"; err != nil ||
		c.command != want {
		t.Errorf("%v, %v", c, err)
	}
	if _, err := parse(nil); err == nil {
		t.Error("a trial without programs is possible")
	}
	if c, err := parse([]string{"-results", "x"}); err != nil || !c.choice.isPage {
		t.Errorf("%+v, %v", c, err)
	}
}

// TestRelativeFolders: compilers and linkers run in folders of their own, and find the kept
// objects all the same.
func TestRelativeFolders(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("WARPLD_TEST_CUDA", "")
	if _, err := (&config{warpld: "w"}).trial(); err == nil {
		t.Error("a trial without toolkits is possible")
	}
	tk := fakeToolkit(t, "")
	write(t, tk.Tool("nvlink"), "#!/bin/sh\necho Cuda compilation tools, release 1.2, V1.2.3\n", 0o755)
	t.Setenv("WARPLD_TEST_CUDA", tk.Root)
	tr, err := (&config{warpld: "w", places: places{cache: "kept"},
		targets: targets{archs: "sm_80", forms: plain, modes: exact}}).trial()
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tr.work)
	if !filepath.IsAbs(tr.compiler.dir) {
		t.Errorf("objects are kept in %s", tr.compiler.dir)
	}
	if _, err := tr.folder([]input{{"x.o", filepath.Join(tr.compiler.dir, "x.o")}}); err == nil {
		t.Error("a link of a missing object is possible")
	}
}
