package symbols

import "github.com/warpld/warpld/internal/record"

// reason says why a symbol is in the output, or why not.
func (p *program) reason(n *node, row *record.Symbol) {
	if n.by >= 0 {
		row.By = p.nodes[n.by].Name
	}
	switch {
	case !row.Kept:
		row.Reason = p.whyRemoved(n)
	case n.root != nil && n.root.Input == "":
		row.Reason = options[n.Kind] + " names it"
	case n.root != nil:
		row.Reason, row.ReasonInput = "host code refers to it", n.root.Input
	case n.by >= 0:
		row.Reason = "code that is kept needs it"
	case p.link.Roots.All != "" && n.Kind != record.KindFunction:
		row.Reason, row.ReasonInput = "everything may be named from outside: "+p.link.Roots.All, p.link.Roots.AllInput
	default:
		row.Reason = "the tools kept it"
	}
}

var options = map[string]string{record.KindKernel: "-kernels-used", record.KindVariable: "-variables-used"}

func (p *program) whyRemoved(n *node) string {
	unnamed := "no host code refers to it"
	if p.link.Roots.ByOption {
		unnamed = options[n.Kind] + " does not name it"
	}
	switch {
	case n.Kind == record.KindFunction && n.live:
		return "no call of it was left after optimization"
	case n.Kind == record.KindFunction:
		return "no code that is kept calls it"
	case n.Kind == record.KindKernel && p.link.Roots.All == "" && n.root == nil:
		return unnamed
	case n.Kind == record.KindKernel:
		return "the tools removed it, though it may be named from outside"
	case n.live:
		return "no use of it was left after optimization"
	case p.link.Roots.All != "" || n.root != nil:
		return "it was left out by the optimization of the whole program"
	case p.link.Traced:
		return unnamed + ", and no code that is kept uses it"
	}
	return unnamed + ", and no use of it was left"
}
