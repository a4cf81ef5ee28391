package experiments

import (
	"fmt"
	"io"
	"strings"

	"github.com/weft-sim/weft/routing"
)

// routedConfig is implemented by the configurations of kinds that route packets.
type routedConfig interface {
	network(seed uint64) *network
}

// WriteTables writes the forwarding tables of the experiment's routing in the form
// that OpenSM loads. Warnings say what tables for one virtual lane lose.
func (n *Network) WriteTables(w io.Writer) (warnings []string, err error) {
	if n.routed == nil {
		return nil, fmt.Errorf("forwarding tables need an experiment file with a [routing]")
	}
	o, err := n.routed.open()
	if err != nil {
		return nil, err
	}
	tables, err := routing.Tables(o.graph, o.routing, o.vcs)
	if err != nil {
		return nil, At("routing.type", fmt.Errorf("= %q: %w", n.routed.routing.Type.Name(), err))
	}
	alone, err := routing.NewTables(tables, routing.Env{Topology: n.Topology})
	if err != nil {
		return nil, err
	}
	o = newOpened(o.graph, alone, 0)
	if p := o.prove(certificateBudget, true); p.err == nil && !p.acyclic {
		warnings = append(warnings, "on one virtual lane these tables can deadlock ("+strings.TrimPrefix(p.text, "can deadlock: ")+"): the cluster needs service levels and SL2VL tables beside them"+p.cycle)
	}
	return warnings, tables.Write(w)
}
