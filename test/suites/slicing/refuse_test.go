//go:build realtools

package slicing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/internal/message"
	"github.com/warpld/warpld/internal/slice"
	"github.com/warpld/warpld/test/kit"
)

// TestViolations: what could go wrong is found.
func TestViolations(t *testing.T) {
	for _, tk := range kit.Toolkits(t) {
		r := adversarial(t, tk, "sm_80")
		p := r.plan(r.oneEach())
		kb := p.Slices[sliceOf(t, p, "_Z2kbPi")]
		other := p.Slices[sliceOf(t, p, "_Z3kg1Pi")]
		// kb4 shares its slice with ka2 of the other module, because of counter.
		kb4 := *p.Slices[sliceOf(t, p, "_Z3kb4Pi")]
		kb4.Kernels = []string{"_Z3kb4Pi"}
		change := func(from, to string) []string {
			vector := slices.Clone(kb.Vector)
			for i := range vector {
				vector[i] = strings.Replace(vector[i], from, to, 1)
			}
			return vector
		}
		for name, test := range map[string]struct {
			slice   *slice.Slice
			modules []int
			vector  []string
			want    string
		}{
			"a module is missing":   {kb, kb.Modules[1:], kb.Vector, "the slice lacks the variable 'gw'"},
			"a function is missing": {&kb4, []int{1}, kb4.Vector, "_Z3reci"},
			"a listed variable is misspelt": {kb, kb.Modules, change("gw,", "gv,"),
				"the compiler has removed the variable 'gw', which is in a list"},
			"another variable is listed": {kb, kb.Modules, change("gw,", "gw,slot,"),
				"the compiler has kept the variable 'slot', which is in no list"},
			"a kernel is misspelt": {kb, kb.Modules, change("_Z2kbPi", "_Z2kbPx"),
				"the compiler has removed the kernel '_Z2kbPi'"},
			"a kernel too many": {kb, kb.Modules, change("_Z2kbPi", "_Z2kbPi,_Z2kaPi"),
				"the compiler has kept the kernel '_Z2kaPi', which belongs to another slice"},
			"another slice": {kb, other.Modules, other.Vector, "the compiler has removed the kernel '_Z2kbPi'"},
		} {
			text, err := r.compile(test.modules, test.vector)
			if err != nil {
				// libnvvm finds the slice open by itself.
				if !strings.Contains(err.Error(), "not closed") {
					t.Errorf("%s: %v", name, err)
				}
				continue
			}
			_, err = test.slice.Rewrite(text)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %v, want %s", name, err, test.want)
			}
		}
	}
}

// TestRefusals: what only the unsliced link can say, it says.
func TestRefusals(t *testing.T) {
	for _, tk := range kit.Toolkits(t) {
		r := newRig(t, tk, "sm_80", build(t, tk, true, sources("defined_twice1", "defined_twice2")...))
		_, err := slice.Make(r.scan(), r.oneEach())
		if err == nil || !strings.Contains(err.Error(), "'_Z4twini' is defined more than once") {
			t.Errorf("a function twice: %v", err)
		}
		if _, err := r.compile(r.all(), r.whole.Compile); err == nil ||
			!strings.Contains(fmt.Sprint(message.Of(err)[0].Text), "_Z4twini") {
			t.Errorf("unsliced: %v", err)
		}
		r = newRig(t, tk, "sm_80", build(t, tk, true, sources("readers")...))
		if _, err := slice.Make(r.scan(), r.oneEach()); err == nil || !strings.Contains(err.Error(), "is not defined") {
			t.Errorf("without a definition: %v", err)
		}
		r = newRig(t, tk, "sm_80", build(t, tk, true, sources("assembly_name")...))
		p := r.plan(r.oneEach())
		texts := r.rewritten(p)
		if _, err := r.assemble(texts[sliceOf(t, p, "_Z2kpPi")], "-c"); err == nil || !strings.Contains(err.Error(), "asmv") {
			t.Errorf("assembly with an unknown name: %v", err)
		}
	}
}

// TestSharedCodeIsNotCut: 16 kernels that all call 8 large functions are one slice.
func TestSharedCodeIsNotCut(t *testing.T) {
	for _, tk := range kit.Toolkits(t) {
		files, err := kit.Amplifying(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		r := newRig(t, tk, "sm_80", build(t, tk, true, files...))
		_, err = slice.Make(r.scan(), r.options())
		if err == nil || !strings.Contains(err.Error(), "share so much code") {
			t.Errorf("%v", err)
		}
	}
}
