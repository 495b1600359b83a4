//go:build realtools

package modes

import (
	"fmt"
	"strings"
	"testing"
)

// generated is a program of 64 modules and four libraries.
var generated = func() string {
	var files []string
	for i := range 4 {
		files = append(files, fmt.Sprintf("FORM-generated/lib%d.o", i))
	}
	for i := range 64 {
		files = append(files, fmt.Sprintf("FORM-generated/m%d.o", i))
	}
	return strings.Join(files, " ")
}()

// offending are objects that spoil a large program, and what the messages must
// say about it. The same function with the same prototype is in the program.
var offending = map[string]struct {
	file  string
	exit  int
	lines []string
}{
	"undefined": {"extra/undefined.o", 255, []string{
		"nvlink error   : Undefined reference to '_Z10nowhere_atf' in 'lto.cubin'\n",
		"    note: _Z10nowhere_atf is nowhere_at(float)\n",
		"    note: referred to by undefined.o\n",
	}},
	"duplicate": {"extra/duplicate.o", 1, []string{
		"nvlink info    : duplicate.o: link error: error: Linking globals named '_Z6m17_f1fffjiPKf': symbol multiply " +
			"defined!\n",
		"    note: _Z6m17_f1fffjiPKf is m17_f1(float, float, float, unsigned int, int, float const*)\n",
		"    note: defined in m17.o, duplicate.o\n",
		"nvlink fatal   : elfLink JIT compile failed\n",
	}},
}

// TestSymbolsOfLargeProgram wants the objects that are to blame named, among
// many, though the tools that complain have seen only one program. One toolkit
// gets stored LTO-IR, the other compressed.
func TestSymbolsOfLargeProgram(t *testing.T) {
	for _, s := range settings(t) {
		if s.arch != "sm_80" {
			continue
		}
		for name, o := range offending {
			t.Run(s.tk.Release()+"/"+s.form()+"/"+name, func(t *testing.T) {
				t.Parallel()
				got := s.warpld(t, s.job(t, standard("LTO "+generated+" FORM-"+o.file+" DEVRT")), "")
				if got.Exit != o.exit || len(got.Files) > 0 {
					t.Errorf("exit code %d and %d files, want %d and none", got.Exit, len(got.Files), o.exit)
				}
				for _, line := range o.lines {
					if !strings.Contains(got.Stderr, line) {
						t.Errorf("no line %q in\n%s", line, got.Stderr)
					}
				}
			})
		}
	}
}
