package experiments

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/netmap"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/ib"
	"github.com/weft-sim/weft/sim/input"
)

// topologyFormats are the forms in which networks can be written.
var topologyFormats = map[string]func(io.Writer, *topology.Graph) error{
	"dot":     topology.WriteDOT,
	"graphml": topology.WriteGraphML,
	"json":    topology.WriteJSON,

	"ibnetdiscover": ib.WriteNetDiscover,
	"ibsim":         ib.WriteSim,
}

// TopologyFormats lists the names of the formats in alphabetical order, pictures last.
func TopologyFormats() []string { return append(sortedKeys(topologyFormats), PictureFormats...) }

// Network is the network of an experiment file, or one read from elsewhere.
type Network struct {
	topology.Topology
	Warnings []string      // what was strange but could be read
	Loads    []ChannelLoad // of the channels out of switch ports, then of those out of terminals; nil: not known
	eras     []topology.Era
	routed   *network // nil: without a routing
}

// Network builds the network of a file's first point.
func (f *File) Network() (*Network, error) { return f.NetworkOf(f.Points[0]) }

// NetworkOf builds the network of a point.
func (f *File) NetworkOf(p *Point) (*Network, error) {
	for _, table := range fieldsOf(reflect.ValueOf(p.config).Elem()).list {
		if table.value.Kind() != reflect.Struct {
			continue
		}
		for _, setting := range fieldsOf(table.value).list {
			if c, ok := setting.value.Addr().Interface().(*Choice[struct{}, topology.Topology]); ok {
				t, err := c.BuildShared(struct{}{})
				if err != nil {
					return nil, err
				}
				n := &Network{Topology: t}
				if r, ok := p.config.(routedConfig); ok {
					n.routed = r.network(p.Seed)
				}
				if f, ok := p.config.(interface{ failures() *failures }); ok {
					n.eras, err = f.failures().eras(t.Graph())
				}
				return n, err
			}
		}
	}
	return nil, fmt.Errorf("%s: experiments of kind %q have no topology", f.Name, f.kind.name)
}

// ImportNetwork reads a network from a file in weft's JSON form, of
// ibnetdiscover or of ibsim, told apart by their content.
func ImportNetwork(path string) (*Network, error) {
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

// Write writes the network in one of [TopologyFormats].
func (n *Network) Write(w io.Writer, format string) error {
	if slices.Contains(PictureFormats, format) {
		return n.draw(w, format)
	}
	write := topologyFormats[format]
	if write == nil {
		return fmt.Errorf("unknown format %q%s: known are %s", format, didYouMean(format, TopologyFormats()), strings.Join(TopologyFormats(), ", "))
	}
	return write(w, n.Graph())
}

// draw writes a picture of the network, coloured by the load of its channels where
// that is known.
func (n *Network) draw(w io.Writer, format string) error {
	m := &netmap.Map{Topology: n.Topology, Most: mostLinksDrawn}
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
	for _, era := range n.eras {
		fmt.Fprintf(w, "faults     %s\n", describeEra(era))
	}
}
