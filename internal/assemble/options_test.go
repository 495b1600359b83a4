package assemble

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, test := range []struct{ line, input, output, rest, err string }{
		{"-arch=sm_80 -m64 /t/a.ptx -o /t/a.cubin", "/t/a.ptx", "/t/a.cubin", "-arch=sm_80 -m64", ""},
		{"-arch sm_80 -m 64 --fmad false -O2 a.ptx --output-file=b", "a.ptx", "b", "-arch sm_80 -m 64 --fmad false -O2", ""},
		{"--gpu-name sm_90 --opt-level 2 -O=3 a.ptx -o=b", "a.ptx", "b", "--gpu-name sm_90 --opt-level 2 -O=3", ""},
		{"-v -c --maxrregcount=32 -dlcm ca a.ptx -o b", "a.ptx", "b", "-v -c --maxrregcount=32 -dlcm ca", ""},
		{"-O 2 a.ptx -o b", "", "", "", "'-O' has no value"},
		{"-gpu-name=sm_80 a.ptx -o b", "", "", "", "'-gpu-name=sm_80'"},
		{"--arch=sm_80 a.ptx -o b", "", "", "", "'--arch=sm_80'"},
		{"--bogus a.ptx -o b", "", "", "", "'--bogus'"},
		{"-fmad a.ptx -o b", "", "", "", "'-fmad' has no value"},
		{"-v=true a.ptx -o b", "", "", "", "'-v=true'"},
		{"-optf words -o b a.ptx", "", "", "", "'-optf'"},
		{"--version", "", "", "", "'--version'"},
		{"a.ptx b.ptx -o c", "", "", "", "more than one input"},
		{"a.ptx -o b -o c", "", "", "", "more than one output"},
		{"a.ptx", "", "", "", "not named"},
		{"a.ptx -o", "", "", "", "'-o' has no value"},
		{"a.ptx -o b -arch=", "", "", "", "'-arch='"},
		{"- -o b", "", "", "", "'-'"},
		{"", "", "", "", "not named"},
	} {
		c, err := Parse(strings.Fields(test.line))
		if test.err != "" {
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: %+v, %v, want an error with %q", test.line, c, err, test.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", test.line, err)
			continue
		}
		if c.Input != test.input || c.Output != test.output || !slices.Equal(c.Arguments, strings.Fields(test.rest)) {
			t.Errorf("%s: %+v", test.line, c)
		}
	}
}

func TestWhyWhole(t *testing.T) {
	for line, want := range map[string]string{
		"-arch sm_80 -m 64":            "",
		"-arch=sm_80 -m64 -v -O1":      "",
		"-arch=sm_80 -lineinfo":        "",
		"-c -arch=sm_80":               "'-c': code that is linked further",
		"--compile-only -arch=sm_80":   "'--compile-only'",
		"-arch sm_80 -g":               "'-g': debug information",
		"-arch sm_80 -Ofc max":         "'-Ofc'",
		"-arch sm_80 -split-compile=2": "'-split-compile=2'",
		"-arch sm_80 --bogus":          "'--bogus'",
		"-arch sm_80 more.ptx":         "'more.ptx' is no option",
	} {
		got := WhyWhole(strings.Fields(line))
		if (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestImpure(t *testing.T) {
	for line, want := range map[string]bool{
		"-arch sm_80 -m 64": false, "-lineinfo": true, "--generate-line-info": true, "-g": true, "--device-debug": true,
		"-c": false, "--bogus": true,
	} {
		if got := Impure(strings.Fields(line)); (got != "") != want {
			t.Errorf("%s: %q", line, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("-arch=sm_80\x00-m64\x00a.ptx\x00-o\x00b")
	f.Add("-O\x002\x00--fmad\x00false\x00-=\x00--\x00-\x00")
	f.Fuzz(func(t *testing.T, line string) {
		arguments := strings.Split(line, "\x00")
		c, err := Parse(arguments)
		WhyWhole(arguments)
		Impure(arguments)
		if err != nil {
			return
		}
		// All words are still there, apart from those that name the files.
		if left := len(arguments) - len(c.Arguments); left < 2 || left > 3 || c.Input == "" || c.Output == "" {
			t.Errorf("%q: %+v", arguments, c)
		}
	})
}
