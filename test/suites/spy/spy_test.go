//go:build realtools

// Package spy puts test/tools/nvvmspy in the place of libnvvm, under nvlink and
// under warpld: the calls that both make of the library must be the same, and
// whatever the library does wrong must end in a message.
package spy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// links counts all that were compared.
var links kit.Tally

func TestMain(m *testing.M) {
	code := m.Run()
	fmt.Print(&links)
	os.Exit(code)
}

// build compiles the spy without the hidden functions and gives the folder
// for -nvvmpath.
func build(t *testing.T, hidden ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "lib64"), 0o755); err != nil {
		t.Fatal(err)
	}
	args := []string{"-shared", "-fPIC", "-O1", "-o", filepath.Join(dir, "lib64", "libnvvm.so"),
		"../../tools/nvvmspy/nvvm-spy.c", "-ldl"}
	for _, name := range hidden {
		args = append(args, "-DHIDE_"+name)
	}
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("building the spy: %v\n%s", err, out)
	}
	return dir
}

// A watched link has the spy between the linker and libnvvm.
type watched struct {
	tk   kit.Toolkit
	job  kit.Job
	env  map[string]string // NVVM_SPY_FAULT and its like
	flag string            // more of WARPLD_FLAGS
}

// nvlink runs the link with nvlink.
func (w watched) nvlink(t *testing.T) (kit.Result, []session) {
	t.Helper()
	return w.run(t, w.tk.Nvlink())
}

// warpld runs the link with warpld, which must take the nvvm engine.
func (w watched) warpld(t *testing.T) (kit.Result, []session) {
	t.Helper()
	linker := kit.Warpld(t, "--warpld-engine=nvvm "+w.flag)
	linker.Env = append(linker.Env, "CUDA_HOME="+w.tk.Root) // -nvvmpath leads to the spy, not to a toolkit
	return w.run(t, linker)
}

func (w watched) run(t *testing.T, linker kit.Linker) (kit.Result, []session) {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	linker.Env = append(linker.Env, w.environment(log)...)
	result, err := linker.Run(w.job)
	if err != nil {
		t.Fatal(err)
	}
	return result, readLog(t, log)
}

// environment is the spy's. warpld's workers get of it what WARPLD_WORKER_ENV names.
func (w watched) environment(log string) []string {
	env := []string{"NVVM_SPY_LOG=" + log, "NVVM_SPY_REAL=" + filepath.Join(w.tk.NVVM(), "lib64", "libnvvm.so")}
	passed := []string{"NVVM_SPY_LOG", "NVVM_SPY_REAL"}
	for name, value := range w.env {
		env = append(env, name+"="+value)
		passed = append(passed, name)
	}
	return append(env, "WARPLD_WORKER_ENV="+strings.Join(passed, ","))
}

// A session is what one process did with the library.
type session struct {
	process string   // its command line
	options []string // of nvvmCompileProgram
	calls   []string // by name
}

var (
	loadedLine = regexp.MustCompile(`^# spy loaded by pid \d+: (.*)`)
	optionLine = regexp.MustCompile(`^  opt\[\d+\]=<(.*)>$`)
	callLine   = regexp.MustCompile(`^(nvvm\w+|handle\[\w+\])`)
)

// readLog takes the spy's log apart; without a log the library was not loaded.
func readLog(t *testing.T, path string) []session {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var sessions []session
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if m := loadedLine.FindStringSubmatch(line); m != nil {
			sessions = append(sessions, session{process: m[1]})
			continue
		}
		if len(sessions) == 0 {
			t.Fatalf("%s: a call before the library was loaded: %s", path, line)
		}
		last := &sessions[len(sessions)-1]
		if m := optionLine.FindStringSubmatch(line); m != nil {
			last.options = append(last.options, m[1])
		} else if m := callLine.FindStringSubmatch(line); m != nil {
			last.calls = append(last.calls, m[1])
		}
	}
	return sessions
}

// link makes the job of linking inputs, KIND/FILE in the corpus, through the spy.
func link(t *testing.T, tk kit.Toolkit, spy string, inputs []string, args ...string) kit.Job {
	t.Helper()
	command := []string{"-dlto", "-nvvmpath=" + spy}
	var paths []string
	for _, input := range inputs {
		kind, name, _ := strings.Cut(input, "/")
		paths = append(paths, tk.Object(t, kind, name))
		command = append(command, name)
	}
	return kit.NewJob(t, paths, append(command, append(args, "-o", "linked")...)...)
}

// cudadevrt ends a command line as nvcc does.
func cudadevrt(tk kit.Toolkit) []string { return []string{"-L" + tk.Lib(), "-lcudadevrt"} }

func forEachToolkit(t *testing.T, f func(t *testing.T, tk kit.Toolkit)) {
	for _, tk := range kit.Toolkits(t) {
		t.Run(tk.Release(), func(t *testing.T) { f(t, tk) })
	}
}
