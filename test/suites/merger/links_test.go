//go:build realtools

package merger

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// links are whole links in which native code is merged, as KIND/FILE of the
// corpus and options.
var links = map[string]string{
	"native":           "rdc/a.o rdc/b.o",
	"bare cubin":       "rdc/a.o rdc/b.cubin",
	"partial":          "stored/a.o rdc/b.o -dlto",
	"in between":       "stored/a.o rdc/r3_printf.o stored/b.o -dlto",
	"device runtime":   "stored/cdp.o -dlto",
	"runtime is kept":  "rdc/a.o rdc/b.o -keep-system-libraries",
	"chosen kernels":   "rdc/a.o rdc/b.o -kernels-used=ka",
	"no host info":     "rdc/a.o rdc/b.o -ignore-host-info -w",
	"debug":            "rdc/a.o rdc/b.o -g",
	"undefined":        "rdc/a.o",
	"undefined in IR":  "stored/a.o rdc/r3_printf.o -dlto",
	"many definitions": "rdc/a.o rdc/b.o stored/b.o -dlto",
}

// TestLinks does whole links with our merger and no nvlink to fall back on: all
// that a caller sees must be nvlink's, also the record of tools.
func TestLinks(t *testing.T) {
	for _, tk := range kit.Toolkits(t) {
		for _, target := range []string{"sm_80", "sm_90"} {
			for name, text := range links {
				if target != "sm_80" && strings.Contains(text, ".cubin") {
					continue // of another architecture
				}
				t.Run(tk.Release()+"/"+target+"/"+name, func(t *testing.T) {
					job := linkJob(t, tk, target, text)
					warpld := kit.Warpld(t, "--warpld-cuda="+tk.Root+" --warpld-merge=own --warpld-exact-bytes")
					got, err := warpld.Run(job)
					if err != nil {
						t.Fatal(err)
					}
					for _, difference := range kit.Differences(tk.Reference(t, job), got) {
						t.Error(difference)
					}
				})
			}
		}
	}
}

// TestWarnings links a program of which nvlink cannot say how much stack it needs.
func TestWarnings(t *testing.T) {
	for _, tk := range kit.Toolkits(t) {
		built := setting{tk, "sm_80"}.buildAll(t, []string{"r1_calls", "r2_def"})
		for _, option := range []string{"-m64", "-Werror", "-w", "-suppress-stack-size-warning", "-g"} {
			job := kit.NewJob(t, []string{built["r1_calls"], built["r2_def"]}, "-arch=sm_80", option,
				filepath.Base(built["r1_calls"]), filepath.Base(built["r2_def"]), "-o", "linked")
			got, err := kit.Warpld(t, "--warpld-cuda="+tk.Root+" --warpld-merge=own --warpld-exact-bytes").Run(job)
			if err != nil {
				t.Fatal(err)
			}
			for _, difference := range kit.Differences(tk.Reference(t, job), got) {
				t.Errorf("%s: %s", option, difference)
			}
		}
	}
}

// linkJob is the link as nvcc would write it.
func linkJob(t *testing.T, tk kit.Toolkit, target, text string) kit.Job {
	t.Helper()
	args := []string{"-m64", "-arch=" + target, "--register-link-binaries=register.c", "-cpu-arch=X86_64",
		"-nvvmpath=" + tk.NVVM()}
	var paths []string
	for _, word := range strings.Fields(text) {
		kind, file, input := strings.Cut(word, "/")
		if !input {
			args = append(args, word)
			continue
		}
		if path := tk.Object(t, kind, file); !slices.Contains(args, file) {
			paths, args = append(paths, path), append(args, file)
		} else {
			args = append(args, path)
		}
	}
	return kit.NewJob(t, paths, append(args, "-L"+tk.Lib(), "-lcudadevrt", "-o", "linked")...)
}
