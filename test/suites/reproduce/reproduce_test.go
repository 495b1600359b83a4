//go:build realtools

// Package reproduce packs links and runs them again, in another folder, as another
// user and in another locale: the result must be the same in every byte.
package reproduce

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// A packed is a link in the words of the command line. OBJ is the folder of objects
// and CUDA that of the toolkit.
type packed struct {
	name, args string
	exit       int
}

var links = []packed{
	{name: "whole", args: "-arch=sm_80 -dlto OBJ/stored/a.o OBJ/stored/b.o -LCUDA/lib64 -lcudadevrt -lcudart"},
	{name: "compressed", args: "-arch=sm_90 -dlto OBJ/default/a.o OBJ/default/b.o -LCUDA/lib64 -lcudadevrt"},
	{name: "partial", args: "-arch=sm_80 -dlto OBJ/stored/a.o OBJ/rdc/b.o -LCUDA/lib64 -lcudadevrt " +
		"--register-link-binaries=reg.h -time=times.csv --host-ccbin=/usr/bin/g++"},
	{name: "own merge", args: "-arch=sm_80 -dlto OBJ/stored/a.o OBJ/rdc/b.o -LCUDA/lib64 -lcudadevrt " +
		"--warpld-merge=own --warpld-exact-bytes"},
	{name: "relocatable", args: "-arch=sm_80 -dlto -r OBJ/stored/a.o OBJ/stored/b.o CUDA/lib64/libcudadevrt.a"},
	{name: "archive", args: "-arch=sm_80 -dlto OBJ/stored/a.o -Llib -lb lib/libb.a -LCUDA/lib64 -lcudadevrt"},
	{name: "files of options", args: "@words -optf more"},
	{name: "fast", args: "-arch=sm_80 -dlto OBJ/stored/a.o OBJ/stored/b.o -LCUDA/lib64 -lcudadevrt " +
		"--warpld-mode=fast --warpld-slice-size=0"},
	{name: "handed over", args: "-arch=sm_80 -dlto OBJ/stored/a.o OBJ/stored/b.o -LCUDA/lib64 -lcudadevrt " +
		"--warpld-engine=vendor"},
	{name: "missing symbol", args: "-arch=sm_80 -dlto OBJ/stored/a.o -LCUDA/lib64 -lcudadevrt", exit: 255},
	{name: "missing file", args: "-arch=sm_80 -dlto OBJ/stored/a.o nowhere.o", exit: 1},
}

func TestReplay(t *testing.T) {
	for _, tk := range kit.Toolkits(t) {
		for _, l := range links {
			t.Run(tk.Release()+"/"+l.name, func(t *testing.T) {
				t.Parallel()
				dir, elsewhere := prepare(t, tk), t.TempDir()
				run(t, l.exit, l.packed(dir, tk, "x.tar.zst"))
				run(t, l.exit, l.packed(dir, tk, "y.tar.zst"))
				if !bytes.Equal(read(t, dir, "x.tar.zst"), read(t, dir, "y.tar.zst")) {
					t.Error("the same link was packed into other bytes")
				}
				run(t, l.exit, stranger(warpld(elsewhere, tk, "replay", filepath.Join(dir, "x.tar.zst"))))
				if l.exit == 0 && !bytes.Equal(read(t, elsewhere, "x.cubin"), read(t, dir, "x.cubin")) {
					t.Error("the result of the replay is another")
				}
				if left, _ := filepath.Glob(filepath.Join(elsewhere, "*")); len(left) > 1 {
					t.Errorf("the replay left %v", left)
				}
			})
		}
	}
}

// TestNotPacked has what is no link, which works as ever, and a link that would not be
// the same elsewhere, which fails.
func TestNotPacked(t *testing.T) {
	tk := kit.Toolkits(t)[0]
	dir := prepare(t, tk)
	for _, args := range []string{"--version", "-ghls=lcs-aug -o x.lcs"} {
		run(t, 0, warpld(dir, tk, append(strings.Fields(args), "--warpld-reproduce=x.tar.zst")...))
	}
	if out, err := exec.Command("ar", "rcT", filepath.Join(dir, "thin.a"),
		filled("OBJ/stored/b.o", tk)).CombinedOutput(); err != nil {
		t.Fatalf("ar: %v\n%s", err, out)
	}
	thin := packed{args: "-arch=sm_80 -dlto OBJ/stored/a.o thin.a"}
	if out := run(t, 1, thin.packed(dir, tk, "x.tar.zst")); !strings.Contains(out,
		"'thin.a' cannot be packed\n    note: it is a thin archive") {
		t.Errorf("a thin archive: %s", out)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.tar.zst*")); len(left) > 0 {
		t.Errorf("there is %v", left)
	}
}

// TestCompare lets warpld compare itself with nvlink, by a command line and by a
// packed link.
func TestCompare(t *testing.T) {
	tk := kit.Toolkits(t)[0]
	for _, test := range []struct {
		name string
		exit int
		want string
	}{
		{"whole", 0, "the same in every byte"},
		{"partial", 0, "the same but for the record of the command line"},
		{"fast", 255, "section .text._Z2kbPi: size: nvlink has "},
		{"fast", 255, "kernel ka(int*): nvlink has "},
		{"missing file", 0, "neither link has a result"},
	} {
		l := links[slices.IndexFunc(links, func(l packed) bool { return l.name == test.name })]
		dir := prepare(t, tk)
		run(t, l.exit, l.packed(dir, tk, "x.tar.zst"))
		for _, args := range [][]string{{"x.tar.zst"}, l.words(tk)} {
			out := run(t, test.exit, warpld(dir, tk, append([]string{"compare"}, args...)...))
			if !strings.Contains(out, test.want) {
				t.Errorf("%s: no %q in:\n%s", test.name, test.want, out)
			}
		}
	}
}

func (p packed) words(tk kit.Toolkit) []string { return strings.Fields(filled(p.args, tk)) }

// packed is the link in a folder that prepare made; it packs itself.
func (p packed) packed(dir string, tk kit.Toolkit, archive string) *exec.Cmd {
	return warpld(dir, tk, append(p.words(tk), "-o", "x.cubin", "--warpld-reproduce="+archive)...)
}

// filled puts the folders into a text.
func filled(text string, tk kit.Toolkit) string {
	objects := filepath.Join(os.Getenv("WARPLD_TEST_CORPUS"), tk.Release())
	return strings.NewReplacer("OBJ", objects, "CUDA", tk.Root).Replace(text)
}

// prepare makes a folder with the files that the links name.
func prepare(t *testing.T, tk kit.Toolkit) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"words": "-dlto OBJ/stored/a.o -LCUDA/lib64",
		"more": "-arch=sm_80 OBJ/stored/b.o -lcudadevrt"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(filled(text, tk)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "lib"), 0o777); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("ar", "rc", filepath.Join(dir, "lib", "libb.a"),
		filled("OBJ/stored/b.o", tk)).CombinedOutput(); err != nil {
		t.Fatalf("ar: %v\n%s", err, out)
	}
	return dir
}

// warpld is a command in a folder.
func warpld(dir string, tk kit.Toolkit, args ...string) *exec.Cmd {
	cmd := exec.Command(os.Getenv("WARPLD_BIN"), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CUDA_HOME="+tk.Root)
	return cmd
}

// stranger makes a command one of another user, with another home and locale, in
// another time zone. The files stay readable: only the user's number is another.
func stranger(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 4711, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 4711, HostID: os.Getgid(), Size: 1}}}
	cmd.Env = append(cmd.Env, "HOME="+cmd.Dir, "USER=stranger", "LOGNAME=stranger", "WARPLD_CACHE_DIR=", "XDG_CACHE_HOME=",
		"LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8", "TZ=Asia/Tokyo", "WARPLD_FLAGS=--warpld-verbose")
	return cmd
}

// run wants an exit code and gives all that was printed.
func run(t *testing.T, exit int, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != exit {
		t.Fatalf("%q: %v, want exit code %d\n%s", cmd.Args, err, exit, out)
	}
	return string(out)
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
