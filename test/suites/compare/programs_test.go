//go:build realtools

package compare

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// programs are sets of inputs that link.
var programs = map[string]link{
	"two files":         {inputs: objects("a", "b")},
	"two files swapped": {inputs: objects("b", "a")},
	"host references":   {inputs: objects("hostref")},
	"similar names":     {inputs: objects("names")},
	"calls":             {inputs: objects("r1_calls", "r2_def")},
	"printf":            {inputs: objects("r3_printf")},
	"virtual":           {inputs: objects("r4_virt")},
	"shared memory":     {inputs: objects("r5_shared")},
	"textures":          {inputs: objects("r6_tex")},
	"groups":            {inputs: objects("r7_cg")},
	"math":              {inputs: objects("r8_math")},
	"weak":              {inputs: objects("w1", "w2")},
	"layout":            {inputs: objects("lay1", "lay2")},
	"indirect":          {inputs: objects("ind", "ind2")},
	"many":              {inputs: objects("many1", "many2")},

	"launched pair":     {inputs: objects("launch", "a", "b")},
	"launched calls":    {inputs: objects("r1_calls", "launch", "r2_def")},
	"launched weak":     {inputs: objects("w1", "w2", "launch")},
	"launched indirect": {inputs: objects("ind", "ind2", "launch")},
	"launched layout":   {inputs: objects("launch", "lay1", "lay2")},
	"launched many":     {inputs: objects("many1", "many2", "launch")},
	"launched all": {inputs: objects("launch", "hostref", "names", "a", "b", "r1_calls", "r2_def", "r3_printf", "r4_virt",
		"r5_shared", "r6_tex", "r8_math", "w1", "w2", "lay1", "lay2", "ind", "ind2")},
	"nothing launched there": {inputs: objects("hostref", "r1_calls", "r2_def", "r3_printf")},

	"archive":      {inputs: append(objects("a"), "FORM/libparts.a")},
	"-l":           {inputs: objects("a"), beside: []string{"FORM/libparts.a"}, options: []string{"-L.", "-lparts"}},
	"thin archive": {inputs: append(objects("a"), "FORM/libthin.a"), beside: objects("b", "r3_printf", "r8_math")},
	"only archive": {inputs: []string{"FORM/libparts.a"}},

	"host object":  {inputs: append(objects("hostref", "w1", "w2"), "host/host.o")},
	"host archive": {inputs: append([]string{"host/libhost.a"}, objects("names")...)},
	"as CMake": {inputs: objects("hostref"), options: []string{"--shared", "-lcudadevrt", "-lcudart_static",
		"-lrt", "-lpthread", "-ldl"}},

	"ltoir":             {inputs: filesOf("ltoir", ".ltoir", []string{"a", "b"})},
	"ltoir hostref":     {inputs: filesOf("ltoir", ".ltoir", []string{"hostref"})},
	"fatbin":            {inputs: filesOf("FORM", ".fatbin", []string{"a", "b"})},
	"fatbin and object": {inputs: append(objects("hostref", "a"), "FORM/b.fatbin"), extra: []string{removed("b.fatbin")}},
	"ltoir and object":  {inputs: append(objects("hostref", "a"), "ltoir/b.ltoir"), extra: []string{removed("b.ltoir")}},

	"dynamic parallelism": {inputs: objects("cdp"), merges: true},
	"native object":       {inputs: append(objects("a"), "rdc/b.o"), merges: true},
	"native in between":   {inputs: append(append(objects("a"), "rdc/r3_printf.o"), objects("b")...), merges: true},
}

func removed(file string) string {
	return "kernels of '" + file + "' are removed unless host code of other objects names them"
}

// generated is a program of 64 modules and four libraries.
func generated() link {
	var names []string
	for i := range 4 {
		names = append(names, fmt.Sprintf("lib%d", i))
	}
	for i := range 64 {
		names = append(names, fmt.Sprintf("m%d", i))
	}
	return link{inputs: filesOf("FORM-generated", ".o", names)}
}

// TestPrograms links every program for every target to a cubin, which is made of the PTX. PTX
// itself is compared for two of the targets, in the full form for all.
func TestPrograms(t *testing.T) {
	forEachSetting(t, kit.Archs, func(t *testing.T, s setting) {
		for name, program := range programs {
			t.Run(name, func(t *testing.T) { t.Parallel(); s.compare(t, program) })
			if kit.Full() || s.arch == "sm_80" || s.arch == "sm_120" {
				t.Run(name+" to PTX", func(t *testing.T) { t.Parallel(); s.compare(t, program.with("-emit-ptx")) })
			}
		}
	})
}

// TestByKernel links with ptxas kernel by kernel, in the full form every program.
func TestByKernel(t *testing.T) {
	names := []string{"launched all", "indirect", "printf"}
	if kit.Full() {
		names = slices.Collect(maps.Keys(programs))
	}
	forEachSetting(t, kit.Archs, func(t *testing.T, s setting) {
		if s.form.name != "stored" && !kit.Full() {
			return // the PTX is the same
		}
		s.assemble = "kernels"
		for _, name := range names {
			t.Run(name, func(t *testing.T) { t.Parallel(); s.compare(t, programs[name]) })
		}
	})
}

// TestGeneratedProgram links 64 modules, in the full form for every target.
func TestGeneratedProgram(t *testing.T) {
	archs := kit.Archs
	if !kit.Full() {
		archs = []string{"sm_80"}
	}
	forEachSetting(t, archs, func(t *testing.T, s setting) {
		t.Parallel()
		s.compare(t, generated())
	})
}

// otherTargets are neighbours of those with code of their own in the objects:
// the linkers have to take older IR, and the names have suffixes.
var otherTargets = []string{"sm_86", "sm_89", "sm_90a", "sm_100a", "sm_100f", "sm_103", "sm_121"}

func TestOtherTargets(t *testing.T) {
	forEachSetting(t, otherTargets, func(t *testing.T, s setting) {
		for _, name := range []string{"host references", "launched pair"} {
			t.Run(name, func(t *testing.T) { t.Parallel(); s.compare(t, programs[name]) })
		}
	})
}

// TestObjectsOfOneTarget links objects as a plain nvcc -dlto -arch=sm_80 makes them.
func TestObjectsOfOneTarget(t *testing.T) {
	forEachSetting(t, []string{"sm_80", "sm_90", "sm_120"}, func(t *testing.T, s setting) {
		t.Parallel()
		s.compare(t, link{inputs: filesOf("FORM-single", ".o", []string{"hostref", "w1", "w2"})})
	})
}
