// Package routing holds the unicast routing algorithms: which output and which virtual channels a
// packet takes at each switch, why that cannot deadlock, and what load it puts on each channel.
//
// An algorithm is one file with one registration in [Registry]. It asks its topology once, in the
// constructor, for the capability it needs (groups, coordinates, levels), turns it into slices, and
// from then on answers Route with a handful of loads. All of them list their possible decisions
// ([fabric.Explorer]); [Dependencies] makes the channel dependency graph of a deadlock certificate
// from that, [Loads] the channel loads of a traffic matrix.
package routing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// Env is what a routing is built for.
type Env struct {
	Topology topology.Topology
	// TopologyName is what messages call the topology; may be empty.
	TopologyName string
	// VCs is the number of virtual channels of the channels; 0: as many as the routing asks for.
	VCs int
	// Seed is for choices made once, at construction, by routings whose configuration is
	// [param.Seeded].
	Seed uint64
	// AllowDeadlock accepts fewer VCs than freedom from deadlock needs. Missing VC classes share
	// the highest channel.
	AllowDeadlock bool
	// Down is what is out of order, to be routed around (nil: nothing); for [AroundFaults] only.
	Down *topology.Down
	// Shared keeps read-only tables for several routings; nil: each makes its own.
	Shared Sharing
}

// Sharing builds what key names once for all that ask.
type Sharing interface {
	Get(key string, build func() (any, error)) (any, error)
}

// Once is what build makes for the graph of env, once for all routings with the same [Env].Shared.
// key names it by all that it depends on but the graph. With faults it is made anew.
func Once[T any](env Env, key string, build func() (T, error)) (T, error) {
	if env.Shared == nil || env.Down != nil {
		return build()
	}
	value, err := env.Shared.Get(fmt.Sprintf("routing %p %s", env.Topology.Graph(), key), func() (any, error) { return build() })
	x, _ := value.(T) // an interface may be nil
	return x, err
}

// maxVCs is the number of virtual channels that the switch can have.
const maxVCs = 16

// CheckVCs reports that routing name needs more virtual channels than env grants or than can be.
func CheckVCs(name string, need int, env Env) error {
	switch {
	case need > maxVCs:
		return fmt.Errorf("routing %q needs %d virtual channels on this topology; a channel can have %d", name, need, maxVCs)
	case env.VCs != 0 && env.VCs < need && !env.AllowDeadlock:
		return &param.ParamError{Key: "switch.vcs", Value: env.VCs, Want: fmt.Sprintf("at least %d, which routing %q needs to be free from deadlock here", need, name)}
	}
	return nil
}

func homes(g *topology.Graph) []topology.SwitchID {
	return lists.Make(g.Terminals(), func(t int) topology.SwitchID { return g.TerminalSwitch(topology.TerminalID(t)) })
}

// eachCable visits the ports of switches that lead to others, in order.
func eachCable(g *topology.Graph, visit func(p topology.PortID, from, to topology.SwitchID)) {
	for p, s := range g.PortSwitch {
		if peer, ok := g.PeerPort(topology.PortID(p)); ok {
			visit(topology.PortID(p), s, g.PortSwitch[peer])
		}
	}
}

func allVCs(vcs int) uint32 { return uint32(1)<<vcs - 1 }

// plain is embedded by routings whose packets may enter on all virtual channels, and which ignore
// terminals.
type plain struct{}

func (plain) InjectionVCs(vcs int) uint32 { return allVCs(vcs) }

func (plain) IgnoresTerminals() bool { return true }

// OneVC is the set of virtual channel vc alone, or of the highest one where there are fewer.
func OneVC(vc uint32, vcs int) uint32 { return 1 << min(vc, uint32(vcs-1)) }

// ClassVCs is the set of virtual channels of class c when vcs channels are divided evenly among the
// classes; with fewer channels, the highest classes share the last one.
func ClassVCs(c, classes, vcs int) uint32 {
	if vcs < classes {
		return OneVC(uint32(c), vcs)
	}
	return allVCs((c+1)*vcs/classes) &^ allVCs(c*vcs/classes)
}

// classSets are the virtual channels of classes, by how many channels there are: certificates ask
// for more than switches can have.
type classSets [2*maxVCs + 2][maxVCs]uint32

// assign gives each of so many classes a channel, or divides all of them evenly.
func (sets *classSets) assign(classes int, evenly bool) {
	for vcs := 1; vcs < len(sets); vcs++ {
		for class := range sets[vcs] {
			if sets[vcs][class] = OneVC(uint32(class), vcs); evenly && class < classes {
				sets[vcs][class] = ClassVCs(class, classes, vcs)
			}
		}
	}
}

// spread maps a key to one of n choices, evenly (MurmurHash3's finaliser).
func spread(key uint32, n int) int {
	key ^= key >> 16
	key *= 0x85ebca6b
	key ^= key >> 13
	key *= 0xc2b2ae35
	key ^= key >> 16
	return int(uint64(key) * uint64(n) >> 32)
}

// Registry holds every routing that experiment files can name.
var Registry = param.NewRegistry[Env, fabric.Routing]("routing")

// Need is what a routing asks of a topology; the zero Need asks for nothing but the graph.
type Need = param.Need[Env]

// Has is the need of a capability: an interface of the topology beyond its graph. what names it in
// messages: "needs a topology with groups".
func Has[Capability topology.Topology](what string) Need {
	return Need{What: what, Met: func(env Env) bool { _, ok := env.Topology.(Capability); return ok }}
}

// The capabilities of package topology.
var (
	Groups      = Has[topology.Grouped]("groups")
	Coordinates = Has[topology.Grid]("coordinates")
	Levels      = Has[topology.Tree]("levels")
	AllToAll    = Has[topology.Hamming]("all-to-all dimensions")
)

// Use says where a routing can be used.
type Use struct {
	// On is what it needs of the topology. A name may be registered once for each need, with
	// settings of its own: val on groups, and on coordinates.
	On Need
	// Faults tells that it can be built for a network with faults ([Env].Down).
	Faults bool
}

// Register adds a routing under name; see [param.RegisterFor] for the tags of the configuration.
// One more is deadlocks:"none": choices with which the routing can deadlock, for demonstrations.
// Networks with faults are refused here for routings that do not go around them.
func Register[C any](name, doc string, use Use, defaults C, build func(config C, env Env) (fabric.Routing, error)) {
	param.RegisterFor(Registry, use.On, name, doc, defaults, func(config C, env Env) (fabric.Routing, error) {
		if env.Down != nil && !use.Faults {
			return nil, refuseFaults(name, env)
		}
		return build(config, env)
	})
	if use.Faults && !slices.Contains(aroundFaults, name) {
		aroundFaults = append(aroundFaults, name)
	}
}

// aroundFaults belongs to the registry.
var aroundFaults []string

// AroundFaults lists the routings that can be built for networks with faults ([Env].Down), sorted.
func AroundFaults() []string { return slices.Sorted(slices.Values(aroundFaults)) }

// refuseFaults reports that routing name cannot go around what is down.
func refuseFaults(name string, env Env) error {
	on := ""
	if env.TopologyName != "" {
		on = " on topology " + env.TopologyName
	}
	if !env.Down.None() { // as before a fault that comes during the run
		on += " (" + env.Down.Describe() + ")"
	}
	return fmt.Errorf("routing %q does not route around faults%s; routings that can: %s", name, on, strings.Join(AroundFaults(), ", "))
}

// Lacks implements [param.EnvWithNeeds]: the topology has nothing that routing name needs.
func (env Env) Lacks(name string, needs []string) error {
	topology := cmp.Or(env.TopologyName, "this topology")
	return fmt.Errorf("routing %q needs a topology with %s; %s has none", name, strings.Join(needs, " or "), topology)
}

// Periods is a routing in a network whose faults come and go: one routing for each
// period, of the same algorithm, so that packets under way can go on with the next
// one. As a routing of its own it is what the deadlock certificate needs: every
// decision of every period, since packets of several periods meet.
type Periods struct{ list []fabric.Routing }

// BuildPeriods builds a routing for every period by build, with the period's Down in env.
func BuildPeriods(env Env, periods []topology.Period, build func(Env) (fabric.Routing, error)) (*Periods, error) {
	e := &Periods{}
	for _, period := range periods {
		env.Down = period.Down
		r, err := build(env)
		if err != nil {
			return nil, err
		}
		e.list = append(e.list, r)
	}
	vcs := e.VCs()
	for _, r := range e.list {
		if t, ok := r.(*table); ok {
			// Classes depend on what is down, but periods must have the same: by hops, since paths
			// of several periods have more turns.
			t.turns = nil
			t.need(max(t.hops, vcs))
		}
	}
	return e, nil
}

// During is the routing of a period.
func (e *Periods) During(period int) fabric.Routing { return e.list[period] }

// VCs implements [fabric.Routing].
func (e *Periods) VCs() int {
	return lists.Most(0, e.list, func(r fabric.Routing) int { return r.VCs() })
}

// InjectionVCs implements [fabric.Routing].
func (e *Periods) InjectionVCs(vcs int) uint32 {
	set := uint32(0)
	for _, r := range e.list {
		set |= r.InjectionVCs(vcs)
	}
	return set
}

// Route is the hop in the first period.
func (e *Periods) Route(v *fabric.View, h *fabric.Head) fabric.Hop { return e.list[0].Route(v, h) }

// IgnoresTerminals implements [TerminalBlind].
func (e *Periods) IgnoresTerminals() bool {
	return !slices.ContainsFunc(e.list, func(r fabric.Routing) bool { return !ignoresTerminals(r) })
}

// Explore implements [fabric.Explorer]. With several periods no choice has a known probability.
func (e *Periods) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	for _, r := range e.list {
		r.(fabric.Explorer).Explore(vcs, h, func(hop fabric.Hop, state uint32, weight float64) {
			if len(e.list) > 1 {
				weight = 0
			}
			yield(hop, state, weight)
		})
	}
}

// levels gives each service level of packets virtual channels of its own, as OpenSM's torus-2QoS
// does with two levels. Level l has channels l*k to (l+1)*k-1 of k each. An adaptive routing
// compares ports by the queues of all levels.
//
// Deadlock: no packet changes its level, and levels share no buffer, so that each is as free
// from deadlock as the routing is alone.
type levels struct {
	fabric.Routing
	count    int
	departer fabric.Departer // nil: the routing decides at switches only
}

// ServiceLevels is r for packets of service levels 0 to count-1 ([fabric.PacketSpec].Level; those
// above go with the last). The virtual channels of the network are count times those that r is to
// have. A *param.ParamError refuses routings that learn, wait on escape channels or bring tables of
// lanes.
func ServiceLevels(r fabric.Routing, count int) (fabric.Routing, error) {
	if need := count * max(1, r.VCs()); need > maxVCs {
		return nil, &param.ParamError{Key: "level", Value: count - 1, Want: fmt.Sprintf("at most %d: a channel can have %d virtual channels, and each level needs %d here", maxVCs/max(1, r.VCs())-1, maxVCs, max(1, r.VCs()))}
	}
	_, learns := r.(fabric.Learner)
	_, escapes := r.(fabric.EscapeRouting)
	lanes, ok := r.(fabric.LaneArbitration)
	if learns || escapes || ok && lanes.ArbitratesLanes() {
		return nil, &param.ParamError{Key: "level", Value: count - 1, Want: "0, or another routing: one that learns, has escape channels or reads tables of lanes keeps to one level"}
	}
	l := &levels{Routing: r, count: count}
	if fabric.NeedsOf(r).Departs {
		l.departer = r.(fabric.Departer)
	}
	return l, nil
}

func (l *levels) VCs() int { return l.count * max(1, l.Routing.VCs()) }

func (l *levels) InjectionVCs(vcs int) (set uint32) {
	k := vcs / l.count
	for i := range l.count {
		set |= l.Routing.InjectionVCs(k) & allVCs(k) << (i * k)
	}
	return set
}

func (l *levels) Needs() fabric.Needs {
	n := fabric.NeedsOf(l.Routing)
	n.Departs, n.Packets = true, true
	return n
}

func (l *levels) ReadsWithin(domain []int) bool {
	r, ok := l.Routing.(fabric.RemoteReader)
	return !ok || r.ReadsWithin(domain)
}

func (l *levels) Depart(v *fabric.View, h *fabric.Head) uint32 {
	all := v.VCs()
	k := all / l.count
	first := min(int(h.Level), l.count-1) * k
	set := l.Routing.InjectionVCs(k)
	if l.departer != nil {
		v.Narrow(first, k)
		set = l.departer.Depart(v, h)
		v.Narrow(0, all)
	}
	return set & allVCs(k) << first
}

func (l *levels) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	all, vc := v.VCs(), h.VC
	k := all / l.count
	first := int(vc) / k * k
	v.Narrow(first, k)
	h.VC = vc - uint8(first)
	hop := l.Routing.Route(v, h)
	h.VC = vc
	v.Narrow(0, all)
	hop.VCs = hop.VCs & allVCs(k) << first
	return hop
}

func (l *levels) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	k := vcs / l.count
	first := int(h.VC) / k * k
	h.VC -= uint8(first)
	l.Routing.(fabric.Explorer).Explore(k, h, func(hop fabric.Hop, state uint32, weight float64) {
		hop.VCs = hop.VCs & allVCs(k) << first
		yield(hop, state, weight)
	})
}
