//go:build realtools

// Package keep holds --verbose-keep to its word: the commands that it prints run
// one by one, as they are, in an empty folder, and make the link's output and
// every file that was kept.
package keep

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

const target = "sm_80"

// A link is one command line, and what is kept of it beside the modules.
type link struct {
	inputs  []string // KIND/FILE in the built corpus; FORM in KIND is stored or default
	beside  []string // files that must lie beside the inputs
	options []string
	plain   bool // without LTO
	kept    []string
}

var (
	whole     = []string{"lto.ptx", "lto.cubin"}
	oneOfEach = []string{"lto.ptx", "lto.cubin", "part-00000.o", "linked.cubin"}
)

func objects(names ...string) []string {
	var files []string
	for _, name := range names {
		files = append(files, "FORM/"+name+".o")
	}
	return files
}

var links = map[string]link{
	"whole":   {inputs: objects("hostref", "w1", "w2"), kept: whole},
	"to PTX":  {inputs: objects("a", "b"), options: []string{"-emit-ptx"}, kept: []string{"lto.ptx"}},
	"debug":   {inputs: objects("a", "b"), options: []string{"-g"}, kept: whole},
	"archive": {inputs: append(objects("a"), "FORM/libparts.a"), kept: whole},
	"thin archive": {inputs: append(objects("a"), "FORM/libthin.a"),
		beside: objects("b", "r3_printf", "r8_math"), kept: whole},
	"LTO-IR by itself": {inputs: append(objects("a"), "ltoir/b.ltoir"), kept: whole},
	"partial":          {inputs: append(objects("a"), "rdc/b.o"), kept: append([]string{"part-00001.o"}, oneOfEach...)},
	"partial with debug": {inputs: append(objects("a"), "rdc/b.o"), options: []string{"-g"},
		kept: append([]string{"part-00001.o"}, oneOfEach...)},
	"native by itself": {inputs: append(objects("a"), "rdc/b.cubin"),
		kept: append([]string{"part-00001.cubin"}, oneOfEach...)},
	"dynamic parallelism": {inputs: objects("cdp"), kept: append([]string{"part-00001-cudadevrt.o"}, oneOfEach...)},
	"relocatable":         {inputs: objects("hostref", "a", "b"), options: []string{"-r"}, kept: oneOfEach},
	"split": {inputs: objects("many1", "many2"), options: []string{"-split-compile-extended=2"},
		kept: []string{"shard-00000/lto.ptx", "shard-00000/lto.cubin", "shard-00001/lto.ptx", "shard-00001/lto.cubin",
			"part-00000.o", "part-00001.o", "linked.cubin"}},
	"without LTO": {inputs: []string{"rdc/a.o", "rdc/b.o"}, plain: true,
		kept: []string{"part-00000-a.fatbin", "part-00000.o", "part-00001.o", "linked.cubin"}},
}

// forEachForm runs f for the toolkits and the forms in which objects hold LTO-IR.
func forEachForm(t *testing.T, f func(t *testing.T, tk kit.Toolkit, form string)) {
	for _, tk := range kit.Toolkits(t) {
		for _, form := range []string{"stored", "default"} {
			t.Run(tk.Release()+"/"+form, func(t *testing.T) { f(t, tk, form) })
		}
	}
}

func (l link) job(t *testing.T, tk kit.Toolkit, form string) kit.Job {
	t.Helper()
	args := append([]string{"-m64", "-arch=" + target}, l.options...)
	if !l.plain {
		args = append(args, "-dlto")
	}
	var paths []string
	for _, input := range slices.Concat(l.inputs, l.beside) {
		kind, name, _ := strings.Cut(strings.ReplaceAll(input, "FORM", form), "/")
		paths = append(paths, tk.Object(t, kind, name))
	}
	for _, input := range l.inputs {
		args = append(args, filepath.Base(input))
	}
	return kit.NewJob(t, paths, append(args, "-L"+tk.Lib(), "-lcudadevrt", "-o", "linked")...)
}

// run links with warpld and more of its own options.
func run(t *testing.T, tk kit.Toolkit, job kit.Job, own string) kit.Result {
	t.Helper()
	result, err := kit.Warpld(t, "--warpld-cache=off --warpld-cuda="+tk.Root+" "+own).Run(job)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// remake runs commands in an empty folder, one shell for each, and gives the
// folder's files. Only the last command may fail, with the exit code that it gives.
func remake(t *testing.T, commands string) (files map[string][]byte, exit int) {
	t.Helper()
	dir := t.TempDir()
	lines := strings.Split(strings.TrimSuffix(commands, "\n"), "\n")
	for i, line := range lines {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		exit = cmd.ProcessState.ExitCode()
		if err != nil && i < len(lines)-1 {
			t.Fatalf("%s\n%v\n%s", line, err, out)
		}
	}
	files = map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err == nil {
			files[name], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files, exit
}

// keptFiles are those in the folder of the link's output, which has no others.
func keptFiles(t *testing.T, result kit.Result) map[string][]byte {
	t.Helper()
	kept := map[string][]byte{}
	for name, data := range result.Files {
		if inside, ok := strings.CutPrefix(name, "linked.keep/"); ok {
			kept[inside] = data
		} else if name != "linked" {
			t.Errorf("the link wrote %s", name)
		}
	}
	return kept
}

// check remakes what a link has kept.
func check(t *testing.T, result kit.Result, want []string) {
	t.Helper()
	if result.Exit != 0 {
		t.Fatalf("exit code %d\n%s", result.Exit, result.Stderr)
	}
	remade, exit := remake(t, result.Stdout)
	if exit != 0 {
		t.Fatalf("the last of these commands failed:\n%s", result.Stdout)
	}
	if !bytes.Equal(remade["linked"], result.Files["linked"]) || len(result.Files["linked"]) == 0 {
		t.Errorf("these commands make another output of %d bytes, not %d:\n%s", len(remade["linked"]),
			len(result.Files["linked"]), result.Stdout)
	}
	kept := keptFiles(t, result)
	for name, data := range kept {
		if again, ok := remade[name]; !ok || !bytes.Equal(again, data) {
			t.Errorf("%s is not made again by\n%s", name, result.Stdout)
		}
	}
	for _, name := range want {
		if len(kept[name]) == 0 {
			t.Errorf("%s is not among the kept files %q", name, slices.Sorted(maps.Keys(kept)))
		}
	}
}

func TestCommandsRemakeTheLink(t *testing.T) {
	forEachForm(t, func(t *testing.T, tk kit.Toolkit, form string) {
		for name, l := range links {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				want := l.kept
				if !l.plain && form == "stored" { // which libnvvm compiles
					want = append([]string{"linked_lto.bc"}, want...)
				}
				check(t, run(t, tk, l.job(t, tk, form), "--verbose-keep"), want)
			})
		}
	})
}

// TestNativePTX has code that ptxas must compile before the merge.
func TestNativePTX(t *testing.T) {
	forEachForm(t, func(t *testing.T, tk kit.Toolkit, form string) {
		native := filepath.Join(t.TempDir(), "b.o")
		nvcc := exec.Command(tk.Tool("nvcc"), "-dc", "-gencode", "arch=compute_80,code=compute_80",
			"../../programs/corpus/b.cu", "-o", native)
		if out, err := nvcc.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		job := kit.NewJob(t, []string{tk.Object(t, form, "a.o"), native}, "-m64", "-arch="+target, "-dlto", "a.o", "b.o",
			"-o", "linked")
		check(t, run(t, tk, job, "-vkeep"), []string{"native-00000-b/lto.ptx", "native-00000-b/lto.cubin", "lto.cubin",
			"part-00001.o"})
	})
}

// TestPTXInput has it as an input by itself.
func TestPTXInput(t *testing.T) {
	forEachForm(t, func(t *testing.T, tk kit.Toolkit, form string) {
		text := filepath.Join(t.TempDir(), "b.ptx")
		nvcc := exec.Command(tk.Tool("nvcc"), "-ptx", "-rdc=true", "-arch=compute_80", "../../programs/corpus/b.cu",
			"-o", text)
		if out, err := nvcc.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		job := kit.NewJob(t, []string{tk.Object(t, form, "a.o"), text}, "-m64", "-arch="+target, "-dlto", "a.o", "b.ptx",
			"-o", "linked")
		check(t, run(t, tk, job, "-vkeep"), []string{"native-00000-b/lto.ptx", "native-00000-b/lto.cubin", "lto.cubin",
			"part-00001.cubin"})
	})
}

// TestQuoting has a path that a shell reads as something else.
func TestQuoting(t *testing.T) {
	forEachForm(t, func(t *testing.T, tk kit.Toolkit, form string) {
		odd := filepath.Join(t.TempDir(), `it's $HOME & "co".o`)
		if err := os.Symlink(tk.Object(t, form, "b.o"), odd); err != nil {
			t.Fatal(err)
		}
		job := kit.NewJob(t, []string{tk.Object(t, form, "a.o"), odd}, "-arch="+target, "-dlto", "a.o",
			filepath.Base(odd), "-o", "linked")
		check(t, run(t, tk, job, "--verbose-keep"), whole)
	})
}

// TestFailedLink: what there was before the failure is kept, and the last command
// fails as the link did.
func TestFailedLink(t *testing.T) {
	forEachForm(t, func(t *testing.T, tk kit.Toolkit, form string) {
		result := run(t, tk, link{inputs: objects("a")}.job(t, tk, form), "--verbose-keep")
		if result.Exit != 255 || result.Files["linked"] != nil {
			t.Fatalf("exit code %d, %d bytes of output\n%s", result.Exit, len(result.Files["linked"]), result.Stderr)
		}
		if remade, exit := remake(t, result.Stdout); exit != 255 ||
			!bytes.Equal(remade["lto.cubin"], keptFiles(t, result)["lto.cubin"]) {
			t.Errorf("exit code %d of the last of these commands, or another cubin:\n%s", exit, result.Stdout)
		}
	})
}

// TestNothingIsKeptUnasked: the option changes neither the output nor other links.
func TestNothingIsKeptUnasked(t *testing.T) {
	forEachForm(t, func(t *testing.T, tk kit.Toolkit, form string) {
		job := links["partial"].job(t, tk, form)
		asked, plain := run(t, tk, job, "--verbose-keep"), run(t, tk, job, "")
		if len(plain.Files) != 1 || plain.Stdout != "" {
			t.Errorf("a link without the option wrote %q and printed %q", slices.Sorted(maps.Keys(plain.Files)), plain.Stdout)
		}
		if !bytes.Equal(plain.Files["linked"], asked.Files["linked"]) {
			t.Error("the option changes the output")
		}
	})
}
