//go:build realtools

package edits

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/warpld/warpld/test/kit"
)

// A state is a program between two edits: one choice for everything that can change.
// All zeros is the program as it was generated.
type state []int

// A dial is something that can change.
type dial struct {
	name    string
	choices []string
}

// A world is what states choose from.
type world struct {
	files    []file
	toolkits []kit.Toolkit
	warpld   kit.Linker
	dials    []dial // one for each file, then the others
}

// The dials behind those of the files. The last modules can be left out, because no
// other needs them.
var otherDials = []dial{
	{"toolkit", nil}, // those of the world
	{"architecture", []string{"sm_80", "sm_90"}},
	{"registers", []string{"", "-maxrregcount=32"}},
	{"ptxas", []string{"", "-Xptxas=-O2", "-Xptxas=-v"}},
	{"libnvvm", []string{"", "-Xnvvm=-ftz=1", "-Ofast-compile=mid"}},
	{"host", []string{"", "-ignore-host-info", "-kernels-used=k0"}},
	{"order", []string{"", "libraries last"}},
	{"place", []string{"", "elsewhere/"}},
	{"modules", []string{"all", "without m5", "without m4 and m5"}},
}

func newWorld(files []file, toolkits []kit.Toolkit) *world {
	w := &world{files: files, toolkits: toolkits}
	for _, f := range files {
		d := dial{name: f.name}
		for _, v := range f.variants {
			d.choices = append(d.choices, v.change)
		}
		w.dials = append(w.dials, d)
	}
	w.dials = append(w.dials, otherDials...)
	for _, tk := range toolkits {
		w.dials[len(files)].choices = append(w.dials[len(files)].choices, tk.Version)
	}
	return w
}

// edit changes one thing at random. Files change more often than options, and go
// back to what they were as often as to something new.
func (w *world) edit(s state, random *rand.Rand) state {
	s = slices.Clone(s)
	for i, choice := range s {
		if w.dials[i].choices[choice] == gone && random.IntN(2) == 0 {
			s[i] = 0 // people mend what does not link
			return s
		}
	}
	i := random.IntN(len(w.files))
	if random.IntN(6) == 0 {
		i = len(w.files) + random.IntN(len(otherDials))
	}
	choice := random.IntN(len(w.dials[i].choices))
	if s[i] != 0 && random.IntN(2) == 0 {
		choice = 0
	}
	if choice == s[i] {
		choice = (choice + 1) % len(w.dials[i].choices)
	}
	s[i] = choice
	return s
}

// describe names what is not as it was generated.
func (w *world) describe(s state) string {
	var list []string
	for i, choice := range s {
		if choice != 0 {
			list = append(list, fmt.Sprintf("%s: %s", w.dials[i].name, w.dials[i].choices[choice]))
		}
	}
	if list == nil {
		return "as generated"
	}
	return strings.Join(list, ", ")
}

// choice is what a state has chosen of a dial behind those of the files.
func (w *world) choice(s state, name string) string {
	i := len(w.files) + slices.IndexFunc(otherDials, func(d dial) bool { return d.name == name })
	return w.dials[i].choices[s[i]]
}

func (w *world) toolkit(s state) kit.Toolkit { return w.toolkits[s[len(w.files)]] }

// inputs are the objects of a state in the order of the link.
func (w *world) inputs(s state) []input {
	var list []input
	for i, f := range w.files {
		if !strings.Contains(w.choice(s, "modules"), f.name) {
			list = append(list, input{f.name + ".o", f.variants[s[i]].object})
		}
	}
	if w.choice(s, "order") == "libraries last" {
		slices.Reverse(list)
		slices.Reverse(list[:len(list)-2])
	}
	return list
}

// An input is an object by its name in the program and by where it is.
type input struct{ name, object string }

// arguments are nvlink's for a state.
func (w *world) arguments(s state) []string {
	tk := w.toolkit(s)
	args := []string{"-dlto", "-arch=" + w.choice(s, "architecture"), "-nvvmpath=" + tk.NVVM(), "-o", "linked", "-L" +
		tk.Lib()}
	for _, name := range []string{"registers", "ptxas", "libnvvm", "host"} {
		if option := w.choice(s, name); option != "" {
			args = append(args, option)
		}
	}
	for _, in := range w.inputs(s) {
		args = append(args, w.choice(s, "place")+in.name)
	}
	return append(args, "-lcudadevrt")
}
