package options

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// places give every file a name by its place.
func places() Places {
	inputs := 0
	return Places{
		Input:  func(string) string { inputs++; return "in" + string(rune('0'+inputs)) },
		Folder: func(place int) string { return "lib" + string(rune('0'+place)) },
		Output: func(option string) string { return "out-" + option },
	}
}

func TestPortable(t *testing.T) {
	tests := []struct{ args, env, want string }{
		{"-arch sm_80 -dlto a.o -o x.cubin ./a.o", "", "--arch=sm_80 --dlto in1 in2"},
		{`-L/x,"/y,z" -L/w -lm -nvvmpath=/cuda/nvvm -r`, "",
			"--library-path=lib0 --library-path=lib1 --library-path=lib2 --library=m --relocatable-link"},
		// nvcc gives them always; scripts for the host linker alone need them
		{"-r --host-ccbin=g++ -Xlinker=-x", "", "--relocatable-link"},
		{"@words", "", "--dlto in1"},
		{"-g -optf more b.o", "", "--debug --arch=sm_90 in1 in2"},
		{"-time=- --register-link-binaries /tmp/r.h", "", "--time=- --register-link-binaries=out-register-link-binaries"},
		{"-time t.csv -dot=d -uidx u", "", "--time=out-time --dot-file=out-dot-file --uidx-file=out-uidx-file"},
		// What overrides counts, and what is of this machine does not.
		{"--warpld-mode=exact --warpld-cuda=/x --warpld-jobs=3", "--warpld-mode=fast --warpld-strict",
			"--warpld-strict --warpld-mode=exact"},
		{"-arch=sm_80 -arch=sm_90", "", "--arch=sm_80 --arch=sm_90"}, // of which nvlink warns
		{"-Ofc -Xptxas=-v,-O2 -Xptxas -O3", "", "--Ofast-compile=0 --Xptxas=-v,-O2 --Xptxas=-O3"},
	}
	files := files{"words": "-dlto c.o", "more": "-arch=sm_90 d.o"}
	for _, test := range tests {
		args, err := portable(t, strings.Fields(test.args), test.env, files, places())
		if got := strings.Join(args, " "); err != nil || got != test.want {
			t.Errorf("%s: %s, %v, want %s", test.args, got, err, test.want)
		}
		// With all at its place already, nothing changes.
		again, err := portable(t, args, "", nil, places())
		if diff := cmp.Diff(args, again); err != nil || diff != "" {
			t.Errorf("%s again: %v\n%s", test.args, err, diff)
		}
	}
}

func TestNotPortable(t *testing.T) {
	for _, arg := range []string{"-ghls", "-V", "-Xptxas=-o=/x", "--warpld-llvm-options=-f=../x", "-Xnvvm=/x"} {
		if args, err := portable(t, []string{arg}, "", nil, places()); err == nil {
			t.Errorf("%s is taken for %q", arg, args)
		}
	}
}

func portable(t *testing.T, args []string, env string, files files, p Places) ([]string, error) {
	t.Helper()
	var said lines
	o, err := Parse(args, env, files.read, said.report)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return o.Portable(p)
}

// Every option that names a file or a program is dealt with.
func TestPortableKnowsAllFiles(t *testing.T) {
	known := slices.Concat(leftOut, outputs, makesNoLink, []string{"library-path"})
	for _, r := range table {
		names := strings.Contains(r.value, "file") || strings.Contains(r.value, "director") ||
			strings.Contains(r.value, "path") || strings.Contains(r.value, "program")
		if names && r.group != own && !slices.Contains(known, r.long) {
			t.Errorf("--%s: what becomes of it when a link is packed?", r.long)
		}
		if names && slices.Contains(portableOwn, r.long) {
			t.Errorf("--%s names a file and must not be packed", r.long)
		}
	}
}
