package mutate

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// A Trial is a run of the tests of a package.
type Trial struct {
	Folder string
	// Tags are the build tags of the tests, Arguments are for their program, and Env is added
	// to the environment.
	Tags      string
	Arguments []string
	Env       []string
}

var failedTest = regexp.MustCompile(`(?m)^ *--- FAIL: (\S+)`)

// FailedTest runs the tests without the rule, and returns the name of one that fails, the most
// exact of those that failed first, or "" if none does. The files are written to dir.
func (r *Rule) FailedTest(dir string, trial Trial) (string, error) {
	overlay, err := r.Overlay(dir)
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "mutant")
	build := exec.Command("go", "test", "-c", "-vet=off", "-tags="+trial.Tags, "-overlay="+overlay, "-o", binary,
		trial.Folder)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("without %q: %w\n%s", r.Text, err, out)
	}
	run := exec.Command(binary, trial.Arguments...)
	run.Dir, run.Env = trial.Folder, append(os.Environ(), trial.Env...)
	out, err := run.CombinedOutput()
	if err == nil {
		return "", nil
	}
	names := failedTest.FindAllStringSubmatch(string(out), -1)
	if len(names) == 0 {
		return "a crash", nil
	}
	return names[len(names)-1][1], nil
}
