package network

import (
	"fmt"
	"io"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/routing"
)

// routedConfig is implemented by the configurations of kinds that route packets.
type routedConfig interface {
	Network(seed uint64) *Spec
}

// faultyConfig is implemented by the configurations of kinds whose networks can have faults.
type faultyConfig interface {
	Faults() *Faults
}

// WriteTables writes the forwarding tables of the experiment's routing in the form
// that OpenSM loads. Warnings say what tables for one virtual lane lose.
func (n *Network) WriteTables(w io.Writer) (warnings []string, err error) {
	if n.routed == nil {
		return nil, fmt.Errorf("forwarding tables need an experiment file with a [routing]")
	}
	o, err := n.routed.Open()
	if err != nil {
		return nil, err
	}
	tables, err := routing.Tables(o.Graph, o.Routing, o.VCs)
	if err != nil {
		return nil, experiments.At("routing.type", fmt.Errorf("= %q: %w", n.routed.routing.Type.Name(), err))
	}
	alone, err := routing.NewTables(tables, routing.Env{Topology: n.Topology})
	if err != nil {
		return nil, err
	}
	o = Opened(o.Graph, alone, 0)
	if c, err := CertifyWithin(o, certificateBudget, true); err == nil && !c.Acyclic {
		warnings = append(warnings, "on one virtual lane these tables can deadlock ("+strings.TrimPrefix(c.Text, "can deadlock: ")+"): the cluster needs service levels and SL2VL tables beside them"+c.Cycle)
	}
	return warnings, tables.Write(w)
}
