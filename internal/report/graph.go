package report

import (
	"fmt"
	"path/filepath"

	"github.com/warpld/warpld/internal/record"
)

// Sizes of the module graph.
const (
	nodeHeight = 20
	graphName  = 260 // where the arcs begin
	graphArcs  = 480 // how far they reach
	maxNodes   = 150
)

// A graph draws the inputs in their order and an arc from each to those that it uses.
type graph struct {
	Height, Width int
	Nodes         []graphNode
	Arcs          []string // paths
	Uses          int
	// TooLarge: there is only the table.
	TooLarge bool
}

type graphNode struct {
	Y    int
	Name string
	Full string
}

// newGraph draws the linked inputs. It returns nil if their references are not known.
func newGraph(r *record.Record) *graph {
	g := &graph{Width: graphName + graphArcs}
	place := map[string]int{}
	for _, in := range r.Inputs {
		if in.SymbolsFrom != "" {
			place[in.Name] = len(g.Nodes)
			g.Nodes = append(g.Nodes, graphNode{Y: nodeHeight/2 + len(g.Nodes)*nodeHeight,
				Name: shortened(filepath.Base(in.Name)), Full: in.Name})
		}
	}
	for _, in := range r.Inputs {
		from, known := place[in.Name]
		for _, name := range in.Uses {
			if to, linked := place[name]; linked && known {
				g.Uses++
				g.Arcs = append(g.Arcs, arc(from, to, len(g.Nodes)))
			}
		}
	}
	if g.Uses == 0 {
		return nil
	}
	g.Height = len(g.Nodes) * nodeHeight
	if g.TooLarge = len(g.Nodes) > maxNodes; g.TooLarge {
		g.Nodes, g.Arcs = nil, nil
	}
	return g
}

// arc leads from one of some nodes to another, the further apart the wider.
func arc(from, to, nodes int) string {
	y1, y2 := nodeHeight/2+from*nodeHeight, nodeHeight/2+to*nodeHeight
	reach := graphName + min(graphArcs, 24+(graphArcs-24)*max(from-to, to-from)/max(8, nodes))
	return fmt.Sprintf("M%d %dC%d %d %d %d %d %d", graphName, y1, reach, y1, reach, y2, graphName+6, y2)
}

// shortened keeps the end of a long name, which distinguishes it best.
func shortened(name string) string {
	const most = 34
	if len(name) <= most {
		return name
	}
	return "…" + name[len(name)-most:]
}
