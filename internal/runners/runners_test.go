package runners

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/action"
	"github.com/warpld/warpld/internal/action/local"
	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/options"
)

// open makes the runners for some options, and returns what was reported.
func open(t *testing.T, cacheDir string, args ...string) (set *Set, said []string, err error) {
	t.Helper()
	args = append([]string{"-arch=sm_80", "-o", "out", "a.o"}, args...)
	o, err := options.Parse(args, "", os.ReadFile, func(*message.Message) {})
	if err != nil {
		t.Fatal(err)
	}
	processes, err := local.New(t.TempDir(), o.Own.KeepWorkDirs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { processes.Close() })
	env := func(name string) string { return map[string]string{"WARPLD_CACHE_DIR": cacheDir}[name] }
	set, err = Open(t.Context(), Request{Options: o, Env: env, Local: processes, Report: func(m *message.Message) {
		said = append(said, m.Text)
	}})
	if err == nil {
		t.Cleanup(set.Close)
	}
	return set, said, err
}

// echo returns an action that writes a file.
func echo(text string) *action.Action {
	return &action.Action{Label: "echo", Tool: action.File{Name: "sh", Content: action.AtPath("/bin/sh")},
		Args: []string{"-c", "echo " + text + " >out"}, Outputs: []string{"out"}}
}

func TestCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	for _, cached := range []bool{false, true} {
		set, said, err := open(t, dir)
		if err != nil || len(said) > 0 {
			t.Fatalf("said %q, %v", said, err)
		}
		r, err := set.Runner.Run(t.Context(), echo("hello"))
		if err != nil || !r.OK() || r.Cached != cached {
			t.Errorf("%+v, %v, want cached %v", r, err, cached)
		}
		r, err = set.Limited.Run(t.Context(), echo("hello"))
		if err != nil || !r.OK() || r.Cached {
			t.Errorf("the runner without the cache gives %+v, %v", r, err)
		}
	}
	for _, args := range [][]string{{"--warpld-cache=off"}, {"--warpld-keep"}} {
		set, _, err := open(t, dir, args...)
		if err != nil || set.Earlier("out") != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
	set, _, err := open(t, dir, "--warpld-jobs=3")
	if err != nil || set.Jobs != 3 || set.InFlight != 3 {
		t.Errorf("%d jobs, %d in flight, %v", set.Jobs, set.InFlight, err)
	}
}

func TestUnusableCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	set, said, err := open(t, filepath.Join(file, "cache"))
	if err != nil || !slices.Contains(said, "this link goes without the cache") {
		t.Errorf("said %q, %v", said, err)
	}
	if r, err := set.Runner.Run(t.Context(), echo("hello")); err != nil || !r.OK() {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestServerOptions(t *testing.T) {
	for want, args := range map[string][]string{
		"is no header":   {"--warpld-remote=grpcs://x:1", "--warpld-remote-header=pool"},
		"is no property": {"--warpld-remote=grpc://x:1", "--warpld-remote-platform=pool"},
		"is no tool":     {"--warpld-remote=grpc://x:1", "--warpld-remote-tool=ptxas=ptxas"},
	} {
		if _, _, err := open(t, t.TempDir(), args...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %q", args, err, want)
		}
	}
	set, _, err := open(t, t.TempDir(), "--warpld-remote=grpc://127.0.0.1:1", "--warpld-remote-platform=pool=gpu",
		"--warpld-remote-tool=sh=/bin/sh")
	if err != nil || set.InFlight <= set.Jobs {
		t.Errorf("with a server: %d in flight, %v", set.InFlight, err)
	}
	if _, _, err = open(t, t.TempDir(), "--warpld-keep", "--warpld-remote=grpc://127.0.0.1:1"); err != nil {
		t.Errorf("a server that is not used gives %v", err)
	}
}
