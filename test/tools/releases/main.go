// Releases runs the suites that compare links with nvlink's, once for each toolkit, and writes
// how many links were equal. "run" installs the toolkits and sets the environment.
//
//	go run ./test/tools/releases [-suites LIST] [-tests REGEXP] [-page FILE]
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/warpld/warpld/test/kit"
)

func main() {
	suites := flag.String("suites", "spy,compare,modes,merger", "the suites to run")
	tests := flag.String("tests", ".", "the tests of each suite to run, as go test -run takes them")
	limit := flag.String("timeout", "60m", "the time that a suite may take")
	page := flag.String("page", "", "the file to write the page to; standard output if empty")
	flag.Parse()
	toolkits, err := kit.FindToolkits()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var rows []row
	for _, tk := range toolkits {
		for suite := range strings.SplitSeq(*suites, ",") {
			r := run(tk, suite, "-run="+*tests, "-timeout="+*limit)
			fmt.Fprint(os.Stderr, r)
			rows = append(rows, r)
		}
	}
	text := document(rows, time.Now().UTC(), command())
	if *page == "" {
		fmt.Print(text)
	} else if err := os.WriteFile(*page, []byte(text), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, r := range rows {
		if r.failed {
			os.Exit(1)
		}
	}
}

// command is the command line, with the settings of the environment that change what runs.
func command() string {
	var words []string
	for _, name := range []string{"WARPLD_TEST_MERGER_ARCHS", "WARPLD_TEST_MERGER_RANDOM",
		"WARPLD_TEST_MERGER_GENERATED"} {
		if value := os.Getenv(name); value != "" {
			words = append(words, name+"="+value)
		}
	}
	return strings.Join(append(append(words, "test/tools/releases/run RELEASE..."), os.Args[1:]...), " ")
}

// A row is a suite that ran with a toolkit.
type row struct {
	version, suite string
	counts         map[string]int
	failed         bool
}

// run runs a suite. What it prints goes to standard error if it fails.
func run(tk kit.Toolkit, suite string, options ...string) row {
	args := append([]string{"test", "-tags=realtools", "-vet=off", "-count=1", "-v"}, options...)
	cmd := exec.Command("go", append(args, "./test/suites/"+suite)...)
	cmd.Env = append(os.Environ(), "WARPLD_TEST_CUDA="+tk.Root)
	out, err := cmd.CombinedOutput()
	r := row{version: tk.Version, suite: suite, failed: err != nil, counts: counts(string(out), tk.Version)}
	if err != nil {
		io.WriteString(os.Stderr, failures(string(out)))
	}
	return r
}

// counts returns what a suite counted for a version.
func counts(text, version string) map[string]int {
	for line := range strings.Lines(text) {
		if of, counts, ok := kit.ReadTally(line); ok && of == version {
			return counts
		}
	}
	return map[string]int{}
}

// failures returns the output without the lines about tests that run or pass.
func failures(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if !strings.HasPrefix(trimmed, "--- PASS") && !strings.HasPrefix(trimmed, "=== ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// String returns the row of the page.
func (r row) String() string {
	total := 0
	for _, n := range r.counts {
		total += n
	}
	c := r.counts
	return fmt.Sprintf("| %s | `%s` | %d | %d | %d | %d | %d | %d |\n", r.version, r.suite, total, c[kit.Equal],
		c[kit.BothRefuse], c[kit.Improved], c[kit.LeftToNvlink], c[kit.Different])
}

// document is the page.
func document(rows []row, at time.Time, command string) string {
	var b strings.Builder
	fmt.Fprintf(&b, preface, at.Format("2006-01-02"), command)
	for _, r := range rows {
		b.WriteString(r.String())
	}
	return b.String()
}

const preface = `# Releases of CUDA

The suites of ` + "`test/suites`" + ` that compare every link with nvlink, once with each toolkit: exit code,
messages and every byte of the output, or, in the suite ` + "`spy`" + `, what libnvvm is called with. CI runs
them with 13.0 and 13.4; the page [comparison.md](comparison.md) and the figures in
[merger.md](merger.md) are of these.

Written on %s by

` + "```text\n%s\n```" + `

Objects are compiled by nvcc 13.0, and cubins for the merger are assembled by ptxas of each release.
"Both refuse" are links that fail with nvlink and with warpld in the same words, where a suite
counts them apart; "improvements" are the intended differences of [comparison.md](comparison.md);
"left" are links that our merger left to nvlink.

| toolkit | suite | links | equal | both refuse | improvements | left | different |
|---|---|---|---|---|---|---|---|
`
