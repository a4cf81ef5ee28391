package opensm

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/certify"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// randomNetwork has switches with unlike numbers of hosts, parallel cables, random
// GUIDs, and parts without a cable between them now and then.
func randomNetwork(r *sim.Stream) *topology.Graph {
	switches := 1 + r.IntN(14)
	b := topology.NewBuilder(switches, topology.Class{Name: "terminal", Latency: 1}, topology.Class{Name: "cable", Latency: 1})
	for s := range switches {
		for range r.IntN(4) {
			b.AddTerminal(topology.SwitchID(s), 0)
		}
	}
	b.AddTerminal(0, 0)
	for s := 1; s < switches; s++ {
		if r.IntN(20) > 0 {
			b.AddLink(topology.SwitchID(s), topology.SwitchID(r.IntN(s)), 1)
		}
	}
	if switches > 1 {
		for range r.IntN(2 * switches) {
			if a, c := r.IntN(switches), r.IntN(switches); a != c {
				b.AddLink(topology.SwitchID(a), topology.SwitchID(c), 1)
			}
		}
	}
	g := b.Freeze()
	names := &topology.Names{}
	for range switches {
		names.Switches = append(names.Switches, topology.SwitchName{GUID: topology.GUID(r.Uint64() >> 1)})
	}
	g.Names = names
	return g
}

// randomOptions are settings of all engines.
func randomOptions(r *sim.Stream, s *Subnet) *Options {
	o := DefaultOptions()
	o.ConnectRoots, o.PortShifting, o.ProfileSwitch, o.QoS = r.IntN(2) == 0, r.IntN(3) == 0, r.IntN(3) == 0, r.IntN(2) == 0
	o.OperationalVLs = []int{1, 2, 4, 8, 15}[r.IntN(5)]
	o.NueMaxVLs, o.LashStartVL = r.IntN(9), r.IntN(2)
	if r.IntN(3) == 0 {
		o.ScatterPorts = uint32(1 + r.IntN(9))
	}
	if r.IntN(2) == 0 {
		o.HasRoots = true
		for range r.IntN(3) {
			o.Roots = append(o.Roots, uint64(s.guid(int32(r.IntN(len(s.Switches))))))
		}
	}
	if r.IntN(3) == 0 {
		o.HasNodes = true
		for t, x := range s.Names.Terminals {
			if t%2 == 0 {
				o.ComputeNodes, o.Order = append(o.ComputeNodes, uint64(x.PortGUID)), append(o.Order, uint64(x.PortGUID))
			}
		}
	}
	return &o
}

// TestRandomNetworks: no engine panics on any network; its tables name ports that are
// there and lead no packet round in a circle; all pairs that cables join are served by
// the engines that know no forbidden turns. Layers have no cycle where the engine promises it,
// nor do nue's on these networks (TestNueCanDeadlock has one where they do).
func TestRandomNetworks(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	r := sim.NewStream(3, "opensm", 0)
	routed := map[string]int{}
	for round := range rounds {
		g := randomNetwork(&r)
		s := newSubnet(t, g, topology.TerminalID(r.IntN(g.Terminals())), r.IntN(3))
		o := randomOptions(&r, s)
		for _, e := range engines {
			name := e.Name
			tables, err := e.Route(s, o)
			if refused := (*Refusal)(nil); err != nil && (errors.As(err, &refused) || name == "torus-2QoS") {
				continue
			}
			simtest.FatalIf(t, err != nil, "round %d, %s: %v", round, name, err)
			routed[name]++
			problem := checkTables(tables, e.Acyclic || name == "nue")
			simtest.ErrorIf(t, problem != "", "round %d, %s: %s", round, name, problem)
		}
	}
	for _, name := range Engines() {
		simtest.ErrorIf(t, routed[name] < rounds/20 && name != "torus-2QoS" && name != "ftree",
			"%s routed %d of %d networks", name, routed[name], rounds)
	}
}

// checkTables says what is wrong.
func checkTables(t *Tables, acyclic bool) string {
	s := t.Subnet
	distance, err := s.distances()
	if err != nil {
		return err.Error()
	}
	n := len(s.Switches)
	for from := range s.nodes() {
		for lid, port := range t.LFT[from] {
			if port == noPath {
				continue
			}
			e := s.Ends[lid]
			if e.Node < 0 {
				return fmt.Sprintf("an entry for LID %d, which nobody has", lid)
			}
			if _, ok := t.Path(from, lid, nil); !ok {
				return fmt.Sprintf("LID %d is not reached from switch %d", lid, from)
			}
		}
		for lid, e := range s.Ends {
			restricted := t.Engine == "updn" || t.Engine == "ftree" || t.Engine == "dnup"
			if e.Node >= 0 && !restricted && distance[int(e.Node)*n+int(from)] != noPath && t.LFT[from][lid] == noPath {
				return fmt.Sprintf("no entry for LID %d in switch %d", lid, from)
			}
		}
	}
	if !acyclic {
		return ""
	}
	c := certify.New(t.VCs())
	t.Dependencies(c.Add)
	if proof := c.Certify(1, 1); !proof.Acyclic() {
		return proof.Describe(s.Graph)
	}
	return ""
}

// TestOrdered holds the order of channels to a plain search for cycles, on random
// dependencies that come and go.
func TestOrdered(t *testing.T) {
	r := sim.NewStream(5, "ordered", 0)
	for range 60 {
		s := newSubnet(t, randomNetwork(&r), 0, 0)
		if len(s.Links) < 4 {
			continue
		}
		g := newOrdered(&newLASH(s, lashSwitches(s)).channels)
		var in []dependency
		for range 200 {
			c := int32(r.IntN(len(g.peer)))
			next := g.peer[c]
			d := g.start[next] + int32(r.IntN(int(g.start[next+1]-g.start[next])))
			want := !plainReaches(in, d, c)
			got := g.add(c, d)
			simtest.FatalIf(t, got != want, "%d on %d: added %t, a plain search says %t", d, c, got, want)
			if want {
				in = append(in, dependency{c, d})
			}
			if len(in) > 0 && r.IntN(4) == 0 {
				i := r.IntN(len(in))
				g.uses[g.at(in[i].from, in[i].to)]--
				in = append(in[:i], in[i+1:]...)
			}
		}
	}
}

// dependency is one of channel to on channel from.
type dependency struct{ from, to int32 }

// plainReaches tells whether dependencies lead from one channel to another.
func plainReaches(list []dependency, from, to int32) bool {
	seen := map[int32]bool{from: true}
	for grown := true; grown; {
		grown = false
		for _, d := range list {
			if seen[d.from] && !seen[d.to] {
				seen[d.to], grown = true, true
			}
		}
	}
	return seen[to]
}
