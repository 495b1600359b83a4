package worker

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/warpld/warpld/internal/engine"
	"github.com/warpld/warpld/internal/object/hostelf"
	"github.com/warpld/warpld/internal/object/objecttest"
	"github.com/warpld/warpld/internal/plan"
)

func TestParseJob(t *testing.T) {
	words := "-engine=jitlink -library=/x/lib.so -m64 -arch=sm_80 -o stray -m64 -o lto.ptx a.fatbin b.fatbin"
	job, output, err := parseJob(strings.Fields(words))
	want := &engine.Job{Engine: plan.JITLink, Library: "/x/lib.so",
		Options: []string{"-arch=sm_80", "-o", "stray", "-m64"}, Modules: []string{"a.fatbin", "b.fatbin"}}
	if diff := cmp.Diff(want, job); diff != "" || output != "lto.ptx" || err != nil {
		t.Errorf("parseJob: output %q, error %v, difference\n%s", output, err, diff)
	}
	for _, wrong := range []string{
		"", "-m64", "-library=l -m64 -o", "-library=l -m64 -o lto.ptx", "-library=l -o lto.ptx a.nvvm",
		"-m64 -o lto.ptx a.nvvm", "-library=l a.nvvm -m64 -o lto.ptx b.nvvm", "-library=l -x -m64 -o lto.ptx a.nvvm",
	} {
		if _, _, err := parseJob(strings.Fields(wrong)); !errors.Is(err, errUsage) {
			t.Errorf("parseJob(%q): error %v", wrong, err)
		}
	}
}

func TestWrongCommands(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("code.fatbin",
		objecttest.Fatbin(objecttest.Member{Kind: 2, Arch: 80, Payload: []byte("code")}), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ words, want string }{
		{"-frobnicate", "-frobnicate is no stage of a link"},
		{"-lto-add-module -arch=lto_80 a.o", "write it as: warpld worker -lto-add-module"},
		{"-lto-add-module -what -o x a.o", "write it as: warpld worker -lto-add-module"},
		{"-lto-add-module -arch=lto_80 -o x nosuch.o", "Could not open input file 'nosuch.o'"},
		{"-lto-add-module -arch=lto_80 -place=1 -o x code.fatbin", "none at place 1"},
		{"-lto-add-module -arch=lto_80 -o x code.fatbin", "code.fatbin has no code for lto_80"},
		{"-lto-carry -arch=sm_80 -o x nosuch.cubin", "nosuch.cubin"},
		{"-lto-carry @nosuch", "nosuch"},
		{"-lto-nvvm-compile -engine=gcc -library=l -m64 -o x a.nvvm", `no engine is called "gcc"`},
		{"-lto-post-link -engine=jitlink -library=l -m64 -o x a.fatbin", "does not show linked bitcode"},
	} {
		if err := runStage(strings.Fields(test.words)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.words, err, test.want)
		}
	}
	if _, err := os.Stat("x"); err == nil {
		t.Error("a command that failed has written its output")
	}
}

// TestCarryAndAddModule puts a cubin into a host object in an archive and takes it
// out again.
func TestCarryAndAddModule(t *testing.T) {
	t.Chdir(t.TempDir())
	cubin := objecttest.Cubin(objecttest.CubinFile{Arch: 90})
	put := func(name string, data []byte) {
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	do := func(words string) {
		if err := runStage(strings.Fields(words)); err != nil {
			t.Fatalf("%s: %v", words, err)
		}
	}
	read := func(name string) []byte {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	put("code.cubin", cubin)
	put("arguments", []byte("-arch=sm_90a\x00-o\x00code.fatbin\x00code.cubin\x00"))
	do("-lto-carry @arguments")
	do("-lto-carry -arch=sm_90a -id=me -host-refs -host-ref-ek=k1* -host-ref-ek=k2* -host-ref-ig=v -o part.o code.fatbin")
	host, err := hostelf.Read(bytes.NewReader(read("part.o")), int64(len(read("part.o"))))
	if err != nil {
		t.Fatal(err)
	}
	want := hostelf.HostRefs{Kernels: hostelf.Refs{External: []string{"k1*", "k2*"}},
		Devices: hostelf.Refs{Internal: []string{"v"}}}
	if diff := cmp.Diff(want, host.Refs, cmpopts.EquateEmpty()); diff != "" || host.ModuleIDs[0] != "me" {
		t.Errorf("id %q, references differ:\n%s", host.ModuleIDs, diff)
	}
	do("-lto-carry -arch=sm_90a -id= -o unknown.o code.fatbin")
	if unknown, err := hostelf.Read(bytes.NewReader(read("unknown.o")), int64(len(read("unknown.o")))); err != nil ||
		unknown.Refs.Known() {
		t.Errorf("references that are not given are known, or error %v", err)
	}
	put("lib.a", objecttest.Archive(objecttest.File{Name: "part.o", Data: read("unknown.o")},
		objecttest.File{Name: "part.o", Data: read("part.o")}))
	do("-lto-add-module -arch=sm_90a -member=part.o -place=1 -fatbin -o out/again.fatbin lib.a")
	if !bytes.Equal(read(filepath.Join("out", "again.fatbin")), read("code.fatbin")) {
		t.Error("the fat binary has changed on the way")
	}
	do("-lto-add-module -arch=sm_90a -member=part.o -o again.cubin lib.a")
	if !bytes.HasPrefix(read("again.cubin"), cubin) {
		t.Error("the cubin has changed on the way")
	}
}
