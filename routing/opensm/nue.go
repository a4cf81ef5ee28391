package opensm

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

func init() {
	register(Engine{
		Name:   "nue",
		Doc:    "any number of virtual lanes: paths grow in a channel dependency graph without cycles, but for dependencies that its shortcuts forget",
		Source: "Domke, Hoefler and Matsuoka, HPDC 2016; OpenSM's osm_ucast_nue.c, built without METIS",
		Levels: true,
		Route:  routeNue,
	})
}

// routeNue is Nue: the adapters are dealt to the virtual lanes in turn, by the GUIDs of
// their ports, and each lane keeps one channel dependency graph. A spanning tree around
// a central switch is its way of escape. For each destination paths grow from its switch
// as in sssp, by channels whose dependencies close no cycle ([nueSearch.grow]); where
// that leaves switches without a path, a neighbour is led another way, and if that fails
// all paths to the destination follow the tree. Switches as destinations come last, by
// plain searches; nothing is sent to them in lanes.
func routeNue(s *Subnet, o *Options) (*Tables, error) {
	lanes := max(1, min(o.NueMaxVLs, o.OperationalVLs))
	if o.NueMaxVLs == 0 {
		lanes = o.OperationalVLs
	}
	if !o.QoS {
		lanes = 1
	}
	t := newTables("nue", s)
	w := newNueSearch(t)
	order := s.portOrder()
	lane := make([]uint8, len(order)) // by terminal
	for l := range lanes {
		var ends []topology.TerminalID
		for i := l; i < len(order); i += lanes {
			ends = append(ends, order[i])
			lane[order[i]] = uint8(l)
		}
		if len(ends) > 0 && !w.lane(ends) {
			return nil, &Refusal{"nue", "mark_escape_paths: ERR NUE45: unsupported network state (detached and inaccessible switches found; gracefully shutdown this routing engine)"}
		}
	}
	w.switches()
	t.Lanes = lanes
	t.level = func(_ int32, lid int) uint8 {
		if e := s.Ends[lid]; e.Terminal >= 0 {
			return lane[e.Terminal]
		}
		return 0
	}
	return t, nil
}

// nueSearch is the work of the engine: the weights of all links, and the graph and the
// search of the lane and destination at hand. Channels are indices in Subnet.Links, in
// the direction of the search: away from the destination.
type nueSearch struct {
	*nueGraph
	t      *Tables
	s      *Subnet
	paths  *Paths
	order  []int32  // the nodes, in OpenSM's order
	weight []uint64 // by channel, as in paths
	tree   []int32  // by node: channel of the lane's tree of escape that leads there, -1 none
	// Of the destination:
	source int32
	used   []int32   // by node: channel that it is reached by, -1 none; as in paths
	dist   []uint64  // by node, as in paths
	far    []uint64  // by channel: distance at its end when it was last looked at
	others [][]int32 // by node: further channels into it that are in the graph
	found  []int32   // by node: how many times paths were led another way before it was found
	heap   heap      // of channels
}

func newNueSearch(t *Tables) *nueSearch {
	s := t.Subnet
	n, links := int(s.nodes()), len(s.Links)
	paths := NewPaths(s, s.lidCount)
	paths.order = s.nueOrder()
	return &nueSearch{t: t, s: s, nueGraph: newNueGraph(s), paths: paths, order: paths.order, weight: paths.weight,
		tree: make([]int32, n), used: paths.Used, dist: paths.distance, far: make([]uint64, links+n),
		others: make([][]int32, n), found: make([]int32, n), heap: newHeap(links)}
}

// nueOrder lists the nodes by LID, the low byte first: OpenSM compares LIDs in the byte
// order of the network on a machine that has the other one.
func (s *Subnet) nueOrder() []int32 {
	order := make([]int32, s.nodes())
	for n := range order {
		order[n] = int32(n)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Compare(bits.ReverseBytes16(uint16(s.SwitchLID[a])), bits.ReverseBytes16(uint16(s.SwitchLID[b])))
	})
	return order
}

// lane routes to the adapters of one lane. ok is false if the tree of escape does not
// reach every switch.
func (w *nueSearch) lane(ends []topology.TerminalID) (ok bool) {
	hosts := make([]int, w.s.nodes())
	for _, t := range ends {
		hosts[w.s.home(t)]++
	}
	root := w.s.center(w.order, hosts)
	if !w.span(root) {
		return false
	}
	copy(w.tree, w.used)
	w.clear()
	w.escape(root, hosts)
	for _, t := range ends {
		for i := range 1 << w.s.LMC {
			w.grow(w.s.home(t))
			w.enter(int(w.s.TerminalLID[t])+i, w.s.hostPort(t))
		}
	}
	return true
}

// span searches the shortest paths from a node to all others, whatever they depend on.
// ok is false if some have none.
func (w *nueSearch) span(root int32) (ok bool) {
	w.source = root
	return w.paths.search(Unreached, root) == 0
}

// follow leads all paths from the source along the tree of escape: it turns round what
// leads from the tree's root to the source.
func (w *nueSearch) follow() {
	copy(w.used, w.tree)
	l := w.used[w.source]
	w.used[w.source] = -1
	for l >= 0 {
		n := w.begin[l]
		w.used[n], l = w.back[l], w.used[n]
	}
}

// enter fills the column of a LID and makes the links of its paths heavier, by the LIDs of
// a switch and its adapters modulo 256 as in OpenSM.
func (w *nueSearch) enter(lid int, port uint8) {
	w.t.LFT[w.source][lid] = port
	for n, l := range w.used {
		if l < 0 {
			continue
		}
		w.t.LFT[n][lid] = w.s.Links[w.back[l]].Port
		for at := int32(n); at != w.source; at = w.begin[w.used[at]] {
			w.weight[w.used[at]] += uint64(uint8(w.paths.lids[n]))
		}
	}
}

// switches routes to the switches.
func (w *nueSearch) switches() {
	for _, n := range w.order {
		w.span(n)
		w.enter(int(w.s.SwitchLID[n]), 0)
	}
}
