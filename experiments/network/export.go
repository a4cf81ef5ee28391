package network

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/ib"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// formats are the forms in which networks can be written.
var formats = map[string]func(io.Writer, *topology.Graph) error{
	"dot":     topology.WriteDOT,
	"graphml": topology.WriteGraphML,
	"json":    topology.WriteJSON,

	"ibnetdiscover": ib.WriteNetDiscover,
	"ibsim":         ib.WriteSim,
}

// Formats lists the names of the formats in alphabetical order, pictures last.
func Formats() []string {
	return append(slices.Sorted(maps.Keys(formats)), experiments.PictureFormats...)
}

// Network is the network of an experiment file, or one read from elsewhere.
type Network struct {
	topology.Topology
	Warnings []string                  // what was strange but could be read
	Loads    []experiments.ChannelLoad // of the channels out of switch ports, then of those out of terminals; nil: not known
	faults   []string                  // what is down when
	routed   *Spec                     // nil: without a routing
}

// Of builds the network of a point of a file: what its [topology] names, with the
// routing and the faults of a kind that has them.
func Of(f *experiments.File, p *experiments.Point) (*Network, error) {
	t, err := f.TopologyOf(p)
	if err != nil {
		return nil, err
	}
	n := &Network{Topology: t}
	if r, ok := p.Config().(routedConfig); ok {
		n.routed = r.Network(p.Seed)
	}
	if f, ok := p.Config().(faultyConfig); ok {
		var periods []topology.Period
		if periods, err = f.Faults().Periods(t.Graph()); err == nil {
			n.faults = f.Faults().Describe(periods)
		}
	}
	return n, err
}

// Import reads a network from a file in weft's JSON form, of
// ibnetdiscover or of ibsim, told apart by their content.
func Import(path string) (*Network, error) {
	t, err := ib.ReadFile(path, "")
	if err != nil {
		return nil, err
	}
	n := &Network{Topology: t}
	if strange, ok := t.(interface{ Warnings() []string }); ok {
		n.Warnings = strange.Warnings()
	}
	return n, nil
}

// Write writes the network in one of [Formats].
func (n *Network) Write(w io.Writer, format string) error {
	if slices.Contains(experiments.PictureFormats, format) {
		return n.draw(w, format)
	}
	write := formats[format]
	if write == nil {
		return fmt.Errorf("unknown format %q%s: known are %s", format, param.DidYouMean(format, Formats()), strings.Join(Formats(), ", "))
	}
	return write(w, n.Graph())
}

// draw writes a picture of the network, coloured by the load of its channels where
// that is known.
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

// countDiameter measures the longest shortest path between switches with
// terminals, where that is a matter of a second.
func countDiameter(g *topology.Graph) string {
	if g.Switches() > 5000 {
		return "no closed form, too many switches to count"
	}
	var ends []topology.SwitchID
	seen := make([]bool, g.Switches())
	for _, port := range g.TerminalPort {
		if s := g.PortSwitch[port]; !seen[s] {
			seen[s] = true
			ends = append(ends, s)
		}
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
		rails := 0
		for _, h := range hosts {
			rails = max(rails, len(h))
		}
		fmt.Fprintf(w, "hosts      %d, of up to %d rails\n", len(hosts), rails)
	}
	if g.Names != nil && len(g.Names.Aggregation) > 0 {
		fmt.Fprintf(w, "aggregation nodes  %d, inside switches, no terminals\n", len(g.Names.Aggregation))
	}
	for i, class := range g.Classes {
		rate := ""
		if class.Rate != 0 {
			rate = ", " + class.Rate.String()
		}
		fmt.Fprintf(w, "class      %s: %d switch ports, latency %d cycles%s\n", input.Printable(class.Name), ports[i], max(class.Latency, 1), rate)
	}
	for _, line := range n.faults {
		fmt.Fprintf(w, "faults     %s\n", line)
	}
}
