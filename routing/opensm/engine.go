// Package opensm repeats the unicast routing of OpenSM 3.3.23, InfiniBand's
// subnet manager, bit for bit: LIDs, linear forwarding tables (LFT), service
// levels (SL) and the tables that map service levels to virtual lanes (SL2VL).
//
// A [Subnet] is a network as OpenSM sees it; an engine ([Engines])
// makes [Tables] of it or refuses it with OpenSM's reason ([*Refusal]). OpenSM
// itself then takes its engine minhop, without a word; this package never does. Readers of files
// take their name, and return all problems together, each with file and line.
package opensm

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/lists"
)

// Engine is one of OpenSM's unicast routing engines.
type Engine struct {
	Name string
	Doc  string // one sentence
	// Source is where the algorithm was published, or OpenSM's own file.
	Source string
	// Levels tells that the engine assigns service levels.
	Levels bool
	// Acyclic tells that no network that it accepts can deadlock.
	Acyclic bool
	// Route makes the tables of a subnet, or a [*Refusal].
	Route func(s *Subnet, o *Options) (*Tables, error)
}

// Refusal says that OpenSM's engine does not route a network, with the messages that OpenSM logs.
type Refusal struct {
	Engine string
	Reason string
}

// Error names the engine and its reason.
func (r *Refusal) Error() string { return fmt.Sprintf("%s refuses: %s", r.Engine, r.Reason) }

var engines = []Engine{
	{Name: "dfsssp", Doc: "sssp with service levels: paths move to further virtual lanes until no layer has a cycle",
		Source: "Domke, Hoefler and Nagel, IPDPS 2011; OpenSM's osm_ucast_dfsssp.c", Levels: true, Acyclic: true, Route: routeDFSSSP},
	{Name: "dnup", Doc: "down*/up*: up*/down* with ranks that rise from the switches with adapters",
		Source: "OpenSM's osm_ucast_dnup.c", Route: routeDownUp},
	{Name: "dor", Doc: "shortest paths by the lowest numbered port's neighbour: dimension order where ports are cabled alike",
		Source: "OpenSM's osm_ucast_mgr.c; dimension order: Sullivan and Bashkow, ISCA 1977",
		Route:  func(s *Subnet, o *Options) (*Tables, error) { return routeMinHop("dor", s, o, true) }},
	{Name: "ftree", Doc: "fat trees: destinations spread so that shifts of the compute nodes do not collide",
		Source: "Zahavi, Johnson, Kerbyson and Lang, Concurrency and Computation 2010; OpenSM's osm_ucast_ftree.c", Route: routeFatTree},
	{Name: "lash", Doc: "layered shortest paths: each pair of switches in the first layer that it makes no cycle in",
		Source: "Skeie, Lysne and Theiss, IPDPS 2002; Lysne, Skeie, Reinemo and Theiss, IEEE TPDS 2006; OpenSM's osm_ucast_lash.c", Levels: true, Acyclic: true, Route: routeLASH},
	{Name: "minhop", Doc: "shortest paths, each switch spreading destinations over its ports by itself", Source: "OpenSM's osm_ucast_mgr.c",
		Route: func(s *Subnet, o *Options) (*Tables, error) { return routeMinHop("minhop", s, o, false) }},
	{Name: "nue", Doc: "any number of virtual lanes: paths grow in a channel dependency graph without cycles, but for dependencies that its shortcuts forget",
		Source: "Domke, Hoefler and Matsuoka, HPDC 2016; OpenSM's osm_ucast_nue.c, built without METIS", Levels: true, Route: routeNue},
	{Name: "sssp", Doc: "shortest paths by weights that grow with the paths that are there",
		Source: "Hoefler, Schneider and Lumsdaine, Hot Interconnects 2009; OpenSM's osm_ucast_dfsssp.c",
		Route: func(s *Subnet, o *Options) (*Tables, error) {
			t, _, err := routeSSSP("sssp", s, o)
			return t, err
		}},
	{Name: "torus-2QoS", Doc: "dimension order on tori and meshes, rings broken by datelines, two levels of quality of service",
		Source: "Dally and Seitz, IEEE Transactions on Computers 1987; OpenSM's osm_torus.c and doc/torus-2QoS.txt", Levels: true, Acyclic: true, Route: routeTorus},
	{Name: "updn", Doc: "up*/down*: no path goes down from the roots and up again",
		Source: "Schroeder et al., Autonet, IEEE JSAC 1991; OpenSM's osm_ucast_updn.c", Route: routeUpDown},
}

// Engines lists the names of the engines in alphabetical order.
func Engines() (names []string) { return lists.Map(engines, func(e Engine) string { return e.Name }) }

// EngineOf finds an engine by name.
func EngineOf(name string) (Engine, error) {
	if i := slices.IndexFunc(engines, func(e Engine) bool { return e.Name == name }); i >= 0 {
		return engines[i], nil
	}
	return Engine{}, fmt.Errorf("no routing engine %q: want %s", name, strings.Join(Engines(), ", "))
}

// Tables are what an engine computes for a subnet.
type Tables struct {
	Engine string
	Subnet *Subnet
	// LFT is the forwarding table of each node ([nodes][MaxLID+1]): the port for a LID, 0 for the
	// switch's own, 255 for none.
	LFT [][]uint8
	// Lanes is the virtual lanes that the engine's layers take; 0 without service levels.
	Lanes int
	// level is the service level of packets from node's hosts to a LID; nil: all packets have SL 0.
	level func(node int32, lid int) uint8
	// draws is the number of service levels of the layer with a base level, of which OpenSM draws
	// one for each answer; else 0.
	draws [16]uint8
	// lanes maps service levels where ports differ; nil: every port has the configuration's one
	// table.
	lanes portLanes
}

// portLanes is the virtual lane of level sl from port in of node n to port out; port 0 is the
// switch.
type portLanes func(n int32, in, out, sl uint8) uint8

func newTables(engine string, s *Subnet) *Tables {
	t := &Tables{Engine: engine, Subnet: s, LFT: make([][]uint8, len(s.Switches))}
	width := s.MaxLID + 1
	all := slices.Repeat([]uint8{noPath}, len(t.LFT)*width)
	for n := range t.LFT {
		t.LFT[n] = all[n*width : (n+1)*width : (n+1)*width]
	}
	return t
}

// fill enters the ports of an engine that routes to switches; port is asked for every two different
// nodes.
func (t *Tables) fill(port func(from, to int32) uint8) {
	s := t.Subnet
	next := make([]uint8, len(s.Switches))
	for n := range s.nodes() {
		for to := range s.nodes() {
			if to != n {
				next[to] = port(n, to)
			}
		}
		row := t.LFT[n]
		for lid, e := range s.Ends {
			switch {
			case e.Node < 0:
			case e.Node != n:
				row[lid] = next[e.Node]
			case e.Terminal < 0:
				row[lid] = 0
			default:
				row[lid] = s.hostPort(e.Terminal)
			}
		}
	}
}

// HasLevels tells whether the engine assigned service levels.
func (t *Tables) HasLevels() bool { return t.level != nil }

// Level is the service level of packets from the hosts of a node to a LID.
func (t *Tables) Level(node int32, lid int) uint8 {
	if t.level == nil {
		return 0
	}
	return t.level(node, lid)
}

// Entries is the number of entries of the forwarding tables.
func (t *Tables) Entries() int {
	entries := 0
	for _, row := range t.LFT {
		for _, port := range row {
			if port != noPath {
				entries++
			}
		}
	}
	return entries
}

// hostLIDs lists the LIDs of all adapters, ascending.
func (s *Subnet) hostLIDs() []int {
	return lists.Places(len(s.Ends), func(lid int) bool { return s.Ends[lid].Terminal >= 0 })
}

// LevelsInUse lists the service levels of the pairs of adapter LIDs.
func (t *Tables) LevelsInUse() []uint8 {
	used := map[uint8]bool{}
	lids := t.Subnet.hostLIDs()
	for _, n := range t.Subnet.leaves() {
		for _, lid := range lids {
			used[t.Level(n, lid)] = true
		}
	}
	return slices.Sorted(maps.Keys(used))
}

// Drawn tells whether OpenSM may answer with one service level (drawn) where a layer's first is
// another (base), both hexadecimal digits: dfsssp draws from a layer's levels.
func (t *Tables) Drawn(base, drawn string) bool {
	first, err := strconv.ParseUint(base, 16, 8)
	level, err2 := strconv.ParseUint(drawn, 16, 8)
	if err != nil || err2 != nil || first >= uint64(len(t.draws)) {
		return false
	}
	return level >= first && level < first+uint64(t.draws[first])
}

// Path appends to path[:0] the cables between switches (indices in Subnet.Links) from a node to a
// LID, up to a host, a switch or the tables' end, or for as many steps as switches. Not ok if
// packets do not arrive.
func (t *Tables) Path(n int32, lid int, path []int32) (_ []int32, ok bool) {
	path = path[:0]
	for len(path) < len(t.LFT) {
		l := t.Subnet.at[int(n)<<8|int(t.LFT[n][lid])]
		if l < 0 {
			break
		}
		path = append(path, l)
		n = t.Subnet.Links[l].Peer
	}
	e := t.Subnet.Ends[lid]
	switch {
	case e.Node != n:
		return path, false
	case e.Terminal < 0:
		return path, t.LFT[n][lid] == 0
	}
	return path, t.LFT[n][lid] == t.Subnet.hostPort(e.Terminal)
}

// Pairs visits the paths from every switch with terminals to the base LID of every
// terminal; ok is false for packets that do not arrive. path is valid until visit returns.
func (t *Tables) Pairs(visit func(hosts []Host, to topology.TerminalID, path []int32, ok bool)) {
	s := t.Subnet
	var path []int32
	for n := range s.nodes() {
		hosts := s.Terminals(n)
		if len(hosts) == 0 {
			continue
		}
		for to, lid := range s.TerminalLID[:s.Graph.Terminals()] {
			var ok bool
			path, ok = t.Path(n, int(lid), path)
			visit(hosts, topology.TerminalID(to), path, ok)
		}
	}
}

// Unreachable counts the pairs of terminals, by base LIDs, whose packets do not arrive; first names
// one.
func (t *Tables) Unreachable() (pairs int, first string) {
	g := t.Subnet.Graph
	t.Pairs(func(hosts []Host, to topology.TerminalID, _ []int32, ok bool) {
		if ok {
			return
		}
		if pairs += len(hosts); first == "" {
			first = fmt.Sprintf("%s to %s", g.TerminalName(hosts[0].Terminal), g.TerminalName(to))
		}
	})
	return pairs, first
}

// classes numbers what a packet may be on a channel: lanes, from 0.
type classes struct {
	t *Tables
	// of is the class of each service level in use, where all ports have one table.
	of    [16]uint8
	count int
}

// newClasses gives each service level in use a lane, or takes the lanes that torus-2QoS
// distinguishes.
func (t *Tables) newClasses() *classes {
	c := &classes{t: t, count: 1}
	switch {
	case t.lanes != nil:
		var used uint8
		t.eachPath(c, func(_ []int32, lanes []uint8) {
			for _, lane := range lanes {
				used = max(used, lane)
			}
		})
		c.count = int(used) + 1
	case t.level != nil:
		levels := t.LevelsInUse()
		for class, level := range levels {
			c.of[level] = uint8(class)
		}
		c.count = max(1, len(levels))
	}
	return c
}

// lane is the class of a packet of level sl that goes from port in of a node to port out.
func (c *classes) lane(n int32, in, out, sl uint8) uint8 {
	if c.t.lanes != nil {
		return c.t.lanes(n, in, out, sl)
	}
	return c.of[sl&15]
}

// eachPath visits the paths from switches with terminals to all LIDs of terminals, with packets'
// class on each channel.
func (t *Tables) eachPath(c *classes, visit func(path []int32, lanes []uint8)) {
	s := t.Subnet
	var path []int32
	var lanes []uint8
	lids := s.hostLIDs()
	for n := range s.nodes() {
		hosts := s.Terminals(n)
		if len(hosts) == 0 {
			continue
		}
		for _, lid := range lids {
			if !s.isTerminal(s.Ends[lid].Terminal) {
				continue
			}
			path, _ = t.Path(n, lid, path)
			sl := t.Level(n, lid)
			in := hosts[0].Port
			at := n
			lanes = lanes[:0]
			for _, l := range path {
				link := &s.Links[l]
				lanes = append(lanes, c.lane(at, in, link.Port, sl))
				in, at = s.Links[link.Back].Port, link.Peer
			}
			visit(path, lanes)
		}
	}
}

// Dependencies yields the dependencies between channels of all paths between
// terminals, each once for every path, and returns the number of virtual channels that
// they are on: one for each layer of an engine with service levels, one in all
// otherwise. Cost: switches times LIDs times the length of paths.
func (t *Tables) Dependencies(yield func(topology.Dependency)) (vcs int) {
	c := t.newClasses()
	t.eachPath(c, func(path []int32, lanes []uint8) {
		for i := 1; i < len(path); i++ {
			yield(topology.Dependency{
				Held:   topology.Channel{Port: t.Subnet.Links[path[i-1]].Graph, VC: lanes[i-1]},
				Wanted: topology.Channel{Port: t.Subnet.Links[path[i]].Graph, VC: lanes[i]},
			})
		}
	})
	return c.count
}

// VCs is the number of virtual channels that [Tables.Dependencies] distinguishes.
func (t *Tables) VCs() int { return t.newClasses().count }
