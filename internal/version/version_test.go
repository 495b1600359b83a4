package version

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

const hash = "0123456789abcdef0123456789abcdef01234567"

func TestFull(t *testing.T) {
	vcs := func(modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Settings: []debug.BuildSetting{
			{Key: "-trimpath", Value: "true"},
			{Key: "vcs", Value: "git"},
			{Key: "vcs.revision", Value: hash},
			{Key: "vcs.modified", Value: modified},
		}}
	}
	plain := "warpld " + Version + " " + runtime.GOOS + "/" + runtime.GOARCH + " " + runtime.Version()
	for name, test := range map[string]struct {
		commit string
		info   *debug.BuildInfo
		want   string
	}{
		"no build information":   {"", nil, plain},
		"no version control":     {"", &debug.BuildInfo{}, plain},
		"clean checkout":         {"", vcs("false"), plain + " commit " + hash},
		"modified checkout":      {"", vcs("true"), plain + " commit " + hash + " (modified)"},
		"package":                {"fedcba", &debug.BuildInfo{}, plain + " commit fedcba"},
		"package, in a checkout": {"fedcba", vcs("true"), plain + " commit fedcba"},
	} {
		if got := full(test.commit, test.info); got != test.want {
			t.Errorf("%s: full() = %q, want %q", name, got, test.want)
		}
	}
}

// TestBuild builds a program that prints Full in a repository of its own, as packaging/build
// and users do.
func TestBuild(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatalf("the go command needs git to embed the commit: %v", err)
	}
	dir := t.TempDir()
	source, err := os.ReadFile("version.go")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "go.mod"), "module example.com/v\n\ngo 1.26.0\n")
	write(t, filepath.Join(dir, "version", "version.go"), string(source))
	write(t, filepath.Join(dir, "main.go"), "package main\n\nimport \"example.com/v/version\"\n\n"+
		"func main() { println(version.Full()) }\n")
	run(t, dir, "git", "init", "-q")
	run(t, dir, "git", "add", ".")
	run(t, dir, "git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "first")
	head := strings.TrimSpace(run(t, dir, "git", "rev-parse", "HEAD"))

	build := func(flags ...string) string {
		program := filepath.Join(t.TempDir(), "v")
		run(t, dir, "go", append(append([]string{"build", "-trimpath"}, flags...), "-o", program, ".")...)
		return strings.TrimSpace(run(t, dir, program))
	}
	if got := build("-buildvcs=true"); !strings.HasSuffix(got, " commit "+head) {
		t.Errorf("built in a clean checkout: %q, want commit %s", got, head)
	}
	if got := build("-buildvcs=false"); strings.Contains(got, "commit") {
		t.Errorf("built without version control information: %q", got)
	}
	set := "-ldflags=-X example.com/v/version.commit=" + hash
	if got := build("-buildvcs=false", set); !strings.HasSuffix(got, " commit "+hash) {
		t.Errorf("built with %s: %q", set, got)
	}
	write(t, filepath.Join(dir, "main.go"), "package main\n\nimport \"example.com/v/version\"\n\n"+
		"func main() { print(version.Full()) }\n")
	if got := build("-buildvcs=true"); !strings.HasSuffix(got, " commit "+head+" (modified)") {
		t.Errorf("built in a modified checkout: %q, want commit %s (modified)", got, head)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0", "GIT_DIR="+filepath.Join(dir, ".git"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}
