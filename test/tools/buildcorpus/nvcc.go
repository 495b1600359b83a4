package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
)

// compile makes the outputs of nvcc steps for one source. nvcc lists its commands, with the
// temporary files of all steps in one folder; what a step has in common with the one before it,
// from the first command on, is run once. Preprocessors and compilers of device code are nearly
// all of the work, and only the commands that pack the result differ.
func (g group) compile() (err error) {
	folder, err := os.MkdirTemp("", "buildcorpus-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	var before []string
	for _, s := range g {
		env, commands, err := s.dryRun(folder)
		if err != nil {
			return err
		}
		done := commonPrefix(before, commands)
		for _, text := range commands[done:] {
			if err := command("", env, []string{"sh", "-c", text}); err != nil {
				return err
			}
		}
		if _, err := os.Stat(s.out); err != nil {
			return fmt.Errorf("the commands that nvcc lists did not make its output: %w", err)
		}
		before = commands
	}
	return nil
}

var assignment = regexp.MustCompile(`^[A-Z_]+=`)

// dryRun asks nvcc for the environment and the commands of a step.
func (s step) dryRun(folder string) (env, commands []string, err error) {
	args := append(s.command(), "-dryrun", "-keep", "-keep-dir", folder)
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return nil, nil, fmt.Errorf("%q: %w\n%s", args, err, out)
	}
	for line := range strings.Lines(string(out)) {
		text, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "#$ ")
		switch {
		case !ok:
		case assignment.MatchString(text):
			env = append(env, text)
		default:
			commands = append(commands, text)
		}
	}
	if len(commands) == 0 {
		return nil, nil, fmt.Errorf("%q lists no commands:\n%s", args, out)
	}
	return env, commands, nil
}

// commonPrefix returns how many commands two lists have in common at their beginning.
func commonPrefix(a, b []string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
