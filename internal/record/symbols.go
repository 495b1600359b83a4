package record

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/warpld/warpld/internal/glob"
	"github.com/warpld/warpld/internal/message"
)

const noOutput = "the link has no output"

// WriteRemoved lists what of the inputs is not in the output, and why.
func (r *Record) WriteRemoved(w io.Writer) {
	if r.Output == nil {
		fmt.Fprintln(w, noOutput)
		return
	}
	found := false
	for i := range r.Symbols {
		if y := &r.Symbols[i]; !y.Kept {
			found = true
			fmt.Fprintf(w, "removed %s %s of %s: %s\n", y.Kind, message.Demangle(y.Name), message.FirstFew(y.Inputs), y.why())
		}
	}
	if !found {
		fmt.Fprintln(w, "nothing of the inputs was removed, as far as their symbols are known")
	}
	r.writeUnknown(w)
}

// writeUnknown writes what the list of symbols lacks.
func (r *Record) writeUnknown(w io.Writer) {
	var silent []string
	for _, in := range r.Inputs {
		if in.SymbolsFrom == "" && slices.ContainsFunc(in.Modules, func(m Module) bool { return m.Linked }) {
			silent = append(silent, in.Name)
		}
	}
	if len(silent) > 0 {
		fmt.Fprintf(w, "not listed are the symbols of %s\n", message.FirstFew(silent))
	}
}

// why is the reason with what it names.
func (y *Symbol) why() string {
	switch {
	case y.By != "":
		return y.Reason + "; it is used by " + message.Demangle(y.By)
	case y.ReasonInput != "":
		return y.Reason + " (" + y.ReasonInput + ")"
	}
	return y.Reason
}

// WhyLive prints what keeps the symbols that a name or a pattern stands for.
func (r *Record) WhyLive(w io.Writer, name string) {
	found := false
	byName := map[string]*Symbol{}
	for i := range slices.Backward(r.Symbols) {
		byName[r.Symbols[i].Name] = &r.Symbols[i]
	}
	for i := range r.Symbols {
		y := &r.Symbols[i]
		if glob.Match(name, y.Name) || glob.Match(name, message.Demangle(y.Name)) {
			found = true
			writeChain(w, y, byName)
		}
	}
	switch {
	case found:
	case r.SymbolsTraced:
		fmt.Fprintf(w, "%s: no input defines it\n", name)
	default:
		fmt.Fprintf(w, "%s: it is not among the symbols that are known; link with --warpld-why-live=%s to know all\n", name,
			name)
	}
}

// writeChain prints a symbol and what uses it, up to the one that is named from outside.
func writeChain(w io.Writer, y *Symbol, byName map[string]*Symbol) {
	state := "is in the output"
	if !y.Kept {
		state = "is not in the output"
	}
	fmt.Fprintf(w, "%s %s of %s %s\n", y.Kind, message.Demangle(y.Name), message.FirstFew(y.Inputs), state)
	seen := map[*Symbol]bool{}
	for y != nil && !seen[y] {
		seen[y] = true
		next := byName[y.By]
		switch {
		case next != nil && len(seen) == 1:
			fmt.Fprintf(w, "  %s; it is used by the %s %s of %s\n", y.Reason, next.Kind, message.Demangle(next.Name),
				message.FirstFew(next.Inputs))
		case next != nil:
			fmt.Fprintf(w, "  which is used by the %s %s of %s\n", next.Kind, message.Demangle(next.Name),
				message.FirstFew(next.Inputs))
		default:
			fmt.Fprintf(w, "  %s\n", strings.TrimSuffix(y.Reason+": "+y.ReasonInput, ": "))
		}
		y = next
	}
}

// WriteMap describes the output: its sections and the symbols in them, then what is not
// in it.
func (r *Record) WriteMap(w io.Writer) error {
	if r.Output == nil {
		_, err := fmt.Fprintln(w, noOutput)
		return err
	}
	fmt.Fprintf(w, "%s, %d bytes, for %s\n\n", r.Output.Path, r.Output.Size, r.Target)
	in := map[string][]*Symbol{}
	for i := range r.Symbols {
		if y := &r.Symbols[i]; y.Kept {
			in[y.Section] = append(in[y.Section], y)
		}
	}
	fmt.Fprintf(w, "%10s %10s  section, symbol\n", "offset", "size")
	for _, s := range r.Sections {
		fmt.Fprintf(w, "%#10x %#10x  %s\n", s.Offset, s.Size, s.Name)
		r.mapSection(w, in[s.Name])
		delete(in, s.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(in)) { // of an output without sections
		r.mapSection(w, in[name])
	}
	fmt.Fprintln(w)
	r.WriteRemoved(w)
	return nil
}

func (r *Record) mapSection(w io.Writer, symbols []*Symbol) {
	slices.SortStableFunc(symbols, func(a, b *Symbol) int { return cmp.Compare(a.Offset, b.Offset) })
	for _, y := range symbols {
		fmt.Fprintf(w, "%#10x %#10x    %s  %s\n", y.Offset, y.Size, message.Demangle(y.Name), message.FirstFew(y.Inputs))
	}
}
