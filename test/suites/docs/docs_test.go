// Package docs checks the form of the documents: lines end before column 100, and links
// lead somewhere.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	root    = "../../.."
	columns = 100
)

// generated are pages whose text a test writes and compares.
var generated = map[string]bool{"docs/comparison.md": true}

var (
	target  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`^#+ +(.*)`)
	scheme  = regexp.MustCompile(`^[a-z]+:`)
)

// documents returns the paths of all Markdown files below the root.
func documents(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "node_modules"):
			return fs.SkipDir
		case strings.HasSuffix(path, ".md"):
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < 20 {
		t.Fatalf("found only %v", paths)
	}
	return paths
}

// A line is one of a document, without those in fenced blocks.
type line struct {
	number int
	text   string
}

func read(t *testing.T, path string) (lines []line) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fenced := false
	for i, l := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(strings.TrimSpace(l), "```") {
			fenced = !fenced
		} else if !fenced {
			lines = append(lines, line{i + 1, l})
		}
	}
	if fenced {
		t.Errorf("%s: a fenced block does not end", path)
	}
	return lines
}

// tooLong reports whether a line of prose should be wrapped. Rows of tables cannot be,
// and the addresses of links don't count.
func tooLong(text string) bool {
	if strings.HasPrefix(strings.TrimSpace(text), "|") {
		return false
	}
	return utf8.RuneCountInString(target.ReplaceAllString(text, "]")) > columns
}

func TestWrapped(t *testing.T) {
	for _, path := range documents(t) {
		name := filepath.ToSlash(strings.TrimPrefix(path, root+"/"))
		if generated[name] {
			continue
		}
		for _, l := range read(t, path) {
			if tooLong(l.text) {
				t.Errorf("%s:%d: %d columns, want at most %d", name, l.number, utf8.RuneCountInString(l.text), columns)
			}
		}
	}
}

func TestTooLong(t *testing.T) {
	long := strings.Repeat("a ", columns)
	for text, want := range map[string]bool{
		strings.Repeat("é", columns):            false,
		strings.Repeat("a", columns+1):          true,
		"   | " + long + " |":                   false,
		"see [this](" + long[:1] + ")":          false,
		"[a](" + strings.Repeat("b", 120) + ")": false,
		long:                                    true,
	} {
		if got := tooLong(text); got != want {
			t.Errorf("tooLong(%q) = %v, want %v", text, got, want)
		}
	}
}

// anchor returns the name that GitHub gives a heading.
func anchor(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.ReplaceAll(title, "`", "")) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || (r >= '0' && r <= '9') || (r >= 'a' && r <= 'z'):
			b.WriteRune(r)
		}
	}
	return b.String()
}

func anchors(t *testing.T, path string) map[string]bool {
	names := map[string]bool{}
	for _, l := range read(t, path) {
		if m := heading.FindStringSubmatch(l.text); m != nil {
			names[anchor(m[1])] = true
		}
	}
	return names
}

func TestLinks(t *testing.T) {
	found := 0
	for _, path := range documents(t) {
		for _, l := range read(t, path) {
			for _, m := range target.FindAllStringSubmatch(l.text, -1) {
				if scheme.MatchString(m[1]) {
					continue
				}
				found++
				file, name, _ := strings.Cut(m[1], "#")
				to := path
				if file != "" {
					to = filepath.Join(filepath.Dir(path), file)
				}
				if _, err := os.Stat(to); err != nil {
					t.Errorf("%s:%d: the link %s leads nowhere: %v", path, l.number, m[1], err)
				} else if name != "" && !anchors(t, to)[name] {
					t.Errorf("%s:%d: %s has no heading for #%s", path, l.number, to, name)
				}
			}
		}
	}
	if found < 50 {
		t.Errorf("found only %d links", found)
	}
}
