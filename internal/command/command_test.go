package command

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/link"
	"github.com/warpld/warpld/internal/message"
)

// run runs a command in this process, in an empty environment.
func run(args ...string) (code int, stdout, stderr string) {
	var out, errors bytes.Buffer
	env := func(string) string { return "" }
	c := link.Caller{Self: "warpld", Origin: "warpld", Stdout: &out, Stderr: &errors, Env: env}
	code = Run(context.Background(), c, args)
	return code, out.String(), errors.String()
}

func TestListIsSortedAndKnown(t *testing.T) {
	var names []string
	for _, c := range List() {
		names = append(names, c.Name)
		if !Known(c.Name) {
			t.Errorf("%s is listed but not known", c.Name)
		}
		if !strings.HasPrefix(c.Usage, c.Name) || c.About == "" {
			t.Errorf("%s has the usage %q and the description %q", c.Name, c.Usage, c.About)
		}
	}
	if len(names) == 0 || !slices.IsSorted(names) {
		t.Errorf("the commands are %q", names)
	}
	for _, name := range []string{"", "link", "Inspect", "-o", "a.o"} {
		if Known(name) {
			t.Errorf("%q is known as a command", name)
		}
	}
}

func TestRunWithoutArgumentsIsHelp(t *testing.T) {
	code, listed, _ := run()
	_, asked, _ := run("help")
	if code != message.ExitOK || listed != asked {
		t.Errorf("exit code %d, %q, want %q", code, listed, asked)
	}
	for _, c := range List() {
		if !strings.Contains(listed, "  warpld "+c.Usage+" ") {
			t.Errorf("the help does not list %s", c.Usage)
		}
	}
}

func TestExitCodes(t *testing.T) {
	tests := []struct {
		args string
		code int
		want string // in the first line of stderr
	}{
		{"version", message.ExitOK, ""},
		{"no-such-command", message.ExitFatal, "warpld fatal   : 'no-such-command' is not a command"},
		{"diff", message.ExitFatal, "warpld fatal   : usage: warpld diff RECORD RECORD"},
		{"inspect missing.o", message.ExitFatal, "warpld fatal   : Could not open input file 'missing.o'"},
	}
	for _, test := range tests {
		code, _, stderr := run(strings.Fields(test.args)...)
		first, _, _ := strings.Cut(stderr, "\n")
		if code != test.code || first != test.want {
			t.Errorf("%s: exit code %d, %q, want %d, %q", test.args, code, first, test.code, test.want)
		}
	}
}
