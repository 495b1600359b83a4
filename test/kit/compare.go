package kit

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/object/cubin"
)

// A Comparison says what counts as the same.
type Comparison struct {
	// Merged: the result is one of merging cubins, which records the command
	// lines of the tools that took part. These may differ.
	Merged bool
	// Extra are warnings that warpld has to add to nvlink's.
	Extra []string
}

// Differences tells where got is not exactly want.
func Differences(want, got Result) []string { return Comparison{}.Differences(want, got) }

// Differences tells where got is not want, which is nvlink's. Files are
// compared byte for byte; in texts, measured times don't count, and neither
// do the lines that warpld adds beneath nvlink's messages. A link that failed
// must leave nothing, whatever nvlink left.
func (c Comparison) Differences(want, got Result) []string {
	var list []string
	if want.Exit != got.Exit {
		list = append(list, fmt.Sprintf("exit code %d, want %d", got.Exit, want.Exit))
	}
	stderr := withoutNoise(got.Stderr)
	for _, text := range c.Extra {
		line := "nvlink warning : " + text + "\n"
		if !strings.Contains(stderr, line) {
			list = append(list, "no warning: "+text)
		}
		stderr = strings.Replace(stderr, line, "", 1)
	}
	if stderr != withoutNoise(want.Stderr) {
		list = append(list, fmt.Sprintf("stderr:\n%swant:\n%s", got.Stderr, want.Stderr))
	}
	if withoutNoise(want.Stdout) != withoutNoise(got.Stdout) {
		list = append(list, fmt.Sprintf("stdout:\n%swant:\n%s", got.Stdout, want.Stdout))
	}
	if want.Exit != 0 {
		want.Files = nil
	}
	return append(list, c.fileDifferences(want.Files, got.Files)...)
}

func (c Comparison) fileDifferences(want, got map[string][]byte) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if data, ok := got[name]; !ok {
			list = append(list, "no file "+name)
		} else if difference := c.fileDifference(name, want[name], data); difference != "" {
			list = append(list, name+": "+difference)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			list = append(list, "an additional file "+name)
		}
	}
	return list
}

var (
	ownLine  = regexp.MustCompile(`(?m)^    (note|hint): .*\n`)
	duration = regexp.MustCompile(`\d+\.\d+ (, )?ms`)
)

// withoutNoise leaves out of a text what may differ.
func withoutNoise(text string) string {
	return WithoutTimes(ownLine.ReplaceAllString(text, ""))
}

// WithoutTimes leaves measured times out of a text.
func WithoutTimes(text string) string { return duration.ReplaceAllString(text, "TIME ${1}ms") }

func (c Comparison) fileDifference(name string, want, got []byte) string {
	if filepath.Ext(name) == ".csv" { // of -time
		want, got = []byte(withoutNoise(string(want))), []byte(withoutNoise(string(got)))
	}
	if bytes.Equal(want, got) {
		return ""
	}
	a, errA := cubin.Parse(want)
	b, errB := cubin.Parse(got)
	if errA == nil && errB == nil {
		return listed(cubin.Compare(a, b, !c.Merged))
	}
	at := 0
	for at < min(len(want), len(got)) && want[at] == got[at] {
		at++
	}
	return fmt.Sprintf("differs from byte %d on: %q, want %q", at, around(got, at), around(want, at))
}

// listed shows the first few differences, nvlink's side first.
func listed(differences []cubin.Difference) string {
	var b strings.Builder
	for i, d := range differences {
		if i == 10 {
			fmt.Fprintf(&b, "\n... and %d more", len(differences)-i)
			break
		}
		b.WriteString("\n" + d.String())
	}
	return b.String()
}

// around is the text near an offset.
func around(data []byte, at int) []byte { return data[max(0, at-20):min(len(data), at+60)] }
