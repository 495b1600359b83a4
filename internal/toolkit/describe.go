package toolkit

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// engines are the ways of a device link, by the parts they take.
var engines = []struct {
	name, does string
	needs      []*part
}{
	{"nvvm", "compiles LTO-IR that is stored readable (nvcc -no-compress)", []*part{nvvmPart, ptxasPart}},
	{"jitlink", "compiles any LTO-IR, whole programs only", []*part{jitLinkPart, ptxasPart}},
	{"vendor", "does the whole link as NVIDIA's nvlink", []*part{nvlinkPart}},
}

// Describe writes what was found, what can be done with it, and every place
// and path that was looked at, in order.
func (t *Toolkit) Describe(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if t.Root == "" {
		fmt.Fprintf(out, "no CUDA toolkit found\n")
	} else {
		fmt.Fprintf(out, "CUDA toolkit %v in %s (%s)\n", t.Version, t.Root, t.From)
	}
	fmt.Fprintf(out, "\nparts\n")
	for _, p := range parts {
		if f := p.slot(t); f.Found() {
			fmt.Fprintf(out, "  %s\t%s\t%s\n", p.name, f.Path, f.From)
		} else {
			fmt.Fprintf(out, "  %s\tnot found\t\n", p.name)
		}
	}
	fmt.Fprintf(out, "\nengines\n")
	for _, e := range engines {
		state := "yes"
		if lack := t.lack(e.needs); lack != "" {
			state = "no, needs " + lack
		}
		fmt.Fprintf(out, "  %s\t%s\t%s\n", e.name, state, e.does)
	}
	fmt.Fprintf(out, "\nlooked at\n")
	for _, tr := range t.trials {
		outcome := tr.why
		if outcome == "" {
			outcome = "found"
		}
		fmt.Fprintf(out, "  %s\t%s\t%s\n", tr.place, tr.path, outcome)
	}
	return out.Flush()
}

// lack names the parts that are missing.
func (t *Toolkit) lack(needs []*part) string {
	var names []string
	for _, p := range needs {
		if !p.slot(t).Found() {
			names = append(names, p.name)
		}
	}
	return strings.Join(names, " and ")
}
