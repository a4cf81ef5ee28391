package routing

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// PathSettings are the settings of routings by tables of paths, which work on any graph.
type PathSettings struct {
	Ties      string `toml:"ties" doc:"choice between several next hops: one, the same for all packets to a switch; hashed by source and destination, where there is a detour by its intermediate and the destination; random at each switch; or least-occupied, fewest credits outstanding at each switch" choices:"one|hashed|random|least-occupied"`
	NextHops  string `toml:"next_hops" doc:"file of the paths, instead of shortest ones: in row r, column d the switch that comes after r on the way to d; relative to the experiment file" file:"read"`
	HopVCs    string `toml:"hop_vcs" doc:"virtual channels of a hop: numbered, those of its number along the path, or of the path's turns where switches have ranks; or any of them, which can deadlock" choices:"numbered|any" deadlocks:"any"`
	SpreadVCs bool   `toml:"spread_vcs" doc:"divide all virtual channels evenly between the hop classes, where there are more of them than classes; otherwise each class uses one"`
}

func defaultPaths(ties string, spread bool) PathSettings {
	return PathSettings{Ties: ties, HopVCs: "numbered", SpreadVCs: spread}
}

// hopPaths is a table of paths between the leaves (switches with terminals) of any graph: shortest
// paths, or a file's. Routings decide what packets carry.
//
// Memory: portSets, and 1 byte for each (switch, leaf) where lengths are kept.
type hopPaths struct {
	portSets
	PathSettings
	ties   ties
	hops   int     // of the longest path between leaves
	length []uint8 // len = switches*leaves: hops of the path; nil if not kept
	sets   classSets
	// classes is the number of virtual channels that hops need: the hops of the longest path, at
	// least 1.
	classes int
	counted uint32 // 1: hops are numbered; 0: they use any virtual channel
	turns   *turns // classes go by turns, not by hops; nil: by hops
}

// maxLength bounds the lengths of paths that are kept.
const maxLength = math.MaxUint8

// newHopPaths makes the tables of routing name, with the lengths of paths (hops between switches)
// if asked.
func newHopPaths(name string, set PathSettings, env Env, lengths bool) (*hopPaths, error) {
	if set.NextHops != "" && env.Down != nil {
		return nil, &param.ParamError{Key: "next_hops", Value: set.NextHops, Want: "no file in a network with faults: its paths do not go around them"}
	}
	key := fmt.Sprintf("%s paths %v %v %q", name, set.Ties == "one", lengths, set.NextHops)
	made, err := Once(env, key, func() (*hopPaths, error) {
		sets, sample, err := newPortSets(name, env.Topology.Graph())
		if err != nil {
			return nil, err
		}
		sets.down = env.Down
		p := &hopPaths{portSets: *sets, PathSettings: set, ties: tiesByName[set.Ties]}
		if set.NextHops != "" {
			return p, p.follow(sample, lengths)
		}
		return p, p.shortest(name, lengths)
	})
	if err != nil {
		return nil, err
	}
	p := *made // the tables are shared, what is said of virtual channels is not
	p.PathSettings, p.ties = set, tiesByName[set.Ties]
	p.need(p.hops)
	return &p, nil
}

func (p *hopPaths) need(hops int) {
	p.classes, p.counted = 1, 0
	if p.HopVCs == "numbered" {
		p.classes, p.counted = max(1, hops), 1
	}
	p.assign()
}

// assign divides the virtual channels between the classes.
func (p *hopPaths) assign() {
	p.sets.assign(p.classes, p.SpreadVCs)
	for vcs := range p.sets {
		for class := range p.sets[vcs] {
			if p.counted == 0 {
				p.sets[vcs][class] = allVCs(vcs)
			}
		}
	}
}

func (p *hopPaths) UnusedSettings() []string {
	if p.counted == 0 {
		return []string{"spread_vcs"}
	}
	return nil
}

func (p *hopPaths) IdleSettings() []param.IdleSetting {
	if sets := len(p.start) - 2; p.ties == tiesOne || p.ties.adaptive() || len(p.local) > sets { // beside the empty set
		return nil
	}
	return []param.IdleSetting{{Key: "ties", Because: "packets have one way on at most from each switch"}}
}

func (p *hopPaths) VCs() int { return p.classes }

func (p *hopPaths) InjectionVCs(vcs int) uint32 { return allVCs(vcs) }

func (p *hopPaths) IgnoresTerminals() bool { return p.ties != tiesHashed }

// shortest fills the table with the ports that lead nearer to each leaf.
func (p *hopPaths) shortest(name string, lengths bool) error {
	w := newWidely(&p.portSets)
	w.one = p.ties == tiesOne
	w.along(p.down)
	if lengths {
		p.length = make([]uint8, p.graph.Switches()*p.leaves)
	}
	longest := 0
	w.reached = func(_ int, s topology.SwitchID, base int, fresh uint64, hops int) {
		longest = max(longest, hops)
		if p.leaf[s] >= 0 {
			p.hops = max(p.hops, hops)
		}
		if lengths {
			for ; fresh != 0; fresh &= fresh - 1 {
				p.length[int(s)*p.leaves+base+bits.TrailingZeros64(fresh)] = uint8(hops)
			}
		}
	}
	err := w.run(func(node int, leaf topology.SwitchID) error {
		if p.down != nil || p.leaf[node] < 0 {
			return nil
		}
		return unconnected(name, p.graph, topology.SwitchID(node), leaf)
	})
	if err == nil && lengths && longest > maxLength {
		err = fmt.Errorf("routing %q handles paths of at most %d hops; this topology has one of %d", name, maxLength, longest)
	}
	return err
}

// hopCount is the bits of Head.State for the hops made, where they are numbered.
const hopCount uint32 = 1<<5 - 1

func (p *hopPaths) take(h *fabric.Head, port topology.PortID, vcs int) fabric.Hop {
	made := h.State & hopCount
	class, after := made, made+p.counted
	if p.turns != nil {
		class, after = p.turns.step(made, port)
	}
	if int(class) >= p.classes { // only where tables change
		return fabric.Discard
	}
	h.State = h.State&^hopCount | after
	return fabric.Hop{Port: port, VCs: p.sets[vcs][class]}
}

func (p *hopPaths) Needs() fabric.Needs { return fabric.Needs{Credits: p.ties.adaptive()} }

// Directions of channels between switches that have ranks, in the order in which paths use them.
const (
	climbs uint32 = iota
	crosses
	descends
	directions
)

// turns numbers virtual-channel classes by the turns of a path in place of its hops, where switches
// have ranks ([topology.Ranked]): the class rises where a packet climbs or crosses after it has
// crossed or descended.
//
// Deadlock: sort the channels of a class: those that climb by the rank that they lead to, then
// those that cross, then those that descend by the rank that they leave, downwards. A packet takes
// them in this order, one that crosses at most, before its class rises; so no chain of dependencies
// returns to where it began. On the Megafly and the orthogonal fat tree minimal paths need one
// class, detours two, as the Megafly's authors say (Flajslik, Borch and Parker, ISC 2018).
type turns struct{ direction []uint8 } // len = ports

func newTurns(x topology.Ranked) *turns {
	g := x.Graph()
	t := &turns{make([]uint8, g.NumPorts())}
	eachCable(g, func(p topology.PortID, from, to topology.SwitchID) {
		switch here, there := x.Rank(from), x.Rank(to); {
		case there == here:
			t.direction[p] = uint8(crosses)
		case there < here:
			t.direction[p] = uint8(descends)
		}
	})
	return t
}

// step is the class of a hop by port p, and the state after it. made is the state before: class and
// last direction, 0 at the source.
func (t *turns) step(made uint32, p topology.PortID) (class, after uint32) {
	last, next := made%directions, uint32(t.direction[p])
	class = made / directions
	if next < last || next == crosses && last == crosses {
		class++
	}
	return class, class*directions + next
}

// byTurns changes to classes by turns if env's switches have ranks and paths over so many legs,
// each from leaf to leaf, then need fewer classes. Call it once the number of hops is set. Paths of
// a file or around faults keep hop numbers: they need not climb and descend.
func (p *hopPaths) byTurns(env Env, legs int) {
	ranked, ok := env.Topology.(topology.Ranked)
	if !ok || p.HopVCs != "numbered" || p.NextHops != "" || p.down != nil || legs >= p.classes {
		return
	}
	p.turns, p.classes = newTurns(ranked), legs // each leg: one class, as Ranked says
	p.assign()
}

// TableConfig holds the settings of routing "table".
type TableConfig struct{ PathSettings }

func init() {
	Register("table", "shortest paths on any graph, or those of a file, by tables; the virtual channel rises at every hop", Use{Faults: true},
		TableConfig{defaultPaths("hashed", true)}, newTable)
}

// table routes by shortest paths, in switch-switch hops, on any connected graph. ties chooses
// among ports that lead as near: hashed by source and destination terminal and switch, each
// pair keeps one path; least-occupied is minimal adaptive routing. With next_hops the paths
// come from a file, and the choice is one of parallel cables.
//
// Deadlock: the n-th hop of a packet uses VC class n, counted from 0, so that a packet waits only
// for channels of a higher class than it holds (Günther, IEEE Transactions on Communications 1981).
// As many classes are needed as the longest path between switches with terminals has hops. hop_vcs
// = "any" has no classes, as the published BookSim of PolarFly, and can deadlock on most graphs.
//
// Faults: the tables are made for the network without what is down. Packets without a path are
// discarded ([fabric.Discard]), as are packets led over more hops than there are classes by tables
// that change under way. Where switches have ranks ([topology.Ranked]), classes go by turns
// ([turns]) in a network without faults.
//
// Memory: portSets. More than 16,384 switches with terminals are refused; min, dor and nca need no
// tables.
type table struct{ *hopPaths }

// Layout of Head.State.
const (
	tableStarted uint32 = 1 << 6
	tableKey            = 7 // hash of source and destination, 16 bits
)

func newTable(config TableConfig, env Env) (fabric.Routing, error) {
	paths, err := newHopPaths("table", config.PathSettings, env, false)
	if err != nil {
		return nil, err
	}
	paths.byTurns(env, 1)
	return &table{paths}, CheckVCs("table", paths.classes, env)
}

// Widened implements [Widener]: all shortest paths.
func (r *table) Widened() fabric.Routing {
	if r.Ties != "hashed" {
		return nil
	}
	wide := *r.hopPaths
	wide.Ties, wide.ties = "random", tiesRandom
	return &table{&wide}
}

func (r *table) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	ports := r.ports(h)
	if len(ports) == 0 {
		return r.last(h, v.VCs())
	}
	return r.take(h, r.choose(r.ties, v, h, ports, h.State>>tableKey), v.VCs())
}

// ports lists the ports that a packet may leave by (none at its destination's switch), and starts
// packets.
func (r *table) ports(h *fabric.Head) []uint16 {
	if h.State == 0 {
		h.State = tableStarted | uint32(spread(uint32(h.Dst)*0x9e3779b1+uint32(h.In), 1<<16))<<tableKey
	}
	return r.to(h.Switch, r.column[h.Dst])
}

func (r *table) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	ports := r.ports(&h)
	r.explore(r.ties, h, ports, h.State>>tableKey, 1, vcs, r.take, yield)
}
