package routing

import (
	"fmt"
	"math"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// NCAConfig holds the settings of routing "nca".
type NCAConfig struct {
	Up   string `toml:"up" doc:"choice of the port up: random, the least loaded one, or hashed by the destination" choices:"random|least-loaded|hashed"`
	Down string `toml:"down" doc:"choice between parallel cables down: random, or hashed by the destination" choices:"random|hashed"`
}

func init() {
	sim.Register(Registry, "nca", "nearest common ancestor on trees: up by any port, down by the only way", NCAConfig{"random", "random"}, newNCA)
}

// nca is nearest-common-ancestor routing on fat trees (Leiserson 1985; Dally
// and Towles 2004, section 9.2.2): up until the destination lies below, then
// down. All ports up serve equally, since every ancestor of a switch at one
// level has the same terminals below in an XGFT; one is chosen at each switch
//   - at random, for each packet ("random"),
//   - by load ("least-loaded"): fewest flits waiting in this switch for the
//     port, sent and not yet credited; ties at random,
//   - by a hash of the destination ("hashed"): one path for each pair of source
//     switch and destination, which packets cannot overtake on.
//
// Deadlock: no packet goes up after it has gone down, channels up are taken in
// the order of their levels and channels down in the opposite order: one
// virtual channel suffices, and all are used.
//
// Faults: see ncaAround.
//
// Memory: 8 bytes for each (switch above the leaves, leaf).
type nca struct {
	graph *topology.Graph
	home  []topology.SwitchID // len = terminals
	leaf  []int32             // len = switches: number of the leaf, -1 for switches without terminals
	up    [][2]topology.PortID
	row   []int32 // len = switches: first entry in down, -1 for switches with nothing but terminals below
	down  []descent
	NCAConfig
}

// descent is how a switch reaches a leaf below it; count 0: it does not.
type descent struct {
	first topology.PortID
	count int32
}

// maxDescents bounds the table of ports down to 1 GiB.
const maxDescents = 1 << 27

func newNCA(config NCAConfig, env Env) (fabric.Routing, error) {
	tree, ok := env.Topology.(topology.Tree)
	if !ok {
		return nil, lacks("nca", "levels", env)
	}
	if env.Down != nil {
		return newNCAAround(config, tree, env)
	}
	g := env.Topology.Graph()
	r := &nca{graph: g, home: homes(g), NCAConfig: config}
	var sample []topology.TerminalID // a terminal of each leaf
	r.leaf, sample = numberLeaves(g)
	for i := range g.Switches() {
		s := topology.SwitchID(i)
		first, end := tree.UpPorts(s)
		r.up = append(r.up, [2]topology.PortID{first, end})
		if err := r.addDescents(tree, s, sample); err != nil {
			return nil, err
		}
	}
	return r, checkVCs("nca", r.VCs(), env)
}

// numberLeaves numbers the switches with terminals from 0 (-1: no terminals)
// and gives a terminal of each.
func numberLeaves(g *topology.Graph) (leaf []int32, sample []topology.TerminalID) {
	leaf = make([]int32, g.Switches())
	for s := range leaf {
		leaf[s] = -1
	}
	for t := range g.Terminals() {
		id := topology.TerminalID(t)
		if s := g.TerminalSwitch(id); leaf[s] < 0 {
			leaf[s] = int32(len(sample))
			sample = append(sample, id)
		}
	}
	return leaf, sample
}

// addDescents fills the row of switch s in the table of ports down.
func (r *nca) addDescents(tree topology.Tree, s topology.SwitchID, sample []topology.TerminalID) error {
	row, found := len(r.down), 0
	if row+len(sample) > maxDescents {
		return fmt.Errorf("routing \"nca\" needs a table of %d switches by %d leaves; it may have %d entries", len(r.leaf), len(sample), maxDescents)
	}
	for _, t := range sample {
		d := descent{topology.NoPort, 0}
		if r.home[t] != s {
			port, count := tree.DownTo(s, t)
			if port != topology.NoPort {
				d = descent{port, int32(count)}
				found++
			}
		}
		r.down = append(r.down, d)
	}
	if r.up[s][0] == r.up[s][1] && found+min(1, int(r.leaf[s])+1) < len(sample) {
		return fmt.Errorf("routing \"nca\" needs every terminal below every top switch; %s does not have all", r.graph.SwitchName(s))
	}
	if found == 0 {
		r.down = r.down[:row]
		row = -1
	}
	r.row = append(r.row, int32(row))
	return nil
}

func (r *nca) VCs() int { return 1 }

func (r *nca) InjectionVCs(vcs int) uint32 { return allVCs(vcs) }

func (r *nca) IgnoresTerminals() bool { return r.Up != "hashed" && r.Down != "hashed" }

func (r *nca) ReadsOccupancy() bool { return r.Up == "least-loaded" }

// choices is the range of ports that serve h equally, all up or all down.
func (r *nca) choices(h *fabric.Head) (first topology.PortID, count int, up bool) {
	home := r.home[h.Dst]
	if home == h.Switch {
		return r.graph.TerminalPort[h.Dst], 1, false
	}
	if row := r.row[h.Switch]; row >= 0 {
		if d := r.down[row+r.leaf[home]]; d.count > 0 {
			return d.first, int(d.count), false
		}
	}
	ports := r.up[h.Switch]
	return ports[0], int(ports[1] - ports[0]), true
}

func (r *nca) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	first, count, up := r.choices(h)
	if up && r.Up == "least-loaded" {
		return fabric.Hop{Port: leastLoaded(v, first, count, v.Random(h.Switch)), VCs: allVCs(v.VCs())}
	}
	return r.obliviously(h, v.VCs(), first, count, up, v.Random(h.Switch))
}

// leastLoaded is the port with the fewest flits that wait for it or are on
// their way behind it; it starts at random, so that ties are spread.
func leastLoaded(v *fabric.View, first topology.PortID, count int, random *sim.Stream) topology.PortID {
	end := first + topology.PortID(count)
	p := first + topology.PortID(random.IntN(count))
	best, least := p, math.MaxInt
	for range count {
		if load := v.WaitingAll(p) + v.OutstandingAll(p); load < least {
			best, least = p, load
		}
		if p++; p == end {
			p = first
		}
	}
	return best
}

// hashes tells whether the choice of a port in this direction is made by hash.
func (c *NCAConfig) hashes(up bool) bool {
	return up && c.Up == "hashed" || !up && c.Down == "hashed"
}

func (r *nca) obliviously(h *fabric.Head, vcs int, first topology.PortID, count int, up bool, random *sim.Stream) fabric.Hop {
	choice := 0
	switch {
	case count == 1:
	case r.hashes(up):
		choice = hashedChoice(h, count)
	default:
		choice = random.IntN(count)
	}
	return fabric.Hop{Port: first + topology.PortID(choice), VCs: allVCs(vcs)}
}

// hashedChoice chooses one of so many by destination and switch.
func hashedChoice(h *fabric.Head, count int) int {
	return spread(uint32(h.Dst)+uint32(h.Switch)*0x9e3779b1, count)
}

func (r *nca) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	first, count, up := r.choices(&h)
	if count > 1 && r.hashes(up) {
		yield(fabric.Hop{Port: first + topology.PortID(hashedChoice(&h, count)), VCs: allVCs(vcs)}, h.State, 1)
		return
	}
	weight := 1 / float64(count)
	if up && count > 1 && r.Up == "least-loaded" {
		weight = 0
	}
	for i := range count {
		yield(fabric.Hop{Port: first + topology.PortID(i), VCs: allVCs(vcs)}, h.State, weight)
	}
}
