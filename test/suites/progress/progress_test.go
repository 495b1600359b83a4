//go:build realtools

// Package progress watches a link that takes a few seconds, on a pseudo-terminal and
// through pipes.
package progress

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/warpld/warpld/test/kit"
)

// slow is a link that takes more than a second.
func slow(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	tk := kit.Toolkits(t)[0]
	objects, err := filepath.Glob(filepath.Join(os.Getenv("WARPLD_TEST_CORPUS"), tk.Release(), "stored-generated", "*.o"))
	if err != nil || len(objects) == 0 {
		t.Fatal("no generated program in the corpus", err)
	}
	args = append(args, "-arch=sm_80", "-dlto", "-L"+tk.Lib(), "-lcudadevrt", "-o", filepath.Join(t.TempDir(), "x.cubin"))
	cmd := exec.Command(kit.Binary(t), append(args, objects...)...)
	cmd.Env = append(os.Environ(), "CUDA_HOME="+tk.Root, "TERM=xterm", "MAKEFLAGS=", "WARPLD_FLAGS=")
	return cmd
}

// onTerminal runs a command whose error stream is a terminal, and gives what it shows
// and what was on the command's other stream.
func onTerminal(t *testing.T, cmd *exec.Cmd) (shown, stdout string) {
	t.Helper()
	control, terminal := openTerminal(t)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	text, err := io.ReadAll(control)
	if err != nil && !errors.Is(err, syscall.EIO) { // which is how a terminal ends
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return string(text), out.String()
}

func openTerminal(t *testing.T) (control, terminal *os.File) {
	t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { control.Close() })
	number, err := unix.IoctlGetInt(int(control.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(control.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(control.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 60})
	}
	if err != nil {
		t.Fatal(err)
	}
	if terminal, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	return control, terminal
}

var statusLine = regexp.MustCompile(`^warpld: \d+ (of about \d+ )?done, .*\d+ s`)

func TestTerminal(t *testing.T) {
	shown, stdout := onTerminal(t, slow(t, "--warpld-cache=off"))
	lines := strings.Split(shown, "\r\x1b[2K")
	if len(lines) < 3 || lines[0] != "" || lines[len(lines)-1] != "" || stdout != "" {
		t.Fatalf("on the terminal: %q\non stdout: %q", shown, stdout)
	}
	for _, line := range lines[1 : len(lines)-1] {
		if !statusLine.MatchString(line) || len(line) > 59 {
			t.Errorf("no status in 59 columns: %q", line)
		}
	}
	if shown, _ := onTerminal(t, slow(t, "--warpld-cache=off", "--warpld-progress=off")); shown != "" {
		t.Errorf("though it is off: %q", shown)
	}
}

// In a pipe there is what nvlink would write: nothing, unless it is asked for.
func TestPipe(t *testing.T) {
	for _, test := range []struct {
		option string
		check  func(string) bool
	}{
		{"--warpld-progress=auto", func(text string) bool { return text == "" }},
		{"--warpld-progress=plain", func(text string) bool {
			for line := range strings.Lines(text) {
				if !statusLine.MatchString(line) {
					return false
				}
			}
			return text != "" && !strings.ContainsAny(text, "\r\x1b")
		}},
		{"--warpld-progress=json", func(text string) bool {
			events := 0
			for d := json.NewDecoder(strings.NewReader(text)); d.More(); events++ {
				var e struct{ Event string }
				if d.Decode(&e) != nil || e.Event == "" {
					return false
				}
			}
			return events > 4
		}},
	} {
		cmd := slow(t, "--warpld-cache=off", test.option)
		var stdout, stderr strings.Builder
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err := cmd.Run(); err != nil || stdout.Len() > 0 || !test.check(stderr.String()) {
			t.Errorf("%s: %v\nstdout: %q\nstderr: %q", test.option, err, stdout.String(), stderr.String())
		}
	}
}
