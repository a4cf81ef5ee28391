package network

import (
	"fmt"
	"io"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/ib"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim/input"
)

// diffBudget is the number of pairs whose paths are compared before the comparison
// stops at a sample of the destinations: some seconds.
const diffBudget = 4_000_000

// Change is what has changed from one network to another.
type Change struct {
	changes *topology.Changes
	paths   *routing.PathChanges // nil: no routes were given
}

// Diff finds what has changed from n to later. Routes are compared where both have
// them: by tables, the names of two files of forwarding tables, or else by
// algorithm, the name of a routing with its defaults, or else by the routings of
// two experiment files.
func (n *Network) Diff(later *Network, tables []string, algorithm string) (*Change, error) {
	d := &Change{changes: topology.Compare(n.Graph(), later.Graph())}
	var pair [2]routing.Routed
	for i, x := range []*Network{n, later} {
		var err error
		switch {
		case len(tables) == 2:
			pair[i], err = x.routedBy(tables[i])
		case algorithm != "":
			pair[i], err = x.routedAs(algorithm)
		case n.routed == nil || later.routed == nil:
			return d, nil
		default:
			pair[i], err = x.routed.Open()
		}
		if err != nil {
			return nil, err
		}
	}
	var err error
	d.paths, err = routing.ComparePaths(pair[0], pair[1], d.changes, diffBudget)
	return d, err
}

// routedBy routes the network by a file of forwarding tables.
func (n *Network) routedBy(path string) (routing.Routed, error) {
	in, err := input.OpenInput(path, input.MaxInput)
	if err != nil {
		return routing.Routed{}, fmt.Errorf("%s: cannot be read: %w", path, err)
	}
	defer in.Close()
	tables, err := ib.ReadLFTs(in, path, n.Graph())
	if err != nil {
		return routing.Routed{}, err
	}
	return routing.Routed{Graph: n.Graph(), Routing: routing.AnyTables(n.Graph(), tables), VCs: 1}, nil
}

// routedAs routes the network by a registered algorithm with its defaults.
func (n *Network) routedAs(name string) (routing.Routed, error) {
	r, err := routing.Registry.New(name, routing.Env{Topology: n.Topology})
	if err != nil {
		return routing.Routed{}, err
	}
	return Opened(n.Graph(), r, 0), nil
}

// mostListed bounds the changes of a kind that are written out.
const mostListed = 100

// Write prints the difference.
func (d *Change) Write(w io.Writer) {
	for _, list := range []struct {
		name    string
		changes []topology.Change
	}{{"switches", d.changes.Switches}, {"cables", d.changes.Cables}, {"hosts", d.changes.Hosts}} {
		counts := [3]int{}
		for _, c := range list.changes {
			counts[c.Kind]++
		}
		fmt.Fprintf(w, "%-10s %d gone, %d new, %d changed\n", list.name, counts[topology.Gone], counts[topology.New], counts[topology.Altered])
		for i, c := range list.changes {
			if i == mostListed {
				fmt.Fprintf(w, "  and %d more\n", len(list.changes)-mostListed)
				break
			}
			fmt.Fprintf(w, "  %c %s\n", "-+~"[c.Kind], input.Printable(c.Text))
		}
	}
	if p := d.paths; p != nil {
		of := ""
		if p.Destinations < p.Of {
			of = fmt.Sprintf(" (to %d of %d hosts)", p.Destinations, p.Of)
		}
		fmt.Fprintf(w, "pairs      %d of hosts that both have%s: %d had a path, %d have one\n", p.Pairs, of, p.Before, p.After)
		fmt.Fprintf(w, "paths      %d the same, %d by other cables, %d shorter, %d longer\n", p.Same, p.Moved, p.Shorter, p.Longer)
		fmt.Fprintf(w, "hops       mean %.4g before, %.4g after; most %d before, %d after\n", p.HopsBefore, p.HopsAfter, p.MostBefore, p.MostAfter)
	}
}
