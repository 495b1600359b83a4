package options

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A splitTest is a text with its words, and the stray character that ends them.
type splitTest struct {
	text  string
	words []string
	stray error
}

func checkSplit(t *testing.T, split func(string) ([]string, error), tests []splitTest) {
	t.Helper()
	for _, test := range tests {
		words, err := split(test.text)
		if diff := cmp.Diff(test.words, words); diff != "" || !errors.Is(err, test.stray) {
			t.Errorf("%q: error %v, want %v; words (-want +got):\n%s", test.text, err, test.stray, diff)
		}
	}
}

func TestSplitList(t *testing.T) {
	checkSplit(t, splitList, []splitTest{
		{text: "a,b", words: []string{"a", "b"}},
		{text: `"a,b",c`, words: []string{"a,b", "c"}},
		{text: `a"b,c"d`, words: []string{"ab,cd"}},
		{text: " a , b ", words: []string{"a", "b"}},
		{text: `" a",b`, words: []string{"a", "b"}},
		{text: "\ta\t", words: []string{"a"}},
		{text: "a\n", words: []string{"a\n"}},
		{text: "a,,b,", words: []string{"a", "b"}},
		{text: `"",a`, words: []string{"a"}},
		{text: ""},
		{text: "a b", words: []string{"a b"}},
		{text: `a\,b`, words: []string{`a\`, "b"}},
		{text: `"a\"b"`, words: []string{`a\"b`}},
		{text: `a\"b"`, words: []string{`a\b`}},
		{text: "'a,b'", words: []string{"'a", "b'"}},
		{text: `a"b`, stray: strayError(`"`)},
		{text: `"a\"`, stray: strayError(`"`)},
		{text: `"a\`, stray: strayError("")},
		{text: `a,"b,c`, words: []string{"a"}, stray: strayError(`"`)},
	})
}

func TestSplitXnvvm(t *testing.T) {
	split := func(value string) ([]string, error) {
		items, err := splitList(value)
		if err != nil {
			return nil, err
		}
		return splitXnvvm(items)
	}
	checkSplit(t, split, []splitTest{
		{text: "-a,-b  -c", words: []string{"-a", "-b", "-c"}},
		{text: `"-a,-b -c"`, words: []string{"-a,-b", "-c"}},
		{text: `-a\ -b`, words: []string{"-a -b"}},
		{text: `-a\\b`, words: []string{`-a\b`}},
		{text: `"-a\"b"`, words: []string{`-a"b`}},
		{text: `"-a\" b"`, words: []string{`-a"`, "b"}},
		{text: `"a\\"b c\\" d"`, words: []string{`a\"b c\"`, "d"}},
		{text: "-a\t-b", words: []string{"-a\t-b"}},
		{text: "-a \t -b", words: []string{"-a", "-b"}},
		{text: `-a\ \  -b`, words: []string{"-a", "-b"}},
		{text: ""},
		{text: `-a\,-b`, stray: strayError("")},
		{text: `"a\\"b c d"`, stray: strayError(`"`)},
	})
}

func TestSplitXptxas(t *testing.T) {
	items := []string{`-v  -O1`, "-a\t-b", `"c\ d"`, "-e\n-f"}
	want := []string{"-v", "-O1", "-a", "-b", `"c\`, `d"`, "-e\n-f"}
	if diff := cmp.Diff(want, splitXptxas(items)); diff != "" {
		t.Error(diff)
	}
}

func TestSplitResponseFile(t *testing.T) {
	checkSplit(t, responseFile.split, []splitTest{
		{text: " a\tb\r\nc\v\fd ", words: []string{"a", "b", "c", "d"}},
		{text: `'a b' "c d" e\ f`, words: []string{"a b", "c d", "e f"}},
		{text: `x'a"b'"c'd"`, words: []string{`xa"bc'd`}},
		{text: `"a\"b" 'c\'d' \\`, words: []string{`a"b`, "c'd", `\`}},
		{text: `'' ""`, words: []string{"", ""}},
		{text: "# a", words: []string{"#", "a"}},
		{text: ""},
		{text: "'a", stray: strayError("'")},
		{text: `a\`, stray: strayError("")},
	})
}
