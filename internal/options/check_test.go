package options

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/warpld/warpld/internal/message"
)

func TestCheck(t *testing.T) {
	const (
		link = "-arch=sm_80 -o x a.o "
		lto  = link + "-dlto "
	)
	conflict := func(a, b string) lines { return lines{"fatal: Conflicting options '" + a + "' and '" + b + "'"} }
	tests := []struct {
		args string
		want lines
	}{
		{link, nil},
		{lto, nil}, // the toolkit is found without -nvvmpath
		{"", lines{"fatal: Unknown arch name '(null)'"}},
		{"-arch=sm_80", lines{"fatal: Must specify output file with -o option"}},
		{"-arch=sm_80 -o=", lines{"fatal: No input files specified; use option --help for more information"}},
		{"-arch=sm_80 -o x -lfoo", lines{"fatal: No input files specified; use option --help for more information"}},
		{"-arch=compute_80 a.o", nil},
		{"-arch=compute_80 -dlto a.o", lines{"fatal: Must specify output file with -o option"}},
		{"-arch=lto_80 a.o",
			lines{"fatal: Link target of 'lto_80' is virtual target that is not JIT-able; use 'sm_' target instead"}},
		{"-arch=lto_80", lines{"fatal: No input files specified; use option --help for more information"}},
		{"a.o -ghls", lines{"fatal: Input files are not allowed with -ghls option; use --help for more information"}},
		{"-ghls -use-host-info -ignore-host-info", nil},
		{link + "-suppress-debug-info -use-host-info -ignore-host-info", conflict("-suppress-debug-info", "no -g")},
		{link + "-suppress-debug-info -g", nil},
		{link + "-use-host-info -ignore-host-info -kernels-used=a -emit-ptx",
			conflict("-use-host-info", "-ignore-host-info")},
		{link + "-use-host-info -variables-used=", nil},
		{"-arch=lto_80 a.o -use-host-info -kernels-used=a", lines{
			"info: ignore -use-host-info because -kernels-used or -variables-used is specified",
			"fatal: Link target of 'lto_80' is virtual target that is not JIT-able; use 'sm_' target instead"}},
		{link + "-Ofc=foo -emit-ptx -force-whole-lto -force-partial-lto", conflict("-force-partial-lto", "no -dlto")},
		{link + "-Ofc=foo -emit-ptx -force-whole-lto", conflict("-force-whole-lto", "no -dlto")},
		{link + "-Ofc=foo -emit-ptx", conflict("-emit-ptx", "no -dlto")},
		{link + "-Ofc=foo -cuda-api-version=x", conflict("--Ofast-compile", "no -dlto")},
		{lto + "-force-whole-lto -force-partial-lto", conflict("-force-partial-lto", "-force-whole-lto")},
		{lto + "-force-whole-lto -r -emit-ptx -split-compile-extended=2", conflict("-force-partial-lto", "-force-whole-lto")},
		{lto + "-emit-ptx -split-compile-extended=0 -Ofc= -cuda-api-version=x", lines{
			"info: Incompatible options '-emit-ptx' and '-split-compile-extended', using '-split-compile'",
			"fatal: Invalid argument for option '--Ofast-compile'"}},
		{lto + "-Ofc", nil},
		{link + "-cuda-api-version=013.4", nil},
		{link + "-cuda-api-version=13", lines{"fatal: --cuda-api-version value cannot be parsed"}},
		{link + "-cuda-api-version=", lines{"fatal: --cuda-api-version value cannot be parsed"}},
		{link + "-cuda-api-version=12.9", lines{"fatal: --cuda-api-version major number must be == toolkit version"}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, checked(t, test.args, (*Options).Check)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.args, diff)
		}
	}
}

func TestCheckCompile(t *testing.T) {
	split := "info: Incompatible options '-split-compile' and '-split-compile-extended', using '-split-compile-extended'"
	tests := []struct {
		args string
		want lines
	}{
		{"-split-compile=2 -split-compile-extended=0", lines{split}},
		{"-split-compile=2 -split-compile-extended=1", nil},
		{"-split-compile=1 -split-compile-extended=2", nil},
		{"-split-compile=2 -split-compile-extended=2 -emit-ptx", nil},
		{`-split-compile=2 -split-compile-extended=2 -Xnvvm -a\`, lines{split, "fatal: Stray '' character"}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, checked(t, test.args, (*Options).CheckCompile)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.args, diff)
		}
	}
}

// checked gives what a check says of a command line.
func checked(t *testing.T, args string, check func(*Options, func(*message.Message)) error) lines {
	t.Helper()
	var said lines
	o, err := Parse(strings.Fields(args), "", files{}.read, said.report)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	for _, m := range message.Of(check(o, said.report)) {
		said.report(m)
	}
	return said
}
