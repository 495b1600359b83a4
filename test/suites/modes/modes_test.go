//go:build realtools

// Package modes holds every way to link, and every message, against the real
// nvlink. Each command line of its tables is run with both linkers; what they
// leave behind is judged by code: the same bytes, the same sections, the same
// messages and exit code, or one of the intended differences, which
// improvements_test.go lists. docs/comparison.md is the result.
package modes

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// archs are the targets of the comparison.
var archs = []string{"sm_80", "sm_90", "sm_100"}

// TestMain keeps other runs of the suite away: working folders have fixed
// names, because nvlink derives names of cubins from them.
func TestMain(m *testing.M) {
	dir, err := kit.CacheDir()
	var unlock func()
	if err == nil {
		unlock, err = kit.Lock(filepath.Join(dir, "modes", ".lock"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	fmt.Print(&links)
	unlock()
	os.Exit(code)
}

// links counts all that were compared.
var links kit.Tally

// A setting is a toolkit and a target.
type setting struct {
	tk   kit.Toolkit
	arch string
	// bounded is the toolkit with an nvlink that is stopped when it hangs.
	bounded kit.Toolkit
}

// settings are all pairs of a toolkit and a target.
func settings(tb testing.TB) []setting {
	tb.Helper()
	var list []setting
	for _, tk := range kit.Toolkits(tb) {
		bounded := boundedNvlink(tb, tk)
		for _, arch := range archs {
			list = append(list, setting{tk, arch, bounded})
		}
	}
	return list
}

// boundedNvlink is a toolkit whose nvlink is stopped, with exit code 124, after
// a time that no link of this suite needs: there are inputs on which the real
// one never ends.
func boundedNvlink(tb testing.TB, tk kit.Toolkit) kit.Toolkit {
	tb.Helper()
	bounded := kit.Toolkit{Root: tb.TempDir(), Version: tk.Version}
	if err := os.Mkdir(filepath.Join(bounded.Root, "bin"), 0o755); err != nil {
		tb.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *-split-compile*) limit=120 ;; *) limit=30 ;; esac\nexec "+
		"timeout $limit %s \"$@\"\n", tk.Tool("nvlink"))
	if err := os.WriteFile(bounded.Tool("nvlink"), []byte(script), 0o755); err != nil {
		tb.Fatal(err)
	}
	return bounded
}

// standard is a command line with what nvcc always gives.
func standard(line string) string {
	if !strings.Contains(line, "-arch=") {
		line = "-arch=$ARCH " + line
	}
	return "-m64 -cpu-arch=X86_64 --register-link-binaries=register.c " + line + " -o " + output
}

func (s setting) String() string { return s.tk.Release() + " " + s.arch }

// form is how objects hold their LTO-IR. Both forms occur with each toolkit, so
// that both engines do.
func (s setting) form() string {
	if (s.arch == "sm_90") == (s.tk.Release() == "13.0") {
		return "default"
	}
	return "stored"
}

// variable gives the values of $NAME in command lines and recipes.
func (s setting) variable(name string) string {
	switch name {
	case "ARCH":
		return s.arch
	case "N":
		return strings.TrimPrefix(s.arch, "sm_")
	case "COMPRESS": // an option of fatbinary
		if s.form() == "stored" {
			return "--compress-mode=none"
		}
		return ""
	case "NVVM":
		return s.tk.NVVM()
	case "LIB":
		return s.tk.Lib()
	}
	return "$" + name
}

// job makes the working folder and the arguments of a command line. A test has
// one folder, of a fixed name: what nvlink derives from it is then the same in
// all that the test compares, and in the answers that are kept.
func (s setting) job(tb testing.TB, line string) kit.Job {
	tb.Helper()
	sum := sha256.Sum256([]byte(tb.Name()))
	job := kit.Job{Dir: filepath.Join(cacheDir(tb), "work", fmt.Sprintf("%x", sum[:8]))}
	if err := os.RemoveAll(job.Dir); err != nil {
		tb.Fatal(err)
	}
	if err := os.MkdirAll(job.Dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { os.RemoveAll(job.Dir) })
	for _, word := range strings.Fields(os.Expand(line, s.variable)) {
		switch {
		case word == "LTO":
			job.Args = append(job.Args, "-dlto", "-nvvmpath="+s.tk.NVVM())
		case word == "DEVRT":
			job.Args = append(job.Args, "-L"+s.tk.Lib(), "-lcudadevrt")
		case strings.Contains(word, "/") && word[0] != '-' && word[0] != '/':
			if named := s.place(tb, job.Dir, word); named != "" {
				job.Args = append(job.Args, named)
			}
		default:
			job.Args = append(job.Args, word)
		}
	}
	return job
}

// place puts a file into the working folder: KIND/FILE under its own name,
// NAME=KIND/FILE under another one; +KIND/FILE is not named on the command line.
func (s setting) place(tb testing.TB, dir, word string) (named string) {
	tb.Helper()
	word, beside := strings.CutPrefix(word, "+")
	name, file, renamed := strings.Cut(word, "=")
	if !renamed {
		name, file = filepath.Base(word), word
	}
	if err := os.Symlink(s.file(tb, file), filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
		tb.Fatal(err)
	}
	if beside {
		return ""
	}
	return name
}

// reference is what nvlink makes of a job. What it makes in several threads is
// not worth keeping: it changes, and about once in forty times nvlink crashes.
func (s setting) reference(tb testing.TB, job kit.Job) kit.Result {
	tb.Helper()
	if !slices.ContainsFunc(job.Args, splits) {
		return s.bounded.Reference(tb, job)
	}
	var want kit.Result
	for range retries {
		var err error
		if want, err = s.bounded.Nvlink().Run(job); err != nil {
			tb.Fatal(err)
		}
		if want.Exit == 0 {
			break
		}
	}
	return want
}

// retries is how often a link in several threads is tried.
const retries = 3

// splits is for options that let compilers use several threads.
func splits(option string) bool { return strings.HasPrefix(option, "-split-compile") }

// warpld runs a job with warpld. Its toolkit is not the one of an option, which
// would go before -nvvmpath.
func (s setting) warpld(tb testing.TB, job kit.Job, flags string) kit.Result {
	tb.Helper()
	linker := kit.Warpld(tb, flags)
	linker.Env = append(linker.Env, "CUDA_HOME="+s.tk.Root)
	got, err := linker.Run(job)
	if err != nil {
		tb.Fatal(err)
	}
	return got
}
