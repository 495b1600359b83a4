package toolkit

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/warpld/warpld/internal/message"
)

// A tree describes files by their content: "library", "program" and "script"
// stand for such, "-> x" for a link to x, anything else for itself.
type tree map[string]string

// grow makes the tree in a new directory and returns that.
func (tr tree) grow(t *testing.T) string {
	t.Helper()
	root := resolve(t.TempDir())
	for name, content := range tr {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		switch target, link := strings.CutPrefix(content, "-> "); {
		case link:
			err = os.Symlink(target, path)
		case content == "library":
			err = os.WriteFile(path, elfHeader(elf.ET_DYN, host.machine), 0o644)
		case content == "program":
			err = os.WriteFile(path, elfHeader(elf.ET_EXEC, host.machine), 0o755)
		case content == "script":
			err = os.WriteFile(path, []byte("#!/bin/sh\nexec something-else\n"), 0o755)
		default:
			err = os.WriteFile(path, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func elfHeader(kind elf.Type, machine elf.Machine) []byte {
	head := make([]byte, 64)
	copy(head, elf.ELFMAG)
	head[elf.EI_CLASS], head[elf.EI_DATA] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB)
	binary.LittleEndian.PutUint16(head[16:], uint16(kind))
	binary.LittleEndian.PutUint16(head[18:], uint16(machine))
	return head
}

// at moves a tree below a directory, and joins it with others.
func at(dir string, trees ...tree) tree {
	out := tree{}
	for _, tr := range trees {
		for name, content := range tr {
			out[filepath.Join(dir, name)] = content
		}
	}
	return out
}

func versionList(v string) tree {
	return tree{"version.json": `{"cuda": {"version": "1.2.3"}, "cuda_nvcc": {"name": "CUDA NVCC", "version": "` + v +
		`"}}`}
}

var (
	tools = tree{
		"bin/nvcc": "program", "bin/nvlink": "program", "bin/ptxas": "program",
		"bin/fatbinary": "program", "bin/cuobjdump": "program",
	}
	target = "targets/" + host.targets[0]
	nvidia = at("", tools, tree{
		"lib64":                            "-> " + target + "/lib",
		target + "/lib/libnvJitLink.so":    "-> libnvJitLink.so.13",
		target + "/lib/libnvJitLink.so.13": "library",
		target + "/lib/libcudadevrt.a":     "!<arch>\n",
		"nvvm/lib64/libnvvm.so":            "-> libnvvm.so.4",
		"nvvm/lib64/libnvvm.so.4":          "library",
	})
	debian = tree{
		"usr/bin/nvcc": "script", "usr/bin/nvlink": "program", "usr/bin/ptxas": "program",
		"usr/bin/fatbinary": "program", "usr/bin/cuobjdump": "program",
		"usr/lib/nvidia-cuda-toolkit/bin/nvcc":        "program",
		"usr/lib/" + host.triple + "/libnvvm.so":      "-> libnvvm.so.4",
		"usr/lib/" + host.triple + "/libnvvm.so.4":    "library",
		"usr/lib/" + host.triple + "/libnvJitLink.so": "library",
		"usr/lib/" + host.triple + "/libcudadevrt.a":  "!<arch>\n",
		"usr/include/cuda.h":                          "// comment\n#define CUDA_VERSION 12040\n",
	}
	conda = at("", tools, tree{
		target + "/nvvm":                        "-> ../../nvvm",
		target + "/bin/nvcc":                    "-> ../../../bin/nvcc",
		target + "/lib/libcudadevrt.a":          "!<arch>\n",
		target + "/lib/libnvJitLink.so":         "-> libnvJitLink.so.13",
		target + "/lib/libnvJitLink.so.13":      "-> libnvJitLink.so.13.0.88",
		target + "/lib/libnvJitLink.so.13.0.88": "library",
		"nvvm/lib64/libnvvm.so":                 "library",
	})
	pip = at("lib/python3.12/site-packages", at("nvidia/cu13", tools, tree{
		"lib/libnvvm.so.4":       "library",
		"lib/libnvJitLink.so.13": "library",
		"lib/libcudadevrt.a":     "!<arch>\n",
	}), tree{"nvidia_cuda_nvcc-13.0.88.dist-info/METADATA": "Name: nvidia-cuda-nvcc\n"})
)

// found is the part of a Toolkit that the tests compare, without the root.
func found(tk *Toolkit, root string) map[string]string {
	out := map[string]string{"root": tk.Root + " " + tk.From, "version": tk.Version.String()}
	for _, p := range parts {
		if f := p.slot(tk); f.Found() {
			out[p.name] = f.Path + " " + f.From
		}
	}
	for k, v := range out {
		out[k] = strings.ReplaceAll(v, root+"/", "")
	}
	return out
}

func TestFind(t *testing.T) {
	type env map[string]string // $ stands for the root of the tree
	tests := []struct {
		name  string
		tree  tree
		query Query
		env   env
		want  map[string]string
	}{
		{
			"NVIDIA", at("sdk/cuda-13.0", nvidia, versionList("13.0.88")), Query{CUDA: "$/sdk/cuda-13.0"}, nil,
			map[string]string{
				"root": "sdk/cuda-13.0 --warpld-cuda", "version": "13.0.88",
				"libnvvm.so":      "sdk/cuda-13.0/nvvm/lib64/libnvvm.so.4 --warpld-cuda",
				"libnvJitLink.so": "sdk/cuda-13.0/" + target + "/lib/libnvJitLink.so.13 --warpld-cuda",
				"libcudadevrt.a":  "sdk/cuda-13.0/lib64/libcudadevrt.a --warpld-cuda",
				"nvcc":            "sdk/cuda-13.0/bin/nvcc --warpld-cuda", "nvlink": "sdk/cuda-13.0/bin/nvlink --warpld-cuda",
				"ptxas": "sdk/cuda-13.0/bin/ptxas --warpld-cuda", "fatbinary": "sdk/cuda-13.0/bin/fatbinary --warpld-cuda",
				"cuobjdump": "sdk/cuda-13.0/bin/cuobjdump --warpld-cuda",
			},
		},
		{
			"Debian", debian, Query{}, nil,
			map[string]string{
				"root": "usr Debian", "version": "12.4",
				"libnvvm.so":      "usr/lib/" + host.triple + "/libnvvm.so.4 Debian",
				"libnvJitLink.so": "usr/lib/" + host.triple + "/libnvJitLink.so Debian",
				"libcudadevrt.a":  "usr/lib/" + host.triple + "/libcudadevrt.a Debian",
				"nvcc":            "usr/lib/nvidia-cuda-toolkit/bin/nvcc Debian", "nvlink": "usr/bin/nvlink Debian",
				"ptxas": "usr/bin/ptxas Debian", "fatbinary": "usr/bin/fatbinary Debian", "cuobjdump": "usr/bin/cuobjdump Debian",
			},
		},
		{
			"conda, from the path that its nvcc passes", at("env", conda), Query{NVVMPath: "$/env/bin/../" + target + "/nvvm"},
			nil,
			map[string]string{
				"root": "env -nvvmpath", "version": "13.0.88",
				"libnvvm.so":      "env/nvvm/lib64/libnvvm.so -nvvmpath",
				"libnvJitLink.so": "env/" + target + "/lib/libnvJitLink.so.13.0.88 -nvvmpath",
				"libcudadevrt.a":  "env/" + target + "/lib/libcudadevrt.a -nvvmpath",
				"nvcc":            "env/bin/nvcc -nvvmpath", "nvlink": "env/bin/nvlink -nvvmpath",
				"ptxas": "env/bin/ptxas -nvvmpath", "fatbinary": "env/bin/fatbinary -nvvmpath",
				"cuobjdump": "env/bin/cuobjdump -nvvmpath",
			},
		},
		{
			"pip", at("venv", pip), Query{}, env{"VIRTUAL_ENV": "$/venv"},
			map[string]string{
				"root": "venv/lib/python3.12/site-packages/nvidia/cu13 pip", "version": "13.0.88",
				"libnvvm.so":      "venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvvm.so.4 pip",
				"libnvJitLink.so": "venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvJitLink.so.13 pip",
				"libcudadevrt.a":  "venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcudadevrt.a pip",
				"nvcc":            "venv/lib/python3.12/site-packages/nvidia/cu13/bin/nvcc pip",
				"nvlink":          "venv/lib/python3.12/site-packages/nvidia/cu13/bin/nvlink pip",
				"ptxas":           "venv/lib/python3.12/site-packages/nvidia/cu13/bin/ptxas pip",
				"fatbinary":       "venv/lib/python3.12/site-packages/nvidia/cu13/bin/fatbinary pip",
				"cuobjdump":       "venv/lib/python3.12/site-packages/nvidia/cu13/bin/cuobjdump pip",
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := test.tree.grow(t)
			got := find(t, root, test.query, test.env)
			if diff := cmp.Diff(test.want, found(got, root)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// query puts the root of the tree for every $.
func query(root string, q Query, env map[string]string) Query {
	put := func(s string) string { return strings.ReplaceAll(s, "$", root) }
	return Query{
		CUDA: put(q.CUDA), NVVMPath: put(q.NVVMPath), Origin: put(q.Origin), System: root,
		Env: func(name string) string { return put(env[name]) },
	}
}

func messageIn(t *testing.T, err error) *message.Message {
	t.Helper()
	var m *message.Message
	if !errors.As(err, &m) {
		t.Fatalf("got %v, want a message", err)
	}
	return m
}

func find(t *testing.T, root string, q Query, env map[string]string) *Toolkit {
	t.Helper()
	tk, err := Find(query(root, q, env))
	if err != nil {
		t.Fatal(err)
	}
	return tk
}

// The order of the places, and what each may contribute.
func TestPlaces(t *testing.T) {
	two := at("", at("a", nvidia, versionList("13.0.88")), at("b", nvidia, versionList("13.4.92")))
	tests := []struct {
		name  string
		tree  tree
		query Query
		env   map[string]string
		want  string // root, place, version
		nvvm  string // path and place, if it matters
	}{
		{"flag before -nvvmpath", two, Query{CUDA: "$/a", NVVMPath: "$/b/nvvm"}, nil,
			"a --warpld-cuda 13.0.88", "a/nvvm/lib64/libnvvm.so.4 --warpld-cuda"},
		{"-nvvmpath before CUDA_HOME", two, Query{NVVMPath: "$/b/nvvm"}, map[string]string{"CUDA_HOME": "$/a"},
			"b -nvvmpath 13.4.92", "b/nvvm/lib64/libnvvm.so.4 -nvvmpath"},
		{"a library of one's own", at("", two, tree{"spy/lib64/libnvvm.so": "library"}),
			Query{NVVMPath: "$/spy"}, map[string]string{"CUDA_HOME": "$/a"},
			"a CUDA_HOME 13.0.88", "spy/lib64/libnvvm.so -nvvmpath"},
		{"shim", at("", two, tree{"shim/bin/nvlink": "program", "shim/" + ShimRecord: `{"toolkit": "$/a"}`}),
			Query{Origin: "$/shim/bin/nvlink"}, map[string]string{"CUDA_HOME": "$/b"},
			"a shim 13.0.88", ""},
		{"shim by a bare name", at("", two, tree{"shim/bin/nvlink": "program", "shim/" + ShimRecord: `{"toolkit": "$/a"}`}),
			Query{Origin: "nvlink"}, map[string]string{"PATH": "$/none:$/shim/bin:$/b/bin"},
			"a shim 13.0.88", ""},
		{"shim as CUDA_HOME", at("", two, tree{"shim/bin/nvlink": "program", "shim/" + ShimRecord: `{"toolkit": "$/a"}`}),
			Query{}, map[string]string{"CUDA_HOME": "$/shim"},
			"a CUDA_HOME 13.0.88", ""},
		{"CUDA_HOME before CUDA_PATH", two, Query{}, map[string]string{"CUDA_HOME": "$/a", "CUDA_PATH": "$/b"},
			"a CUDA_HOME 13.0.88", ""},
		{"a stale CUDA_HOME", two, Query{}, map[string]string{"CUDA_HOME": "$/gone", "CUDA_PATH": "$/b"},
			"b CUDA_PATH 13.4.92", ""},
		{"nvcc in PATH through a link", at("", two, tree{"links/nvcc": "-> ../b/bin/nvcc"}),
			Query{}, map[string]string{"PATH": "$/links"},
			"b nvcc in PATH 13.4.92", ""},
		{"a compiler cache is not nvcc", at("", two, tree{"cache/nvcc": "-> ../usr/bin/ccache", "usr/bin/ccache": "program"}),
			Query{}, map[string]string{"PATH": "$/cache:$/a/bin"},
			"a nvcc in PATH 13.0.88", ""},
		{"Debian's private bin in PATH", debian, Query{}, map[string]string{"PATH": "$/usr/lib/nvidia-cuda-toolkit/bin"},
			"usr nvcc in PATH 12.4", ""},
		{"warpld in a toolkit's bin means nothing", at("", two, tree{"a/bin/warpld": "program"}),
			Query{Origin: "$/a/bin/warpld"}, map[string]string{"CUDA_HOME": "$/b"},
			"b CUDA_HOME 13.4.92", ""},
		{"warpld as a toolkit's nvlink", two, Query{Origin: "$/a/bin/nvlink"}, map[string]string{"CUDA_HOME": "$/b"},
			"a beside warpld 13.0.88", ""},
		{"newest in /usr/local", at("usr/local", at("cuda-13.10", nvidia), at("cuda-13.9", nvidia), at("cuda-12.8", nvidia),
			tree{"cuda": "-> cuda-12.8", "cuda-notes.txt": "text"}), Query{}, nil,
			"usr/local/cuda-13.10 /usr/local 13.10", ""},
		{"conda", at("env", conda), Query{}, map[string]string{"CONDA_PREFIX": "$/env"}, "env CONDA_PREFIX 13.0.88", ""},
		{"pip of the python in PATH", at("py", pip, tree{"bin/python3": "program"}), Query{},
			map[string]string{"PATH": "$/py/bin"},
			"py/lib/python3.12/site-packages/nvidia/cu13 pip 13.0.88", ""},
		{"pip's libnvJitLink alone is no toolkit",
			at("", at("venv/lib/python3.12/site-packages/nvidia/cu13", tree{"lib/libnvJitLink.so.13": "library"}),
				tree{"home/x": ""}), Query{}, map[string]string{"VIRTUAL_ENV": "$/venv", "HOME": "$/home"},
			"  of unknown version", ""},
		{"brackets in the path", at("a[1]*", nvidia, versionList("13.0.88")), Query{CUDA: "$/a[1]*"}, nil,
			"a[1]* --warpld-cuda 13.0.88", ""},
		{"nothing", tree{"x": ""}, Query{}, nil, "  of unknown version", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := test.tree.grow(t)
			writeRecords(t, root)
			tk := find(t, root, test.query, test.env)
			got := strings.TrimPrefix(tk.Root, root+"/") + " " + tk.From + " " + tk.Version.String()
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if nvvm := strings.TrimPrefix(tk.NVVM.Path, root+"/") + " " + tk.NVVM.From; test.nvvm != "" && nvvm != test.nvvm {
				t.Errorf("libnvvm: got %q, want %q", nvvm, test.nvvm)
			}
		})
	}
}

// writeRecords puts the root of the tree for $ in the record of its shim.
func writeRecords(t *testing.T, root string) {
	t.Helper()
	path := filepath.Join(root, "shim", ShimRecord)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(data), "$", root)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestPartsOfAnotherPlace(t *testing.T) {
	bare := tree{"bin/nvcc": "program", "bin/ptxas": "program", "bin/nvlink": "program"}
	root := at("", at("a", bare, versionList("13.0.48")), at("b", nvidia, versionList("13.0.88")),
		at("c", nvidia, versionList("13.4.92"))).grow(t)

	tk := find(t, root, Query{}, map[string]string{"CUDA_HOME": "$/a", "CUDA_PATH": "$/b"})
	if want := (File{filepath.Join(root, "b", target, "lib/libnvJitLink.so.13"), "CUDA_PATH"}); tk.JitLink != want {
		t.Errorf("of the same release: got %v, want %v", tk.JitLink, want)
	}
	if tk.PTXAS.From != "CUDA_HOME" {
		t.Errorf("ptxas is from %s, want CUDA_HOME", tk.PTXAS.From)
	}

	tk = find(t, root, Query{}, map[string]string{"CUDA_HOME": "$/a", "CUDA_PATH": "$/c"})
	if tk.JitLink.Found() {
		t.Errorf("took %v, which is of another release", tk.JitLink)
	}
	_, err := tk.NeedJitLink()
	m := messageIn(t, err)
	if !strings.Contains(strings.Join(m.Notes, "\n"), "13.4.92, but the toolkit in "+root+"/a is 13.0.48") {
		t.Errorf("the notes do not say why:\n%s", strings.Join(m.Notes, "\n"))
	}
}

// A program that stands in for nvlink must not take itself for NVIDIA's.
func TestNotOurselves(t *testing.T) {
	root := at("a", nvidia, tree{"bin/nvlink.real": "program"}).grow(t)
	tk := find(t, root, Query{Origin: "$/a/bin/nvlink"}, nil)
	if want := filepath.Join(root, "a/bin/nvlink.real"); tk.NVLink.Path != want {
		t.Errorf("got %s, want %s", tk.NVLink.Path, want)
	}

	root = at("a", nvidia).grow(t)
	tk = find(t, root, Query{Origin: "$/a/bin/nvlink"}, nil)
	if _, err := tk.NeedNVLink(); err == nil {
		t.Errorf("took %s, which is the running program", tk.NVLink.Path)
	}
}

// nvlink's own outcome for a -nvvmpath that is no good.
func TestNVVMPathFaults(t *testing.T) {
	other := string(elfHeader(elf.ET_DYN, elf.EM_MIPS))
	tests := []struct {
		name string
		tree tree
		why  string
	}{
		{"missing", tree{"p/x": ""}, "not found"},
		{"empty", tree{"p/lib64/libnvvm.so": ""}, "empty"},
		{"text", tree{"p/lib64/libnvvm.so": "a text that is no library"}, "not an ELF file"},
		{"short", tree{"p/lib64/libnvvm.so": elf.ELFMAG}, "not an ELF file"},
		{"directory", tree{"p/lib64/libnvvm.so/x": ""}, "a directory"},
		{"program", tree{"p/lib64/libnvvm.so": "program"}, "not a shared library"},
		{"other machine", tree{"p/lib64/libnvvm.so": other}, "for another machine (EM_MIPS)"},
		{"dangling", tree{"p/lib64/libnvvm.so": "-> nowhere"}, "not found"},
		{"the right name in the wrong directory", tree{"p/libnvvm.so": "library"}, "not found"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := at("", test.tree, at("good", nvidia, versionList("13.0.88"))).grow(t)
			tk := find(t, root, Query{NVVMPath: "$/p"}, map[string]string{"CUDA_HOME": "$/good"})
			_, err := tk.NeedNVVM()
			m := messageIn(t, err)
			if m.Severity != message.Fatal || m.Text != "elfLink linker library load error" {
				t.Errorf("got %v %q", m.Severity, m.Text)
			}
			if want := root + "/p/lib64/libnvvm.so (-nvvmpath): " + test.why; len(m.Notes) == 0 || m.Notes[0] != want {
				t.Errorf("notes %q, want %q first", m.Notes, want)
			}
			if want := "--warpld-cuda=" + root + "/good"; !strings.Contains(m.Hint, want) {
				t.Errorf("hint %q does not say %s", m.Hint, want)
			}
			if tk.PTXAS.From != "CUDA_HOME" {
				t.Errorf("ptxas from %q", tk.PTXAS.From)
			}
		})
	}
}

func TestNoToolkit(t *testing.T) {
	root := tree{"empty/x": ""}.grow(t)
	for _, dir := range []string{"empty", "gone", "empty/x"} {
		_, err := Find(query(root, Query{CUDA: "$/" + dir}, nil))
		if m := messageIn(t, err); m.Severity != message.Fatal || m.ID != "toolkit-not-found" || len(m.Notes) == 0 {
			t.Errorf("%s: got %+v", dir, m)
		}
	}
	tk := find(t, root, Query{}, nil)
	for name, need := range map[string]func() (string, error){
		"libnvJitLink.so": tk.NeedJitLink, "ptxas": tk.NeedPTXAS, "nvlink": tk.NeedNVLink, "nvcc": tk.NeedNVCC,
		"elfLink": tk.NeedNVVM,
	} {
		if _, err := need(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("need of %s: got %v", name, err)
		}
	}
}

func TestBrokenShimRecord(t *testing.T) {
	root := at("", tree{"shim/bin/nvlink": "program", "shim/" + ShimRecord: "{"}, at("a", nvidia)).grow(t)
	tk := find(t, root, Query{Origin: "$/shim/bin/nvlink"}, map[string]string{"CUDA_HOME": "$/a"})
	var out strings.Builder
	if err := tk.Describe(&out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "broken "+ShimRecord) || tk.From != "CUDA_HOME" {
		t.Errorf("from %s:\n%s", tk.From, out.String())
	}
}

// TestForLink: what a link doesn't need is not sought, so that the search ends at a
// toolkit that lacks it.
func TestForLink(t *testing.T) {
	root := tree{"nvvm/lib64/libnvvm.so": "library", "lib64/libnvJitLink.so": "library", "bin/ptxas": "program",
		"bin/nvlink": "program", "bin/nvcc": "program"}.grow(t)
	later := tree{"bin/nvcc": "program", "bin/cuobjdump": "program"}.grow(t)
	for forLink, want := range map[bool]bool{true: false, false: true} {
		env := map[string]string{"CUDA_HOME": root, "CONDA_PREFIX": later}
		tk, err := Find(Query{Env: func(name string) string { return env[name] }, System: t.TempDir(), ForLink: forLink})
		if err != nil || !tk.NVVM.Found() || !tk.NVLink.Found() {
			t.Fatalf("%v: %+v", err, tk)
		}
		looked := slices.ContainsFunc(tk.trials, func(tr trial) bool { return strings.HasPrefix(tr.path, later) })
		if looked != want {
			t.Errorf("ForLink %t: looked on %t, want %t", forLink, looked, want)
		}
	}
}
