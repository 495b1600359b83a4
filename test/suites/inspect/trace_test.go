//go:build realtools

package inspect

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/warpld/warpld/internal/record"
	"github.com/warpld/warpld/test/kit"
)

// Traces are as Chrome's format has it, and have all that the record has: of links that
// run one tool after the other, several at once, or find results in the cache, and of
// compilers that tell what they do.
func TestTrace(t *testing.T) {
	for _, test := range []struct {
		name   string
		inputs []string
		flags  []string
		stages bool
	}{
		{"whole", []string{"stored/a.o", "stored/b.o"}, []string{"-dlto"}, true},
		{"compressed", []string{"default/a.o", "default/b.o"}, []string{"-dlto"}, true},
		{"partial", []string{"stored/a.o", "rdc/b.o"}, []string{"-dlto"}, true},
		{"native", []string{"rdc/a.o", "rdc/b.o"}, nil, false},
		{"slices", []string{"stored/names.o", "stored/hostref.o"},
			[]string{"-dlto", "--warpld-mode=fast", "--warpld-slice-size=0"}, true},
		{"symbols", []string{"stored/hostref.o", "stored/names.o"}, []string{"-dlto", "--warpld-print-removed"}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("WARPLD_CACHE_DIR", t.TempDir())
			tk := kit.Toolkits(t)[0]
			args := test.flags
			for _, in := range test.inputs {
				args = append(args, tk.Object(t, filepath.Dir(in), filepath.Base(in)))
			}
			for _, again := range []bool{false, true} {
				dir := t.TempDir()
				trace := filepath.Join(dir, "trace.json")
				r := recordAt(t, tk, dir, append(args, "--warpld-trace="+trace))
				text, err := os.ReadFile(trace)
				if err != nil {
					t.Fatal(err)
				}
				for _, wrong := range kit.CheckTrace(text, r) {
					t.Error(wrong)
				}
				told := slices.ContainsFunc(r.Actions, func(a record.Action) bool { return len(a.Stages) > 0 })
				if len(r.Actions) == 0 || told != (test.stages && !again) {
					t.Errorf("%d actions, a second time: %v, with stages: %v", len(r.Actions), again, told)
				}
			}
		})
	}
}
