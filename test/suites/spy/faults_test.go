//go:build realtools

package spy

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// faulty makes the link of two objects with the spy told to misbehave.
func faulty(t *testing.T, tk kit.Toolkit, spy string, env map[string]string) watched {
	t.Helper()
	return watched{tk: tk, env: env, job: link(t, tk, spy, pair, append(cudadevrt(tk), "-arch=sm_80")...)}
}

// same runs both linkers and wants the same messages, exit code and files.
func (w watched) same(t *testing.T) {
	t.Helper()
	want, _ := w.nvlink(t)
	got, _ := w.warpld(t)
	differences := kit.Differences(want, got)
	links.Same(w.tk, len(differences) == 0)
	if len(differences) > 0 {
		t.Errorf("%v\n%s", w.env, strings.Join(differences, "\n"))
	}
}

// TestErrorsOfTheLibrary lets each call return each error.
func TestErrorsOfTheLibrary(t *testing.T) {
	calls := []string{"create", "add", "compile", "logsize", "log", "ressize", "count", "result", "destroy"}
	codes := []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 99}
	spy := build(t)
	forEachToolkit(t, func(t *testing.T, tk kit.Toolkit) {
		for _, call := range calls {
			for _, code := range codes {
				fault := fmt.Sprintf("%s:%d", call, code)
				t.Run(fault, func(t *testing.T) {
					t.Parallel()
					env := map[string]string{"NVVM_SPY_FAULT": fault}
					if call == "log" {
						env["NVVM_SPY_LOGTEXT"] = "without a text nobody asks for the log"
					}
					faulty(t, tk, spy, env).same(t)
				})
			}
		}
	})
}

// TestWordsOfTheLibrary lets the library say things, and give bad PTX.
func TestWordsOfTheLibrary(t *testing.T) {
	badPTX := filepath.Join(t.TempDir(), "bad.ptx")
	text := ".version 9.0\n.target sm_80\n.address_size 64\n.visible .entry k() { mov.u32 %r1, 0; ret; }\n"
	if err := os.WriteFile(badPTX, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	spy := build(t)
	forEachToolkit(t, func(t *testing.T, tk kit.Toolkit) {
		for name, env := range map[string]map[string]string{
			"log":                 {"NVVM_SPY_LOGTEXT": "warning: something about the code"},
			"log of many lines":   {"NVVM_SPY_LOGTEXT": "one\ntwo\n\nthree\n"},
			"log and error":       {"NVVM_SPY_LOGTEXT": "error: worse", "NVVM_SPY_FAULT": "compile:9"},
			"bad PTX":             {"NVVM_SPY_PTX": badPTX},
			"stderr":              {"NVVM_SPY_STDERR": "wrong initializer"},
			"stderr and error":    {"NVVM_SPY_STDERR": "wrong initializer\nin two lines", "NVVM_SPY_FAULT": "compile:9"},
			"handle add null":     {"NVVM_SPY_FAULT": "add:null"},
			"handle sizes null":   {"NVVM_SPY_FAULT": "sizes:null"},
			"handle count null":   {"NVVM_SPY_FAULT": "count:null"},
			"refused before call": {"NVVM_SPY_FAULT": "compile:=6"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				faulty(t, tk, spy, env).same(t)
			})
		}
	})
}

// TestEmptyPTX wants a refusal; nvlink's words for it change from release to release.
func TestEmptyPTX(t *testing.T) {
	spy := build(t)
	forEachToolkit(t, func(t *testing.T, tk kit.Toolkit) {
		got, _ := faulty(t, tk, spy, map[string]string{"NVVM_SPY_PTX": os.DevNull}).warpld(t)
		if got.Exit != 1 || !strings.Contains(got.Stderr, "nvlink fatal   : elfLink fatbinary error") || len(got.Files) > 0 {
			t.Errorf("exit code %d, %d files:\n%s", got.Exit, len(got.Files), got.Stderr)
		}
	})
}

// TestMissingFunctions leaves functions out of the library.
func TestMissingFunctions(t *testing.T) {
	for _, hidden := range []string{
		"nvvmCreateProgram", "nvvmCompileProgram", "nvvmGetCompiledResultSize", "nvvmGetCompiledResult", "nvvmGetErrorString",
		"nvvmGetProgramLogSize", "nvvmGetProgramLog", "nvvmDestroyProgram", "__nvvmHandle",
		// nvlink needs none of these.
		"nvvmVersion", "nvvmIRVersion", "nvvmAddModuleToProgram", "nvvmLazyAddModuleToProgram", "nvvmVerifyProgram",
	} {
		t.Run(hidden, func(t *testing.T) {
			t.Parallel()
			spy := build(t, hidden)
			for _, tk := range kit.Toolkits(t) {
				faulty(t, tk, spy, nil).same(t)
			}
		})
	}
}

// TestBadLibraries gives -nvvmpath folders without a library in them.
func TestBadLibraries(t *testing.T) {
	notELF := t.TempDir()
	if err := os.Mkdir(filepath.Join(notELF, "lib64"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(notELF, "lib64", "libnvvm.so"), []byte("not a library"), 0o755); err != nil {
		t.Fatal(err)
	}
	forEachToolkit(t, func(t *testing.T, tk kit.Toolkit) {
		for name, path := range map[string]string{
			"not an ELF file": notELF,
			"empty folder":    t.TempDir(),
			"no folder":       filepath.Join(t.TempDir(), "nowhere"),
			"empty path":      "",
		} {
			t.Run(name, func(t *testing.T) { faulty(t, tk, path, nil).same(t) })
		}
	})
}

// stages says how the message for a death in a call must name that call.
var stages = map[string]string{
	"create": "nvvmCreateProgram", "add": "nvvmAddModule", "compile": "nvvmCompileProgram",
	"result": "nvvmGetCompiledResult",
}

// TestDeaths lets the library crash, abort, exit and hang in the middle of a call.
func TestDeaths(t *testing.T) {
	spy := build(t)
	forEachToolkit(t, func(t *testing.T, tk kit.Toolkit) {
		for call, stage := range stages {
			for _, death := range []string{"segv", "abort", "exit", "term", "hang"} {
				t.Run(call+":"+death, func(t *testing.T) {
					t.Parallel()
					mark, temp := t.Name(), t.TempDir()
					w := faulty(t, tk, spy, map[string]string{"NVVM_SPY_FAULT": call + ":" + death, "WARPLD_TEST_MARK": mark,
						"TMPDIR": temp})
					if death == "hang" {
						w.flag = "--warpld-time-limit=2"
					}
					got, _ := w.warpld(t)
					if got.Exit != 1 {
						t.Errorf("exit code %d, want 1", got.Exit)
					}
					for _, want := range []string{"nvlink fatal   : ", stage, "a.o", "b.o"} {
						if !strings.Contains(got.Stderr, want) {
							t.Errorf("the message does not have %q:\n%s", want, got.Stderr)
						}
					}
					if len(got.Files) > 0 {
						t.Errorf("the link failed but left files")
					}
					nothingLeft(t, mark, temp)
				})
			}
		}
	})
}

// TestSplitCompileCrashes lets the library crash only when it compiles in several
// threads, once or always: the link succeeds all the same.
func TestSplitCompileCrashes(t *testing.T) {
	const again, without = "; it is run once more\n", "; the program is compiled without it\n"
	spy := build(t)
	forEachToolkit(t, func(t *testing.T, tk kit.Toolkit) {
		sound := watched{tk: tk, job: link(t, tk, spy, pair, append(cudadevrt(tk), "-arch=sm_80")...)}
		want, _ := sound.warpld(t)
		for name, test := range map[string]struct {
			fault, once string
			says        []string
		}{
			"once":           {"compile:segv", filepath.Join(t.TempDir(), "once"), []string{again}},
			"always":         {"compile:abort", "", []string{again, without}},
			"divide by zero": {"compile:fpe", "", []string{without}},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := watched{tk: tk, env: map[string]string{"NVVM_SPY_FAULT": test.fault,
					"NVVM_SPY_WHEN": "-split-compile-extended="}}
				if test.once != "" {
					w.env["NVVM_SPY_ONCE"] = test.once
				}
				w.job = link(t, tk, spy, pair, append(cudadevrt(tk), "-arch=sm_80", "-split-compile-extended=2")...)
				got, _ := w.warpld(t)
				if got.Exit != 0 || !bytes.Equal(got.Files["linked"], want.Files["linked"]) {
					t.Errorf("exit code %d, or another output\n%s", got.Exit, got.Stderr)
				}
				if n := strings.Count(got.Stderr, "warpld info"); n != len(test.says) {
					t.Errorf("%d messages, want %d\n%s", n, len(test.says), got.Stderr)
				}
				for _, text := range test.says {
					if !strings.Contains(got.Stderr, text) {
						t.Errorf("the messages do not have %q:\n%s", text, got.Stderr)
					}
				}
			})
		}
	})
}

// TestScanCrashes lets the library crash once when a fast link reads several modules in
// one process: they are read again one by one, and the link is cut all the same.
func TestScanCrashes(t *testing.T) {
	const flags = "--warpld-mode=fast --warpld-slice-size=0 --warpld-jobs=1"
	spy := build(t)
	forEachToolkit(t, func(t *testing.T, tk kit.Toolkit) {
		job := func() kit.Job {
			four := []string{"stored/many1.o", "stored/many2.o", "stored/a.o", "stored/b.o"}
			return link(t, tk, spy, four, append(cudadevrt(tk), "-arch=sm_80")...)
		}
		want, _ := watched{tk: tk, job: job(), flag: flags}.warpld(t)
		got, _ := watched{tk: tk, job: job(), flag: flags, env: map[string]string{"NVVM_SPY_FAULT": "compile:segv",
			"NVVM_SPY_WHEN": "-opt=0", "NVVM_SPY_ONCE": filepath.Join(t.TempDir(), "once")}}.warpld(t)
		if want.Exit != 0 || got.Exit != 0 || !bytes.Equal(got.Files["linked"], want.Files["linked"]) {
			t.Errorf("exit codes %d and %d, or another output\n%s", want.Exit, got.Exit, got.Stderr)
		}
		for text, n := range map[string]int{"linked without slices": 0, "libnvvm.so crashed (segmentation fault) in ": 1,
			"each module was read again": 1, "the modules are from many1.o, many2.o\n": 1} {
			if strings.Count(got.Stderr, text) != n {
				t.Errorf("%q is not there %d times:\n%s", text, n, got.Stderr)
			}
		}
		if strings.Contains(want.Stderr, "linked without slices") {
			t.Errorf("the program is not cut without the crash either:\n%s", want.Stderr)
		}
	})
}

// TestSplitContradicts lets the library tell lengths of shards that are not theirs: the
// program is compiled in one piece.
func TestSplitContradicts(t *testing.T) {
	spy := build(t)
	forEachToolkit(t, func(t *testing.T, tk kit.Toolkit) {
		many := []string{"stored/many1.o", "stored/many2.o"}
		sound := watched{tk: tk, job: link(t, tk, spy, many, append(cudadevrt(tk), "-arch=sm_80")...)}
		want, _ := sound.warpld(t)
		w := watched{tk: tk, env: map[string]string{"NVVM_SPY_FAULT": "sizes:=0"}}
		w.job = link(t, tk, spy, many, append(cudadevrt(tk), "-arch=sm_80", "-split-compile-extended=2")...)
		got, _ := w.warpld(t)
		if got.Exit != 0 || !bytes.Equal(got.Files["linked"], want.Files["linked"]) {
			t.Errorf("exit code %d, or another output\n%s", got.Exit, got.Stderr)
		}
		if !strings.Contains(got.Stderr,
			"gave parts of PTX that don't fit together with -split-compile-extended; the program is compiled without it") {
			t.Errorf("the messages don't say so:\n%s", got.Stderr)
		}
	})
}

// TestGreed lets the library take all memory that it gets.
func TestGreed(t *testing.T) {
	w := faulty(t, kit.Toolkits(t)[0], build(t), map[string]string{"NVVM_SPY_FAULT": "compile:greed"})
	w.flag = "--warpld-memory-limit=400"
	got, _ := w.warpld(t)
	for _, want := range []string{"nvlink fatal   : libnvvm.so needed more memory than the limit of 400 MB in " +
		"nvvmCompileProgram", "--warpld-memory-limit="} {
		if got.Exit != 1 || !strings.Contains(got.Stderr, want) {
			t.Errorf("exit code %d, and the message does not have %q:\n%s", got.Exit, want, got.Stderr)
		}
	}
}

// nothingLeft wants no process with the mark in its environment, and nothing
// in the folder for temporary files.
func nothingLeft(t *testing.T, mark, temp string) {
	t.Helper()
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("processes are left behind: %q", left)
	}
	entries, err := os.ReadDir(temp)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s is left in the folder for temporary files", e.Name())
	}
}

// marked lists the command lines of processes with WARPLD_TEST_MARK=mark.
func marked(t *testing.T, mark string) []string {
	t.Helper()
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range environments {
		text, err := os.ReadFile(path)
		if err != nil { // it has ended meanwhile
			continue
		}
		if slices.Contains(strings.Split(string(text), "\x00"), "WARPLD_TEST_MARK="+mark) {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			found = append(found, strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}
