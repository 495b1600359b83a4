//go:build realtools

// Package completion lets the real shells complete command lines of warpld.
package completion

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// drivers ask a shell for the completions of $WORDS. zsh has its functions
// for that only in an interactive shell: those that the script calls are put in their
// place.
var drivers = map[string]string{
	"bash": `source "$SCRIPT"; COMP_WORDS=(warpld $WORDS); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _warpld; printf ` +
		`'%s\n' "${COMPREPLY[@]}"`,
	"fish": `source $SCRIPT; complete -C "warpld $WORDS" | string replace -r '\t.*' ''`,
	"zsh": `compadd() { shift; for w in "$@"; do [[ $w == ${current#*=}* ]] && print -- $w; done }
compset() { : }
_files() { : }
_describe() { local w; for w in ${(P)@[-1]}; do [[ $w == ${current}* ]] && print -- ${w%%:*}; done }
words=(warpld ${=WORDS}); CURRENT=$#words; current=$words[-1]
complete_warpld() { source "$SCRIPT" }; complete_warpld`,
}

func TestShells(t *testing.T) {
	for shell, driver := range drivers {
		script, err := exec.Command(kit.Binary(t), "completion", shell).Output()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), shell)
		if err := os.WriteFile(path, script, 0o666); err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct{ words, want string }{
			{"expl", "explain"},
			{"--warpld-eng", "--warpld-engine"},
			{"-dlto --warpld-engine jit", "jitlink"},
			{"--register", "--register-link-binaries"},
			{"-arch sm_8", "sm_80 sm_86 sm_87 sm_88 sm_89"},
			{"--no-such", ""},
		} {
			cmd := exec.Command(shell, "-c", driver)
			cmd.Env = append(os.Environ(), "SCRIPT="+path, "WORDS="+test.words, "HOME="+t.TempDir())
			out, err := cmd.CombinedOutput()
			if got := strings.Join(strings.Fields(string(out)), " "); got != test.want {
				t.Errorf("%s: %q is completed by %q (%v), want %q", shell, test.words, got, err, test.want)
			}
		}
	}
}
