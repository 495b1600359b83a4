package record

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/warpld/warpld/internal/message"
)

// Explain describes what the link did, and why.
func (r *Record) Explain(w io.Writer) {
	fmt.Fprintf(w, "%s, target %s, toolkit %s, %s\n", ending(r.Exit), r.Target, r.Toolkit, seconds(r.Wall))
	r.explainMode(w)
	r.explainOptions(w)
	r.explainInputs(w)
	r.explainActions(w)
	for _, m := range r.Messages {
		if m.Severity != message.Info.String() {
			fmt.Fprintf(w, "%s: %s\n", m.Severity, m.Text)
		}
	}
	if r.Output != nil {
		kernels := fmt.Sprintf("%d kernels", len(r.Kernels))
		if len(r.Kernels) == 1 {
			kernels = "1 kernel"
		}
		fmt.Fprintf(w, "result: %s, %d bytes, %s\n", r.Output.Path, r.Output.Size, kernels)
		r.explainRemoved(w)
	}
}

// explainRemoved names the kernels and variables that are gone, by the reason.
func (r *Record) explainRemoved(w io.Writer) {
	type group struct{ kind, reason string }
	var order []group
	names := map[group][]string{}
	for _, y := range r.Symbols {
		if y.Kept || y.Kind == KindFunction {
			continue
		}
		g := group{y.Kind, y.Reason}
		if names[g] == nil {
			order = append(order, g)
		}
		names[g] = append(names[g], message.Demangle(y.Name))
	}
	for _, g := range order {
		fmt.Fprintf(w, "%ss that are gone, because %s: %s\n", g.kind, g.reason, message.FirstFew(names[g]))
	}
}

func ending(exit int) string {
	if exit == message.ExitOK {
		return "linked"
	}
	return fmt.Sprintf("failed with exit code %d", exit)
}

func seconds(us int64) string {
	return (time.Duration(us) * time.Microsecond).Round(time.Millisecond).String()
}

func (r *Record) explainMode(w io.Writer) {
	if r.Mode == "" {
		fmt.Fprintln(w, "the link ended before it was decided how it goes")
		return
	}
	fmt.Fprintf(w, "%s link, because\n", r.Mode)
	for _, reason := range r.Reasons {
		fmt.Fprintf(w, "  %s\n", strings.TrimSuffix(reason.Rule+": "+reason.Input, ": "))
	}
	if r.Engine != "" {
		fmt.Fprintf(w, "compiled by the engine %s: %s\n", r.Engine, r.EngineReason)
	}
}

// explainOptions lists the options on which all objects agree in one line, and
// the objects by name for the others.
func (r *Record) explainOptions(w io.Writer) {
	var agreed []string
	for _, o := range r.Options {
		if len(o.Votes) == 1 {
			if o.Value != "" {
				agreed = append(agreed, o.Value)
			}
			continue
		}
		fmt.Fprintf(w, "compiled with %s, though the objects differ\n", cmp.Or(o.Value, "the default of "+o.Name))
		for _, said := range o.Votes {
			fmt.Fprintf(w, "  %s: %s\n", cmp.Or(said.Value, "without "+o.Name), message.FirstFew(said.Inputs))
		}
	}
	if len(agreed) > 0 {
		fmt.Fprintf(w, "compiled with %s, as all objects were\n", strings.Join(agreed, " "))
	}
}

func (r *Record) explainInputs(w io.Writer) {
	count := map[string]int{}
	var left []string
	for _, in := range r.Inputs {
		at := slices.IndexFunc(in.Modules, func(m Module) bool { return m.Linked })
		switch {
		case at >= 0:
			count[in.Modules[at].Kind]++
		case in.NotLinked != "":
			left = append(left, fmt.Sprintf("%s: %s", in.Name, in.NotLinked))
		case slices.ContainsFunc(in.Modules, func(m Module) bool { return m.Target == r.Target }):
			left = append(left, fmt.Sprintf("%s: nothing needs it", in.Name))
		default:
			left = append(left, fmt.Sprintf("%s: it has no code for the target", in.Name))
		}
	}
	var kinds []string
	for kind, n := range count {
		kinds = append(kinds, fmt.Sprintf("%d as %s", n, kind))
	}
	slices.Sort(kinds)
	fmt.Fprintf(w, "%d inputs, linked: %s\n", len(r.Inputs), cmp.Or(strings.Join(kinds, ", "), "none"))
	for _, line := range left {
		fmt.Fprintf(w, "  not linked: %s\n", line)
	}
}

func (r *Record) explainActions(w io.Writer) {
	for _, a := range r.Actions {
		what := fmt.Sprintf("%s, %s CPU, %d MB", seconds(a.Wall), seconds(a.CPU), a.Memory>>20)
		switch {
		case a.Source == "cache":
			what = "from " + cmp.Or(a.Where, "the cache")
		case a.Where != "":
			what = seconds(a.Wall) + ", by " + a.Where
		}
		if a.Failure != "" {
			what += ", " + a.Failure
		}
		fmt.Fprintf(w, "%s: %s\n", title(&a), what)
	}
}

// title returns the label of an action and the kernels that it is about.
func title(a *Action) string {
	if len(a.Kernels) == 0 {
		return a.Label
	}
	var names []string
	for _, name := range a.Kernels {
		names = append(names, message.Demangle(name))
	}
	return a.Label + " " + message.FirstFew(names)
}
