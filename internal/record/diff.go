package record

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Diff writes what is different in a later link: its inputs, how it went, its kernels and
// their resources. It reports whether anything is, except times.
func Diff(w io.Writer, before, after *Record) bool {
	d := &differ{w: w}
	d.value("toolkit", before.Toolkit, after.Toolkit)
	d.value("target", before.Target, after.Target)
	d.value("arguments", strings.Join(before.Arguments, " "), strings.Join(after.Arguments, " "))
	d.value("exit code", fmt.Sprint(before.Exit), fmt.Sprint(after.Exit))
	d.value("mode", before.Mode, after.Mode)
	d.value("engine", before.Engine, after.Engine)
	compare(d, "input", before.Inputs, after.Inputs, func(i Input) string { return i.Name }, describeInput)
	compare(d, "option", before.Options, after.Options, func(o Option) string { return o.Name },
		func(o Option) string { return cmp.Or(o.Value, "its default") })
	compare(d, "kernel", before.Kernels, after.Kernels, func(k Kernel) string { return k.Name }, describeKernel)
	if before.Output != nil && after.Output != nil {
		d.value("result", before.Output.SHA256, after.Output.SHA256)
	}
	fmt.Fprintf(w, "time: %s, then %s\n", seconds(before.Wall), seconds(after.Wall))
	return d.found
}

type differ struct {
	w     io.Writer
	found bool
}

func (d *differ) say(format string, args ...any) {
	d.found = true
	fmt.Fprintf(d.w, format+"\n", args...)
}

func (d *differ) value(what, before, after string) {
	if before != after {
		d.say("%s: %s, then %s", what, before, after)
	}
}

// compare writes which of two lists of named things were added, removed or changed.
func compare[T any](d *differ, what string, before, after []T, name, describe func(T) string) {
	old := map[string]T{}
	for _, x := range before {
		old[name(x)] = x
	}
	for _, x := range after {
		was, known := old[name(x)]
		delete(old, name(x))
		switch {
		case !known:
			d.say("%s %s: new, %s", what, name(x), describe(x))
		case describe(was) != describe(x):
			d.say("%s %s: %s, then %s", what, name(x), describe(was), describe(x))
		}
	}
	gone := make([]string, 0, len(old))
	for n := range old {
		gone = append(gone, n)
	}
	slices.Sort(gone)
	for _, n := range gone {
		d.say("%s %s: gone", what, n)
	}
}

func describeInput(i Input) string {
	text := i.File.SHA256[:min(12, len(i.File.SHA256))]
	for _, m := range i.Modules {
		if m.Linked {
			text += fmt.Sprintf(", %s for %s", m.Kind, m.Target)
		}
	}
	if i.NotLinked != "" {
		text += ", not linked"
	}
	return text
}

func describeKernel(k Kernel) string {
	return fmt.Sprintf("%d registers, %d stack, %d spills, %d shared, %d code", k.Registers, k.Stack, k.Spills, k.Shared,
		k.Code)
}
