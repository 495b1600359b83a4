//go:build realtools

package reapi

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/test/kit"
)

// thinJob compiles samples to bitcode and gives the link of it.
func thinJob(t *testing.T, toolkit kit.Toolkit, sources ...string) kit.Job {
	t.Helper()
	var files []string
	args := []string{"-dlto", "-arch=sm_90", "-o", "out"}
	for _, name := range sources {
		file, err := toolkit.Clang("clang++-22", t.TempDir(), filepath.Join("..", "clang", "testdata", name+".cu"), name+
			".bc", kit.ThinFlags...)
		if err != nil {
			t.Fatal(err)
		}
		files, args = append(files, file), append(args, name+".bc")
	}
	return kit.NewJob(t, files, args...)
}

// thin links with ThinLTO and gives the result and what was said.
func thin(t *testing.T, toolkit kit.Toolkit, flags string, job kit.Job) ([]byte, string) {
	t.Helper()
	r, err := kit.Warpld(t, "--warpld-verbose --warpld-lto=thin --warpld-cuda="+toolkit.Root+" "+flags).Run(job)
	if err != nil || r.Exit != 0 {
		t.Fatalf("exit code %d, error %v\n%s", r.Exit, err, r.Stderr)
	}
	return r.Files["out"], r.Stderr
}

// thinLink gives a folder with the bitcode of samples and a file "resolutions" of
// arguments for llvm-lto2: that of a thin link of warpld's.
func thinLink(t *testing.T, toolkit kit.Toolkit, sources ...string) string {
	t.Helper()
	keep := t.TempDir()
	thin(t, toolkit, "--warpld-keep --warpld-temp-dir="+keep, thinJob(t, toolkit, sources...))
	dirs, err := filepath.Glob(filepath.Join(keep, "*", "*-thin-link"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%v, %v", dirs, err)
	}
	return dirs[0]
}

// lto2 runs llvm-lto2 in a folder of thinLink's and gives what it wrote and said.
func lto2(t *testing.T, dir, cache string, args ...string) (texts []string, said string) {
	t.Helper()
	cmd := exec.Command("llvm-lto2-22",
		append([]string{"run", "-mcpu=sm_90", "-mattr=+ptx88", "-O3", "-whole-program-visibility", "@resolutions",
			"-o", "out"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "WARPLD_CACHE_DIR="+cache)
	log, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("llvm-lto2: %v\n%s", err, log)
	}
	files, err := filepath.Glob(filepath.Join(dir, "out.[0-9]"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no output: %v\n%s", err, log)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
		os.Remove(file)
	}
	return texts, string(log)
}

// assemble gives the cubins of texts, as files.
func assemble(t *testing.T, texts []string) (cubins []string) {
	t.Helper()
	for _, text := range texts {
		ptx := filepath.Join(t.TempDir(), "x.ptx")
		if err := os.WriteFile(ptx, engine.RepairNames([]byte(text)), 0o600); err != nil {
			t.Fatal(err)
		}
		cubins = append(cubins, ptx+".cubin")
		if out, err := exec.Command(kit.Toolkits(t)[0].Tool("ptxas"), "-c", "-arch=sm_90", ptx, "-o", ptx+
			".cubin").CombinedOutput(); err != nil {
			t.Fatalf("ptxas: %v\n%s", err, out)
		}
	}
	return cubins
}

// differences holds the code of texts against that of others. The registers of PTX depend
// on the process that made it; what becomes of it has as many instructions.
func differences(t *testing.T, want, got []string) (differences string) {
	t.Helper()
	if len(want) != len(got) {
		return fmt.Sprintf("%d files and not %d", len(got), len(want))
	}
	wantCubins, gotCubins := assemble(t, want), assemble(t, got)
	for i := range wantCubins {
		was, err := os.ReadFile(wantCubins[i])
		is, err2 := os.ReadFile(gotCubins[i])
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		if bytes.Equal(was, is) {
			continue
		}
		before, err := kit.Toolkits(t)[0].Instructions(wantCubins[i])
		after, err2 := kit.Toolkits(t)[0].Instructions(gotCubins[i])
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		differences += cmp.Diff(before, after)
	}
	return differences
}

// distributor are llvm-lto2's arguments for compilations by warpld.
func distributor(t *testing.T, flags ...string) []string {
	args := []string{"-dtlto-distributor=" + kit.Binary(t), "-dtlto-compiler=clang-22"}
	for _, arg := range append([]string{"distribute", "--warpld-verbose"}, flags...) {
		args = append(args, "-dtlto-distributor-arg="+arg)
	}
	for _, arg := range []string{"-march=sm_90", "--cuda-feature=+ptx88", "-S", "-nogpulib", "-Wno-unknown-cuda-version"} {
		args = append(args, "-dtlto-compiler-arg="+arg)
	}
	return args
}

// TestDistribute lets LLVM's own linker distribute ThinLTO by warpld: the code is that
// of one process, and the second time nothing is compiled.
func TestDistribute(t *testing.T) {
	toolkit := kit.Toolkits(t)[0]
	for _, sources := range [][]string{{"a", "b", "c"}, {"local_p", "local_q"}, {"shared_p", "shared_q"}} {
		t.Run(strings.Join(sources, " "), func(t *testing.T) {
			dir, cache := thinLink(t, toolkit, sources...), t.TempDir()
			want, _ := lto2(t, dir, cache, "-filetype=asm")
			first, said := lto2(t, dir, cache, distributor(t)...)
			if diff := differences(t, want, first); diff != "" {
				t.Errorf("the code (-of one process +of several):\n%s", diff)
			}
			if strings.Count(said, " CPU,") != len(sources) {
				t.Errorf("not all was compiled here:\n%s", said)
			}
			again, said := lto2(t, dir, cache, distributor(t)...)
			if !slices.Equal(again, first) || strings.Count(said, "from the cache") != len(sources) {
				t.Errorf("not all was found:\n%s", said)
			}
		})
	}
}

// TestDistributeToTheCluster: the same on machines that have no LLVM of their own. One
// job at a time runs here, so that the others are worth sending; but LLVM is large, and
// until the cluster has it, this machine may be faster. What is made here is not
// uploaded: what the remote cache has was made by a worker.
func TestDistributeToTheCluster(t *testing.T) {
	s := start(t, "")
	dir := thinLink(t, kit.Toolkits(t)[0], "a", "b", "c")
	want, _ := lto2(t, dir, t.TempDir(), distributor(t)...)
	flags := distributor(t, "--warpld-jobs=1", "--warpld-remote-platform=OSFamily=linux", "--warpld-remote="+s.address())
	for try := 1; ; try++ {
		got, said := lto2(t, dir, t.TempDir(), flags...)
		if !slices.Equal(got, want) || strings.Contains(said, "goes on without") || try == 20 {
			t.Fatalf("the same result: %v; nothing from the remote cache in %d tries:\n%s", slices.Equal(got, want), try, said)
		}
		if strings.Contains(said, "from the remote cache") {
			break
		}
	}
}

// TestThinLinkOnTheCluster is a thin link of warpld's own, whose steps are such jobs too.
func TestThinLinkOnTheCluster(t *testing.T) {
	s, toolkit := start(t, ""), kit.Toolkits(t)[0]
	job := thinJob(t, toolkit, "a", "b", "c")
	want, _ := thin(t, toolkit, "", job)
	for try := 1; ; try++ {
		got, said := thin(t, toolkit, "--warpld-jobs=1 --warpld-remote-platform=OSFamily=linux --warpld-remote="+
			s.address(), job)
		if !bytes.Equal(got, want) || strings.Contains(said, "goes on without") || try == 10 {
			t.Fatalf("the same result: %v; no compilation by a worker in %d tries:\n%s", bytes.Equal(got, want), try, said)
		}
		if compiledThere.MatchString(said) {
			return
		}
	}
}

var compiledThere = regexp.MustCompile(`compile-thin: .* wall, by worker|compile-thin: from the remote cache`)

// TestDistributeFails: what is wrong with the jobs is told, and nothing is written.
func TestDistributeFails(t *testing.T) {
	job := `{"common": {"linker_output": "o", "args": ["clang-22", "-c"], "inputs": []}, "jobs": [{"args": ` +
		`["in.bc", "-o", "out.o"], "inputs": ["in.bc"], "outputs": ["out.o"]}]}`
	for name, test := range map[string]struct{ text, want string }{
		"not JSON":     {"<jobs/>", "is no list of jobs"},
		"no compiler":  {`{"jobs": []}`, "names no compiler"},
		"not bitcode":  {job, "the compiler failed for out.o"},
		"no such tool": {strings.Replace(job, "clang-22", "clang-none", 1), "clang-none is not in PATH"},
		"a script":     {strings.Replace(job, "clang-22", "/usr/bin/ldd", 1), "not a script around it"},
		"outside":      {strings.ReplaceAll(job, "in.bc", "../in.bc"), "does not lie below the working directory"},
		"output lost":  {strings.Replace(job, `"out.o"]}`, `"other.o"]}`, 1), "does not tell the compiler to write other.o"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range map[string]string{"jobs.json": test.text, "in.bc": "no bitcode"} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			cmd := exec.Command(kit.Binary(t), "distribute", "jobs.json")
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "WARPLD_CACHE_DIR="+t.TempDir())
			out, err := cmd.CombinedOutput()
			if err == nil || !bytes.Contains(out, []byte(test.want)) {
				t.Errorf("error %v, want %q in\n%s", err, test.want, out)
			}
			if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 2 {
				t.Errorf("left: %q", files)
			}
		})
	}
}
