//go:build realtools

package inspect

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/record"
	"github.com/warpld/warpld/test/kit"
)

// The record of a link names the mode, the rule and the object that led to it,
// whichever way the link goes, and has every action and every kernel.
func TestRecord(t *testing.T) {
	merged := record.Reason{Rule: "the optimized part is merged with the rest"}
	for _, test := range []struct {
		name    string
		kinds   []string // of a.o, b.o
		flags   []string
		mode    string
		reasons []record.Reason
		actions []string
	}{
		{"whole", []string{"stored", "stored"}, []string{"-dlto"}, "whole",
			[]record.Reason{{Rule: "all code that takes part is LTO-IR"},
				{Rule: "the program is closed: ptxas makes the result"}}, []string{"compile", "assemble"}},
		{"native object", []string{"stored", "rdc"}, []string{"-dlto"}, "partial",
			[]record.Reason{{Rule: "native code takes part", Input: "rdc/b.o"}, merged},
			[]string{"compile", "assemble", "merge"}},
		{"forced", []string{"stored", "stored"}, []string{"-dlto", "-force-partial-lto"}, "partial",
			[]record.Reason{{Rule: "-force-partial-lto was given"}, merged}, []string{"compile", "assemble", "merge"}},
		{"relocatable", []string{"stored", "stored"}, []string{"-dlto", "-r"}, "relocatable",
			[]record.Reason{{Rule: "-r asks for a result that can be linked again"}, merged},
			[]string{"compile", "assemble", "merge"}},
		{"plain", []string{"rdc", "rdc"}, nil, "plain",
			[]record.Reason{{Rule: "link-time optimization was not asked for"}}, []string{"merge"}},
	} {
		for _, tk := range kit.Toolkits(t) {
			t.Run(test.name+"/"+tk.Release(), func(t *testing.T) {
				a, b := tk.Object(t, test.kinds[0], "a.o"), tk.Object(t, test.kinds[1], "b.o")
				r := recordOf(t, tk, append(test.flags, a, b))
				for i := range r.Reasons {
					if file := r.Reasons[i].Input; file != "" {
						r.Reasons[i].Input = filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file)
					}
				}
				if r.Mode != test.mode || !slices.Equal(r.Reasons, test.reasons) {
					t.Errorf("%s, because %v; want %s, because %v", r.Mode, r.Reasons, test.mode, test.reasons)
				}
				var actions []string
				for _, a := range r.Actions {
					actions = append(actions, a.Label)
				}
				if !slices.Equal(actions, test.actions) {
					t.Errorf("actions %v, want %v", actions, test.actions)
				}
				if len(r.Inputs) != 2 || r.Output == nil || len(r.Kernels) == 0 {
					t.Errorf("%d inputs, output %v, %d kernels", len(r.Inputs), r.Output, len(r.Kernels))
				}
			})
		}
	}
}

// recordOf links and reads the record.
func recordOf(t *testing.T, tk kit.Toolkit, args []string) *record.Record {
	t.Helper()
	return recordAt(t, tk, t.TempDir(), append([]string{"--warpld-cache=off"}, args...))
}

// recordAt does that in a folder, where the output is out.cubin.
func recordAt(t *testing.T, tk kit.Toolkit, dir string, args []string) *record.Record {
	t.Helper()
	args = append([]string{"-arch=sm_80", "--warpld-cuda=" + tk.Root, "--warpld-record=" + dir,
		"-o", filepath.Join(dir, "out.cubin")}, args...)
	if text, err := exec.Command(kit.Binary(t), args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, text)
	}
	f, err := os.Open(filepath.Join(dir, "out.cubin.sm_80.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := record.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
