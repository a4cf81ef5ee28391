package routing

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// NCAConfig holds the settings of routing "nca".
type NCAConfig struct {
	Up   string `toml:"up" doc:"choice of the port up: random, the least loaded one, or hashed by the destination" choices:"random|least-loaded|hashed"`
	Down string `toml:"down" doc:"choice between parallel cables down: random, or hashed by the destination" choices:"random|hashed"`
}

func init() {
	Register("nca", "nearest common ancestor on trees: up by any port, down by the only way", Use{On: Levels, Faults: true}, NCAConfig{"random", "random"}, newNCA)
}

// nca is nearest-common-ancestor routing on fat trees (Leiserson 1985; Dally and Towles 2004,
// section 9.2.2): up until the destination lies below, then down. All ports up serve equally: in an
// XGFT all ancestors of a switch at a level have the same terminals below. The least loaded port
// has the fewest flits that wait in this switch or are sent and not yet credited, ties at random.
// Hashed ports give each (source switch, destination) one path, on which packets keep their order.
//
// Deadlock: no packet goes up after it has gone down, channels up are taken in the order of their
// levels and channels down in the opposite order: one virtual channel suffices, and all are used.
//
// Faults: see ncaAround.
//
// Memory: 4 bytes for each (switch above the leaves, leaf), but once for all switches with the same
// ports down; a tree has few kinds.
type nca struct {
	graph *topology.Graph
	home  []int32   // len = terminals: number of its leaf
	nodes []ncaNode // len = switches
	down  []descent
	ncaChoice
}

// ncaChoice is how nca chooses among ports down (0) and up (1).
type ncaChoice struct{ ties [2]ties }

type ncaNode struct {
	port0 topology.PortID
	leaf  int32 // its number, -1 for switches without terminals
	row   int32 // first entry in down, -1 for switches with nothing but terminals below
	up    descent
}

// descent is the range of local ports in down by which a switch reaches a leaf; count 0: it does
// not.
type descent struct{ first, count uint16 }

// maxDescents bounds the table of ports down to 512 MiB.
const maxDescents = 1 << 27

func newNCA(config NCAConfig, env Env) (fabric.Routing, error) {
	tree := env.Topology.(topology.Tree)
	choice := ncaChoice{[2]ties{tiesByName[config.Down], tiesByName[config.Up]}}
	if env.Down != nil {
		return newNCAAround(choice, tree, env)
	}
	g := env.Topology.Graph()
	r := &nca{graph: g, ncaChoice: choice}
	leaf, sample := numberLeaves(g)
	for t := range g.Terminals() {
		r.home = append(r.home, leaf[g.TerminalSwitch(topology.TerminalID(t))])
	}
	rows := map[string]int32{}
	for i := range g.Switches() {
		s := topology.SwitchID(i)
		first, end := tree.UpPorts(s)
		port0, _ := g.Ports(s)
		n := ncaNode{port0: port0, leaf: leaf[s], up: descent{uint16(first - port0), uint16(end - first)}}
		var err error
		if n.row, err = r.addDescents(tree, s, n, sample, rows); err != nil {
			return nil, err
		}
		r.nodes = append(r.nodes, n)
	}
	return r, CheckVCs("nca", r.VCs(), env)
}

// numberLeaves numbers the switches with terminals from 0 (else -1) and gives a terminal of each.
func numberLeaves(g *topology.Graph) (leaf []int32, sample []topology.TerminalID) {
	leaf = slices.Repeat([]int32{-1}, g.Switches())
	for t := range g.Terminals() {
		id := topology.TerminalID(t)
		if s := g.TerminalSwitch(id); leaf[s] < 0 {
			leaf[s] = int32(len(sample))
			sample = append(sample, id)
		}
	}
	return leaf, sample
}

// addDescents finds or adds the row of switch s in the table of ports down. rows finds rows by
// their content.
func (r *nca) addDescents(tree topology.Tree, s topology.SwitchID, n ncaNode, sample []topology.TerminalID, rows map[string]int32) (row int32, err error) {
	start := len(r.down)
	if start+len(sample) > maxDescents {
		return 0, fmt.Errorf("routing \"nca\" needs a table of more than %d ports down", maxDescents)
	}
	key := make([]byte, 0, 4*len(sample))
	found, above := 0, 0 // leaves below s, and s itself
	for leaf, t := range sample {
		d := descent{}
		if int32(leaf) == n.leaf {
			above = 1
		} else if port, count := tree.DownTo(s, t); port != topology.NoPort {
			d = descent{uint16(port - n.port0), uint16(count)}
			found++
		}
		r.down = append(r.down, d)
		key = append(key, byte(d.first), byte(d.first>>8), byte(d.count), byte(d.count>>8))
	}
	if n.up.count == 0 && found+above < len(sample) {
		return 0, fmt.Errorf("routing \"nca\" needs every terminal below every top switch; %s does not have all", r.graph.SwitchName(s))
	}
	row, known := rows[string(key)]
	switch {
	case found == 0:
		row = -1
	case !known:
		row = int32(start)
		rows[string(key)] = row
		return row, nil
	}
	r.down = r.down[:start]
	return row, nil
}

func (*ncaChoice) VCs() int { return 1 }

func (*ncaChoice) InjectionVCs(vcs int) uint32 { return allVCs(vcs) }

func (c *ncaChoice) IgnoresTerminals() bool { return !slices.Contains(c.ties[:], tiesHashed) }

func (c *ncaChoice) Needs() fabric.Needs { return fabric.Needs{Queues: c.ties[1] == tiesLeastLoaded} }

func (r *nca) IdleSettings() (idle []param.IdleSetting) {
	if !slices.ContainsFunc(r.nodes, func(n ncaNode) bool { return n.up.count > 1 }) {
		idle = append(idle, param.IdleSetting{Key: "up", Because: "one port at most of a switch leads up"})
	}
	if !slices.ContainsFunc(r.down, func(d descent) bool { return d.count > 1 }) {
		idle = append(idle, param.IdleSetting{Key: "down", Because: "one cable at most leads down from a switch to a leaf"})
	}
	return idle
}

// choices is the range of ports that serve h equally, all up (1) or all down (0).
func (r *nca) choices(h *fabric.Head) (first topology.PortID, count, up uint32) {
	n, home := &r.nodes[h.Switch], r.home[h.Dst]
	if home == n.leaf {
		return r.graph.TerminalPort[h.Dst], 1, 0
	}
	d := n.up
	up = 1
	if n.row >= 0 {
		if below := r.down[n.row+home]; below.count > 0 { // a conditional move: nothing predicts it
			d, up = below, 0
		}
	}
	return n.port0 + topology.PortID(d.first), uint32(d.count), up
}

func (r *nca) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	first, count, up := r.choices(h)
	choice := 0
	switch t := r.ties[up&1]; {
	case count == 1:
	case t == tiesHashed:
		choice = hash(h, uint32(h.Dst), int(count))
	case t == tiesLeastLoaded:
		return fabric.Hop{Port: leastLoaded(v, first, int(count), v.Random(h.Switch)), VCs: v.AllVCs()}
	default:
		choice = v.Random(h.Switch).IntN(int(count))
	}
	return fabric.Hop{Port: first + topology.PortID(choice), VCs: v.AllVCs()}
}

// leastLoaded is the port with the fewest flits waiting for it or on their way behind it, searched
// from a random port, to spread ties.
func leastLoaded(v *fabric.View, first topology.PortID, count int, random *sim.Stream) topology.PortID {
	end := first + topology.PortID(count)
	p := first + topology.PortID(random.IntN(count))
	best, least := p, int32(math.MaxInt32)
	loads := v.LoadPorts(first, count)
	for range count {
		if load := loads[p-first]; load < least {
			best, least = p, load
		}
		if p++; p == end {
			p = first
		}
	}
	return best
}

func (r *nca) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	first, count, up := r.choices(&h)
	if count > 1 && r.ties[up] == tiesHashed {
		yield(fabric.Hop{Port: first + topology.PortID(hash(&h, uint32(h.Dst), int(count))), VCs: allVCs(vcs)}, h.State, 1)
		return
	}
	weight := 1 / float64(count)
	if count > 1 && r.ties[up].adaptive() {
		weight = 0
	}
	for i := range count {
		yield(fabric.Hop{Port: first + topology.PortID(i), VCs: allVCs(vcs)}, h.State, weight)
	}
}

func (r *nca) Graph() *topology.Graph { return r.graph }

// ncaAround is nca in a tree with faults: down where a way down to the destination is left,
// otherwise up by a port of a shortest way up and down that is left; among several, as nca chooses.
// Whole subtrees of ports up drop out for destinations that cannot be reached by them.
//
// Deadlock: as nca, also where tables change under way: a packet that has come down never climbs
// again; it is discarded where its way down is gone.
//
// Pairs that only a way with a second climb joins are refused; "table" has it.
type ncaAround struct {
	*ranking // the root's level first
	ncaChoice
}

func newNCAAround(choice ncaChoice, tree topology.Tree, env Env) (fabric.Routing, error) {
	g := env.Topology.Graph()
	sets, _, err := newPortSets("nca", g)
	if err != nil {
		return nil, err
	}
	r := &ncaAround{&ranking{portSets: sets}, choice}
	for s := range g.Switches() {
		r.rank = append(r.rank, -int32(tree.LevelOf(topology.SwitchID(s))))
	}
	if err := r.join(env.Down); err != nil {
		return nil, err
	}
	return r, CheckVCs("nca", r.VCs(), env)
}

// join finds the ways, and refuses faults that leave two leaves joined only by ways that climb
// twice.
func (r *ncaAround) join(down *topology.Down) error {
	part := down.Components()
	w := r.search(down)
	apart := [2]topology.SwitchID{-1, -1}
	w.run(func(node int, leaf topology.SwitchID) error { // never an error
		from := topology.SwitchID(node)
		if node < len(r.rank) && r.leaf[from] >= 0 && part[from] >= 0 && part[from] == part[leaf] &&
			(apart[0] < 0 || r.leaf[from] < r.leaf[apart[0]]) {
			apart = [2]topology.SwitchID{from, leaf}
		}
		return nil
	})
	if apart[0] < 0 {
		return nil
	}
	return fmt.Errorf("routing \"nca\" has no way up and down from %s to %s around faults (%s); routing \"table\" finds every path",
		r.graph.SwitchName(apart[0]), r.graph.SwitchName(apart[1]), r.down.Describe())
}

// choices lists the ports that serve h, all up or all down, and their rule; none if h is to be
// discarded.
func (r *ncaAround) choices(h *fabric.Head) (ports []uint16, t ties) {
	ports = r.ways(h)
	if len(ports) == 0 {
		return nil, 0
	}
	peer, _ := r.graph.PeerPort(r.graph.PortStart[h.Switch] + topology.PortID(ports[0]))
	if r.climbs(h.Switch, r.graph.PortSwitch[peer]) {
		return ports, r.ties[1]
	}
	return ports, r.ties[0]
}

func (r *ncaAround) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	ports, t := r.choices(h)
	if len(ports) == 0 {
		return r.last(h, v.VCs())
	}
	return fabric.Hop{Port: r.choose(t, v, h, ports, uint32(h.Dst)), VCs: v.AllVCs()}
}

func (r *ncaAround) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	ports, t := r.choices(&h)
	if len(ports) == 1 && t == tiesLeastLoaded {
		t = tiesOne // nothing to compare
	}
	r.explore(t, h, ports, uint32(h.Dst), 1, vcs, anyVC, yield)
}
