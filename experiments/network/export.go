package network

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// formats are the forms in which networks can be written.
func formats() map[string]func(io.Writer, *topology.Graph) error {
	all := map[string]func(io.Writer, *topology.Graph) error{"dot": topology.WriteDOT, "graphml": topology.WriteGraphML, "json": topology.WriteJSON}
	for _, f := range topology.Formats() {
		if f.Write != nil {
			all[f.Name] = f.Write
		}
	}
	return all
}

// Formats lists the names of the formats in alphabetical order, pictures last.
func Formats() []string {
	return append(slices.Sorted(maps.Keys(formats())), figures.PictureFormats...)
}

// Network is the network of an experiment file, or one read from elsewhere.
type Network struct {
	topology.Topology
	Warnings []string              // what was strange but could be read
	Loads    []results.ChannelLoad // of the channels out of switch ports, then of those out of terminals; nil: not known
	Faults   []string              // what is down when
	routed   *Spec                 // nil: without a routing
}

// Of builds the network of a point of a file: what its [topology] names, with the
// routing and the faults of a kind that has them.
func Of(f *experiments.File, p *experiments.Point) (*Network, error) {
	t, err := f.TopologyOf(p)
	if err != nil {
		return nil, err
	}
	n := &Network{Topology: t}
	n.doubt()
	if r, ok := p.Config().(routedConfig); ok {
		n.routed = r.Network(p.Seed)
	}
	if f, ok := p.Config().(faultyConfig); ok {
		var periods []topology.Period
		if periods, err = f.Faults().Periods(t.Graph()); err == nil {
			n.Faults = f.Faults().Describe(periods)
		}
	}
	return n, err
}

// Import reads a network from a file in a form that its content tells; see [topology.ReadFile].
func Import(path string) (*Network, error) {
	t, err := topology.ReadFile(path)
	if err != nil {
		return nil, err
	}
	n := &Network{Topology: t}
	if strange, ok := t.(interface{ Warnings() []string }); ok {
		n.Warnings = strange.Warnings()
	}
	n.doubt()
	return n, nil
}

// doubt warns of what of its file may have been meant in another way.
func (n *Network) doubt() {
	if d, ok := n.Topology.(topology.Doubtful); ok {
		n.Warnings = append(n.Warnings, d.Doubts()...)
	}
}

// Write writes the network in one of [Formats].
func (n *Network) Write(w io.Writer, format string) error {
	if slices.Contains(figures.PictureFormats, format) {
		return n.draw(w, format)
	}
	write := formats()[format]
	if write == nil {
		return fmt.Errorf("unknown format %q%s: known are %s", format, param.DidYouMean(format, Formats()), strings.Join(Formats(), ", "))
	}
	return write(w, n.Graph())
}

// draw writes a picture of the network, coloured by the load of its channels where that is known.
func (n *Network) draw(w io.Writer, format string) error {
	m := &plot.Network{Topology: n.Topology, Most: mostLinksDrawn}
	if g := n.Graph(); n.Loads != nil && len(n.Loads) != g.NumPorts()+g.Terminals() {
		return fmt.Errorf("%d channels were recorded, the network has %d", len(n.Loads), g.NumPorts()+g.Terminals())
	}
	for _, c := range n.Loads {
		m.Loads, m.Top = append(m.Loads, c.Load), max(m.Top, c.Load)
	}
	picture, how := m.Draw()
	if picture == nil {
		return errors.New(how)
	}
	drawn, err := picture.Render(format)
	if err == nil {
		_, err = w.Write(drawn)
	}
	return err
}

// mostLinksDrawn bounds a picture: beyond, it would be one colour.
const mostLinksDrawn = 200_000

// mostSteps bounds what finding the longest path may take.
const mostSteps = 2_000_000_000

// countDiameter measures the longest shortest path between switches with
// terminals, where that is a matter of a second.
func countDiameter(g *topology.Graph) string {
	if g.Switches() > 5000 {
		return "no closed form, too many switches to count"
	}
	counts := g.TerminalCounts()
	ends := lists.Filter(topology.Numbers[topology.SwitchID](len(counts)), func(s topology.SwitchID) bool { return counts[s] > 0 })
	if len(ends)*g.NumPorts() > mostSteps {
		return "no closed form, too many cables to count"
	}
	neighbors, longest := g.Neighbors(), int16(0)
	var distances []int16
	for _, s := range ends {
		distances = neighbors.DistancesFrom(s, distances)
		for _, t := range ends {
			longest = max(longest, distances[t])
		}
	}
	return fmt.Sprint(longest, " (counted)")
}

// Describe prints what there is, beside the closed forms of the family.
func (n *Network) Describe(w io.Writer) {
	g, facts := n.Graph(), n.Facts()
	known := func(n int) string {
		if n < 0 {
			return "no closed form"
		}
		return fmt.Sprint(n)
	}
	diameter := known(facts.Diameter)
	if facts.Diameter < 0 {
		diameter = countDiameter(g)
	}
	ports := make([]int, len(g.Classes))
	for p := range g.NumPorts() {
		ports[g.PortClass[p]]++
	}
	fmt.Fprintf(w, "switches   %d\nterminals  %d\nlinks      %d between switches\ndiameter   %s\nbisection  %s\n",
		g.Switches(), g.Terminals(), g.SwitchLinks(), diameter, known(facts.Bisection))
	if hosts := g.Hosts(); len(hosts) < g.Terminals() {
		rails := lists.Most(0, hosts, func(h []topology.TerminalID) int { return len(h) })
		fmt.Fprintf(w, "hosts      %d, of up to %d rails\n", len(hosts), rails)
	}
	if g.Names != nil && len(g.Names.Aggregation) > 0 {
		fmt.Fprintf(w, "no terminals  %d, aggregation nodes inside switches or routers\n", len(g.Names.Aggregation))
	}
	for i, class := range g.Classes {
		rate := ""
		if class.Rate != 0 {
			rate = ", " + class.Rate.String()
		}
		fmt.Fprintf(w, "class      %s: %d switch ports, latency %d cycles%s\n", input.Printable(class.Name), ports[i], max(class.Latency, 1), rate)
	}
	for _, line := range n.Faults {
		fmt.Fprintf(w, "faults     %s\n", line)
	}
}

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
	form, err := routing.RegisteredTables()
	if err != nil {
		return nil, err
	}
	o, err := n.routed.Open()
	if err != nil {
		return nil, err
	}
	tables, err := form.Of(o.Graph, o.Routing, o.VCs)
	if err != nil {
		return nil, document.At("routing.type", fmt.Errorf("= %q: %w", n.routed.routing.Type.Name(), err))
	}
	alone, err := tables.Alone(routing.Env{Topology: n.Topology})
	if err != nil {
		return nil, err
	}
	o = Opened(o.Graph, alone, 0)
	if c, err := CertifyWithin(o, certificateBudget, true); err == nil && !c.Acyclic {
		warnings = append(warnings, "on one virtual lane these tables can deadlock ("+strings.TrimPrefix(c.Text, "can deadlock: ")+"): the cluster needs service levels and SL2VL tables beside them"+c.Cycle)
	}
	return warnings, tables.Write(w)
}

// diffBudget is the number of pairs whose paths are compared before the comparison
// stops at a sample of the destinations: some seconds.
const diffBudget = 4_000_000

// Change is what has changed from one network to another.
type Change struct {
	changes *topology.Changes
	paths   *routing.PathChanges // nil: no routes were given
}

// Diff finds what has changed from n to later. Routes are compared where both have them: by tables,
// the names of two files of forwarding tables, or else by algorithm, the name of a routing with its
// defaults, or else by the routings of two experiment files.
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
	form, err := routing.RegisteredTables()
	if err != nil {
		return routing.Routed{}, err
	}
	in, err := input.OpenInput(path, input.MaxInput)
	if err != nil {
		return routing.Routed{}, fmt.Errorf("%s: cannot be read: %w", path, err)
	}
	defer in.Close()
	tables, err := form.Read(in, path, n.Graph())
	if err != nil {
		return routing.Routed{}, err
	}
	return routing.Routed{Graph: n.Graph(), Routing: tables, VCs: 1}, nil
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
