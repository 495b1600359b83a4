package gate

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/version"
)

// A Result is a comparison to be written.
type Result struct {
	Baseline string // path
	Kernels  []Kernel
	Findings []Finding
	// Ratchet: what is better fails, too, until the baseline is updated.
	Ratchet bool
}

// Failed reports whether the gate is closed.
func (r *Result) Failed() bool {
	return Count(r.Findings, Worse) > 0 || (r.Ratchet && Count(r.Findings, Better) > 0)
}

func (r *Result) fails(f *Finding) bool { return f.Verdict == Worse || r.Ratchet }

// Writers are the forms in which a result can be written, by name.
var Writers = map[string]func(*Result, io.Writer) error{
	"text": (*Result).writeText, "markdown": (*Result).writeMarkdown, "junit": (*Result).writeJUnit,
	"sarif": (*Result).writeSARIF,
}

func (r *Result) summary() string {
	worse, better := Count(r.Findings, Worse), Count(r.Findings, Better)
	text := fmt.Sprintf("%d kernels: %d worse, %d better or new", len(r.Kernels), worse, better)
	if better > 0 {
		text += "; 'warpld gate --update' records what is better or new"
	}
	return text
}

func (r *Result) writeText(w io.Writer) error {
	for i := range r.Findings {
		word := "better"
		if f := &r.Findings[i]; f.Verdict == Worse {
			word = "WORSE "
		} else if f.What == Came {
			word = "new   "
		}
		fmt.Fprintf(w, "%s  %s\n", word, r.Findings[i])
	}
	_, err := fmt.Fprintln(w, r.summary())
	return err
}

// cell makes text safe for a cell of a Markdown table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "`", "'", "\n", " ").Replace(text)
}

func (r *Result) writeMarkdown(w io.Writer) error {
	fmt.Fprintf(w, "**%s**\n", r.summary())
	if len(r.Findings) > 0 {
		fmt.Fprint(w, "\n| | kernel | architecture | what | before | now |\n|---|---|---|---|---:|---:|\n")
	}
	for _, f := range r.Findings {
		word, before, now := "better", fmt.Sprint(f.Before), fmt.Sprint(f.Now)
		switch {
		case f.What == Lost:
			word, before, now = "**worse**", "there", "gone"
		case f.What == Came:
			word, before, now = "new", "-", "there"
		case f.Verdict == Worse:
			word = "**worse**"
		}
		what := f.What
		if f.Detail != "" {
			what += " with " + f.Detail + " threads, %"
		}
		fmt.Fprintf(w, "| %s | `%s` | %s | %s | %s | %s |\n", word, cell(message.Demangle(f.Kernel)), cell(f.Arch), what,
			before, now)
	}
	return nil
}

// The elements of a JUnit file.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name     string         `xml:"name,attr"`
		Class    string         `xml:"classname,attr"`
		Failures []junitFailure `xml:"failure"`
	}
	junitFailure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
	}
)

// writeJUnit writes a test case for each kernel.
func (r *Result) writeJUnit(w io.Writer) error {
	failures := map[key][]junitFailure{}
	suite := junitSuite{Name: "warpld gate"}
	for i := range r.Findings {
		f := &r.Findings[i]
		at := key{f.Kernel, f.Arch}
		if r.fails(f) {
			failures[at] = append(failures[at], junitFailure{Message: f.String(), Type: f.What})
		}
		if f.What == Lost {
			suite.Cases = append(suite.Cases, junitCase{Name: message.Demangle(f.Kernel), Class: f.Arch, Failures: failures[at]})
		}
	}
	for i := range r.Kernels {
		k := &r.Kernels[i]
		suite.Cases = append(suite.Cases, junitCase{Name: message.Demangle(k.Name), Class: k.Arch,
			Failures: failures[key{k.Name, k.Arch}]})
	}
	suite.Tests = len(suite.Cases)
	for _, c := range suite.Cases {
		if len(c.Failures) > 0 {
			suite.Failures++
		}
	}
	io.WriteString(w, xml.Header)
	e := xml.NewEncoder(w)
	e.Indent("", " ")
	if err := e.Encode(&suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// writeSARIF writes the findings as results of static analysis, which code hosts show
// beside the line of the baseline.
func (r *Result) writeSARIF(w io.Writer) error {
	type object = map[string]any
	results := []object{}
	for i := range r.Findings {
		f := &r.Findings[i]
		level := "note"
		if r.fails(f) {
			level = "error"
		}
		results = append(results, object{"ruleId": f.What, "level": level, "message": object{"text": f.String()},
			"partialFingerprints": object{"kernel/v1": f.What + " " + f.Arch + " " + f.Kernel + " " + f.Detail},
			"locations": []object{{"physicalLocation": object{
				"artifactLocation": object{"uri": filepath.ToSlash(r.Baseline)},
				"region":           object{"startLine": max(f.Line, 1)}}}}})
	}
	rules := []object{}
	for _, id := range append([]string{Lost, Came}, Resources...) {
		rules = append(rules, object{"id": id,
			"shortDescription": object{"text": "kernel compared with its baseline: " + id}})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(object{"version": "2.1.0", "runs": []object{{
		"tool":    object{"driver": object{"name": "warpld gate", "version": version.Version, "rules": rules}},
		"results": results}}})
}
