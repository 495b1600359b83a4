//go:build realtools

package merger

import (
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// TestExplanations wants our messages to say why: by which calls a program comes to
// what is wrong with it.
func TestExplanations(t *testing.T) {
	tests := map[string][]string{
		"bigsm bigsm2": {"44000 bytes are kbig(int*)::s of 'bigsm.cubin': kbig(int*)",
			"44000 bytes are sm2(int)::t of 'bigsm2.cubin': kbig(int*) -> sm2(int)"},
		"a": {"_Z4bfuni is bfun(int)", "the calls are ka(int*) -> bfun(int)",
			"it is used by ka(int*)"},
		"sized_array1 sized_array2": {"the sizes are 12 and 8 bytes"},
		"w1 a b a":                  {"_Z2kaPi is ka(int*)"},
	}
	s := setting{kit.Toolkits(t)[0], "sm_80"}
	for text, notes := range tests {
		p := program{names: strings.Fields(text)}
		said := s.own(t, p, s.buildAll(t, p.names)).Stderr
		for _, note := range notes {
			if !strings.Contains(said, "    note: "+note+"\n") {
				t.Errorf("%s: no note %q in\n%s", text, note, said)
			}
		}
	}
}

// TestExplainedVendor lets nvlink refuse a link: what our merger knows of it is said,
// too.
func TestExplainedVendor(t *testing.T) {
	tk := kit.Toolkits(t)[0]
	got, err := kit.Warpld(t, "--warpld-cuda="+tk.Root).Run(linkJob(t, tk, "sm_80", "rdc/a.o"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "    note: the calls are ka(int*) -> bfun(int)\n"
	if !strings.Contains(got.Stdout+got.Stderr, want) {
		t.Errorf("no %q in\n%s%s", want, got.Stdout, got.Stderr)
	}
}
