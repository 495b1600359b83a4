//go:build realtools

package slicing

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/warpld/warpld/test/kit"
)

// pinned are the kernels that stay together because they share a static variable of a
// function that one of them writes: counter's n, and the cnt and sl of each local_names.
var pinned = []string{"_Z3ka2Pi _Z3kb4Pi", "_Z3ke1Pi _Z3ke2Pi", "_Z3kf1Pi _Z3kf2Pi"}

// TestLink links with a kernel in each slice, but for those that are pinned. All that the
// program has is there once, and nothing else, whoever merges the slices.
func TestLink(t *testing.T) {
	forEach(t, func(t *testing.T, tk kit.Toolkit, arch string) {
		r := adversarial(t, tk, arch)
		p := r.plan(r.oneEach())
		if len(p.Slices) < 25 {
			t.Errorf("only %d slices", len(p.Slices))
		}
		symbols := symbolsOf(t, r.mergeByBoth(append([][]byte{p.Data()}, r.rewritten(p)...)...))
		for _, s := range p.Slices {
			if len(s.Kernels) != 1 && !slices.Contains(pinned, strings.Join(s.Kernels, " ")) {
				t.Errorf("%q are in one slice", s.Kernels)
			}
			for _, kernel := range s.Kernels {
				if symbols[kernel] != (count{global: 1}) {
					t.Errorf("%q: %+v", kernel, symbols[kernel])
				}
			}
		}
		for name, want := range map[string]count{
			"_Z5plus1i": {global: 1}, // its address is taken in several slices
			"gw":        {global: 1}, "mg": {global: 1}, "cc": {global: 1}, "iv": {global: 1},
			"_ZTV4Base":       {global: 1},
			"_ZZ7counteriE1n": {local: 1}, // of the slice that it is pinned to
			"table":           {local: 1}, // of one slice only
			"_ZZ3kstPiE1n":    {local: 2}, // two variables of one name
			"_Z3reci":         {local: 2}, // one in each slice that calls it
		} {
			if symbols[name] != want {
				t.Errorf("%s: %+v, want %+v", name, symbols[name], want)
			}
		}
	})
}

// TestFunctionPointers: what is called through a pointer counts for kernels of other
// slices, too.
func TestFunctionPointers(t *testing.T) {
	forEach(t, func(t *testing.T, tk kit.Toolkit, arch string) {
		r := newRig(t, tk, arch, build(t, tk, true, sources("pointer_target", "pointer_calls1", "pointer_calls2")...))
		p := r.plan(r.oneEach())
		usage := r.usage(r.link(p))
		for _, kernel := range []string{"_Z3ki1Pf", "_Z3kj1Pf"} {
			if u := usage[kernel]; u.registers < 84 || u.shared < 400 {
				t.Errorf("%s has %+v, less than the function that it calls", kernel, u)
			}
		}
		if u := usage["_Z5ktmplIfEvPT_"]; u.registers > 24 || u.shared > 0 {
			t.Errorf("a kernel that calls nothing has %+v", u)
		}
	})
}

// TestFunctionsHaveOneAddress, also if several slices use it. Without the rewrite
// every slice would have its own.
func TestFunctionsHaveOneAddress(t *testing.T) {
	forEach(t, func(t *testing.T, tk kit.Toolkit, arch string) {
		r := newRig(t, tk, arch, build(t, tk, true, sources("writers", "local_names1")...))
		p := r.plan(r.oneEach())
		texts := append([][]byte{p.Data()}, r.rewritten(p)...)
		if n := symbolsOf(t, r.merge(texts...))["_Z5plus1i"]; n != (count{global: 1}) {
			t.Errorf("%+v", n)
		}
		for i := range texts {
			texts[i] = bytes.ReplaceAll(texts[i], []byte(".weak .func"), []byte(".func"))
		}
		if n := symbolsOf(t, r.merge(texts...))["_Z5plus1i"]; n.local < 2 {
			t.Errorf("%+v without the rewrite; this test shows nothing", n)
		}
	})
}

// TestMemoryIsNotMultiplied: variables that slices share take their place once. The
// program has 40,000 bytes of constants for four kernels, of 65,536 that there can be.
func TestMemoryIsNotMultiplied(t *testing.T) {
	forEach(t, func(t *testing.T, tk kit.Toolkit, arch string) {
		r := newRig(t, tk, arch, build(t, tk, true, sources("launched_constants1", "launched_constants2")...), "-L"+
			tk.Lib(), "-lcudadevrt")
		p := r.plan(r.oneEach())
		if len(p.Slices) != 4 {
			t.Fatalf("%d slices", len(p.Slices))
		}
		texts := r.rewritten(p)
		out := r.merge(append([][]byte{p.Data()}, texts...)...)
		if size := sectionSize(t, out, ".nv.constant3"); size != 40000 {
			t.Errorf("%d bytes of constants", size)
		}
		// The launched kernel has one place, so its parameters have.
		if size := sectionSize(t, out, ".nv.constant0._Z5childPi"); size == 0 ||
			size != sectionSize(t, out, ".nv.constant0._Z2rdPi") {
			t.Errorf("%d bytes of parameters", size)
		}
		var declared int
		for _, text := range texts {
			declared += bytes.Count(text, []byte(".extern .entry _Z5childPi"))
		}
		if declared != 2 {
			t.Errorf("%d slices launch the kernel of another", declared)
		}
	})
}

// TestStrings: strings of one name in two modules stay two strings, and a variable
// that slices share has its own.
func TestStrings(t *testing.T) {
	forEach(t, func(t *testing.T, tk kit.Toolkit, arch string) {
		r := newRig(t, tk, arch, build(t, tk, true, sources("strings1", "strings2")...))
		p := r.plan(r.oneEach())
		out := r.link(p)
		data, err := os.ReadFile(out)
		r.must(err)
		for _, text := range []string{"one %d\n\x00", "two, %s\n\x00", "the first text\x00", "changed\x00"} {
			if !bytes.Contains(data, []byte(text)) {
				t.Errorf("no %q in the result", text)
			}
		}
		for name, n := range symbolsOf(t, out) {
			if strings.HasPrefix(name, "$str") && n.global > 0 {
				t.Errorf("%s is global", name)
			}
		}
	})
}

// TestNamesakes: lambdas of one name whose address is taken stay two functions.
func TestNamesakes(t *testing.T) {
	forEach(t, func(t *testing.T, tk kit.Toolkit, arch string) {
		r := newRig(t, tk, arch, build(t, tk, true, sources("lambdas1", "lambdas2")...))
		p := r.plan(r.oneEach())
		out := r.link(p)
		found := count{}
		for name, n := range symbolsOf(t, out) {
			if strings.Contains(name, "UliE_") && strings.HasPrefix(name, "_Z") {
				found.global += n.global
				found.local += n.local
			}
		}
		if found != (count{local: 2}) {
			t.Errorf("%+v functions for 2 lambdas", found)
		}
	})
}

// TestHostTable: a table of functions for the host alone has its functions in a
// slice without kernels.
func TestHostTable(t *testing.T) {
	forEach(t, func(t *testing.T, tk kit.Toolkit, arch string) {
		r := newRig(t, tk, arch, build(t, tk, true, sources("host_table")...))
		p := r.plan(r.oneEach())
		if last := p.Slices[len(p.Slices)-1]; len(p.Slices) != 3 || len(last.Kernels) != 0 {
			t.Fatalf("%d slices, the last with %q", len(p.Slices), last.Kernels)
		}
		symbols := symbolsOf(t, r.link(p))
		if symbols["hosttable"] != (count{global: 1}) || symbols["_Z5twicei"] != (count{global: 1}) ||
			symbols["used"] != (count{global: 1}) {
			t.Errorf("%+v", symbols)
		}
	})
}

// TestNames: lists hold exact names, and a program may share nothing.
func TestNames(t *testing.T) {
	forEach(t, func(t *testing.T, tk kit.Toolkit, arch string) {
		r := newRig(t, tk, arch, build(t, tk, true, sources("similar_kernels")...))
		p := r.plan(r.oneEach())
		symbols := symbolsOf(t, r.link(p))
		for i, name := range []string{"kc", "kc2", "xkc"} {
			if len(p.Slices) != 3 || !slices.Equal(p.Slices[i].Kernels, []string{name}) || symbols[name] != (count{global: 1}) {
				t.Errorf("%s: %+v", name, symbols[name])
			}
		}
	})
}

// TestKernelPointer: the address of a kernel is in a variable that slices share.
func TestKernelPointer(t *testing.T) {
	forEach(t, func(t *testing.T, tk kit.Toolkit, arch string) {
		r := newRig(t, tk, arch, build(t, tk, true, sources("kernel_pointer")...))
		p := r.plan(r.oneEach())
		symbols := symbolsOf(t, r.link(p))
		for _, name := range []string{"_Z8kpointedPi", "_Z7kreaderPi", "_Z7kwriterPi", "kpointer"} {
			if symbols[name] != (count{global: 1}) {
				t.Errorf("%s: %+v", name, symbols[name])
			}
		}
	})
}
