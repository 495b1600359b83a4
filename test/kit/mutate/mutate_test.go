package mutate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// write makes a package of one file around the body of a function.
func write(t *testing.T, body string) string {
	t.Helper()
	dir := t.TempDir()
	text := "package p\n\nimport \"slices\"\n\nfunc f(a, b int, list []int) (n int) {\n" + body +
		"\n\treturn n + len(slices.Clone(list))\n}\n"
	for name, data := range map[string]string{"go.mod": "module p\n\ngo 1.24\n", "p.go": text,
		"p_test.go": "package p\n//rule: Not read.\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestMutations(t *testing.T) {
	for _, test := range []struct{ name, body, old, new string }{
		{"drop", "//rule: R.\nn = a", "n = a", "if false {\nn = a\n}"},
		{"drop a case", "switch {\n//rule: R.\ncase a > b:\nn = a\n}", "n = a", "if false {\nn = a\n}"},
		{"condition", "//rule: R.\n//mutate: false\nif a > b {\nn = a\n}", "a > b", "(false && (a > b))"},
		{"case", "switch {\n//rule: R.\n//mutate: true\ncase a > b:\nn = a\n}", "a > b", "(true || (a > b))"},
		{"operand", "//rule: R.\n//mutate: true b > 1\nif a > 1 && b > 1 {\nn = a\n}", "1 && b > 1",
			"1 && (true || (b > 1))"},
		{"expression", "//rule: R.\n//mutate: a+b -> a-b\nn = max(a + b, 1)", "a + b", "a-b"},
		{"forward", "//rule: R.\n//mutate: forward\nfor _, x := range slices.Backward(list) {\nn = x\n}", "slices.Backward",
			"slices.All"},
		{"swap", "//rule: R.\n//mutate: swap\nn = a\nn = b", "n = a\nn = b", "n = b\nn = a"},
		{"swap elements", "for _, x := range []int{\n//rule: R.\n//mutate: swap\na,\nb,\n} {\nn = x\n}", "a,\nb", "b,\na"},
		{"also", "//rule: R.\n//mutate: also n = b\nn = a", "n = a", "n = a\nn = b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := write(t, test.body)
			rules, err := Read(dir)
			if err != nil || len(rules) != 1 || rules[0].Text != "R." {
				t.Fatalf("the rules are %+v, %v", rules, err)
			}
			src, err := os.ReadFile(filepath.Join(dir, "p.go"))
			if err != nil {
				t.Fatal(err)
			}
			got, err := rules[0].Source()
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Replace(string(src), test.old, test.new, 1); test.old == test.new || want != string(got) {
				t.Error(cmp.Diff(want, string(got)))
			}
			if err := Check(dir, rules); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWrongMarkers(t *testing.T) {
	for _, test := range []struct{ name, body, want string }{
		{"no statement", "n = a\n//rule: R.\n\nn = b", "no statement"},
		{"no condition", "//rule: R.\n//mutate: false\nfor range list {\n}", "no condition"},
		{"missing", "//rule: R.\n//mutate: a -> 1\nn = b", `"a" is there 0 times`},
		{"twice", "//rule: R.\n//mutate: a -> 1\nn = a + a", `"a" is there 2 times`},
		{"in the body", "//rule: R.\n//mutate: a -> 1\nif b > 1 {\nn = a\n}", `"a" is there 0 times`},
		{"unknown", "//rule: R.\n//mutate: upside-down\nn = a", "is not known"},
		{"mutation alone", "//mutate: false\nif a > b {\n}", "without a rule"},
		{"same text", "//rule: R.\nn = a\n//rule: R.\nn = b", "a second rule"},
		{"last", "if a > b {\n//rule: R.\n//mutate: swap\nn = a\n}", "nothing to swap with"},
	} {
		if _, err := Read(write(t, test.body)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
	}
}

// A mutant that does not compile is reported.
func TestCheck(t *testing.T) {
	dir := write(t, "//rule: R.\n//mutate: a -> missing\nn = a\n//rule: Sound.\nn = b")
	rules, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(dir, rules); err == nil || !strings.Contains(err.Error(), "R.") ||
		strings.Contains(err.Error(), "Sound") {
		t.Errorf("the error is %v", err)
	}
}
