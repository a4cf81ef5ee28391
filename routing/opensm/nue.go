package opensm

import (
	"errors"
	"fmt"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/opensm/sssp"
)

func init() {
	register(Engine{
		Name:   "nue",
		Doc:    "any number of virtual lanes: paths grow in a channel dependency graph that stays acyclic",
		Source: "Domke, Hoefler and Matsuoka, HPDC 2016; OpenSM's osm_ucast_nue.c, built without METIS",
		Levels: true,
		Route:  routeNue,
	})
}

// routeNue is Nue: the adapters are dealt to the virtual lanes in turn, by the GUIDs of
// their ports, and each lane keeps one channel dependency graph. A spanning tree around
// a central switch is its way of escape. For each destination paths grow from its switch
// as in sssp, by channels whose dependencies close no cycle; where that leaves switches
// without a path, their neighbours are led another way ([nueSearch.backtrack]) or, if
// that fails, all paths to the destination follow the tree. Switches as destinations
// come last, by plain searches; nothing is sent to them in lanes.
//
// Deviations: OpenSM's rules at dead ends are known in part only. On the fabrics of the
// reference two of three tables are equal to the last entry; where the channels bind
// (few lanes on tori, random graphs), entries differ from the first dead end on that is
// resolved in another way. Among central switches that are equally so, OpenSM takes
// another one on some tori.
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
	if err := w.paths.Check(s.Manager); err != nil {
		if refused := (*sssp.InfinityError)(nil); errors.As(err, &refused) {
			return nil, &Refusal{"nue", err.Error()}
		}
		return nil, err
	}
	order := s.portOrder()
	lane := make([]uint8, len(order)) // by terminal
	for l := range lanes {
		var ends []topology.TerminalID
		for i := l; i < len(order); i += lanes {
			ends = append(ends, order[i])
			lane[order[i]] = uint8(l)
		}
		if len(ends) > 0 {
			w.lane(ends)
		}
	}
	w.switches()
	if w.ends > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("nue's paths meet dead ends for %d destinations, LID %d first: OpenSM may resolve some in another way, and the tables differ from there on", w.ends, w.firstEnd))
	}
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
	t     *Tables
	s     *Subnet
	paths *sssp.Paths
	c     channels
	graph *ordered
	// Of the lane:
	tree  []bool // by channel: in the tree of escape, both directions
	first []bool // by channel: the first of a path from its switch to an earlier destination
	// blocked are the dependencies, by slot, that have closed a cycle in any search.
	blocked []bool
	// Of the destination:
	source  int32
	used    []int32  // by node: channel that it is reached by, -1 none
	dist    []uint64 // by node
	tried   []int32  // slots of dependencies that this search has entered
	trial   []bool   // by slot
	heap    sssp.Heap
	islands []bool // by node: reached by backtracking
	late    bool   // the first search is over
	edges   []dependency
	// ends counts the destinations at which a search met a dead end.
	ends, firstEnd int
}

// dependency is one of channel to on channel from.
type dependency struct{ from, to int32 }

func newNueSearch(t *Tables) *nueSearch {
	s := t.Subnet
	n, links := len(s.Switches), len(s.Links)
	w := &nueSearch{t: t, s: s, used: make([]int32, n), dist: make([]uint64, n), islands: make([]bool, n), heap: sssp.NewHeap(links)}
	w.paths = sssp.New(s.Graph, s.Switches, s.lidCounts())
	w.c.start = s.Start
	for _, l := range s.Links {
		w.c.begin = append(w.c.begin, s.Links[l.Back].Peer)
		w.c.peer = append(w.c.peer, l.Peer)
		w.c.back = append(w.c.back, l.Back)
	}
	return w
}

// lane routes to the adapters of one lane.
func (w *nueSearch) lane(ends []topology.TerminalID) {
	count := make([]int, len(w.s.Switches))
	for _, t := range ends {
		count[w.s.home(t)]++
	}
	w.graph = newOrdered(&w.c)
	w.trial, w.blocked = make([]bool, len(w.graph.uses)), make([]bool, len(w.graph.uses))
	w.first = make([]bool, len(w.s.Links))
	w.escape(w.s.center(ends), count)
	for _, t := range ends {
		for i := range 1 << w.s.LMC {
			w.search(w.s.home(t))
			if w.stuck() {
				if w.ends++; w.ends == 1 {
					w.firstEnd = int(w.s.TerminalLID[t]) + i
				}
			}
			if !w.resolve() || !w.keep() {
				w.follow()
				if !w.keep() {
					panic("opensm: the tree of escape closes a cycle")
				}
			}
			w.enter(int(w.s.TerminalLID[t])+i, w.s.hostPort(t))
		}
	}
}

// escape makes the tree of escape around a switch and enters the dependencies of all
// its paths from the switches of the lane's destinations.
func (w *nueSearch) escape(root int32, count []int) {
	w.paths.Search(root)
	w.tree = make([]bool, len(w.s.Links))
	for _, l := range w.paths.Used {
		if l >= 0 {
			w.tree[l], w.tree[w.c.back[l]] = true, true
		}
	}
	for n, ends := range count {
		if ends == 0 {
			continue
		}
		w.source = int32(n)
		w.follow()
		for at, l := range w.used {
			if before := w.before(int32(at)); l >= 0 && before >= 0 && w.graph.uses[w.graph.at(before, l)] == 0 && !w.graph.add(before, l) {
				panic("opensm: a tree closes a cycle")
			}
		}
	}
}

// before is the channel in front of the one that a node is reached by, -1 if that is
// the first or there is none.
func (w *nueSearch) before(n int32) int32 {
	l := w.used[n]
	if l < 0 || w.c.begin[l] == w.source {
		return -1
	}
	return w.used[w.c.begin[l]]
}

// follow leads all paths from the source along the tree.
func (w *nueSearch) follow() {
	for n := range w.used {
		w.used[n] = -1
	}
	queue := []int32{w.source}
	for head := 0; head < len(queue); head++ {
		n := queue[head]
		for l := w.c.start[n]; l < w.c.start[n+1]; l++ {
			if to := w.c.peer[l]; w.tree[l] && to != w.source && w.used[to] < 0 {
				w.used[to] = l
				queue = append(queue, to)
			}
		}
	}
}

// keep enters the dependencies of the paths for good and takes out all others that the
// search entered. ok is false if a path would close a cycle: then none is entered.
func (w *nueSearch) keep() (ok bool) {
	for _, slot := range w.tried {
		w.trial[slot] = false
		w.graph.uses[slot] = 0
	}
	w.tried = w.tried[:0]
	w.edges = w.edges[:0]
	for n, l := range w.used {
		if before := w.before(int32(n)); l >= 0 && before >= 0 {
			w.edges = append(w.edges, dependency{before, l})
		}
	}
	return w.addAll(w.edges) != nil
}

// addAll enters dependencies that are not in the graph yet; nil, and the graph as it
// was, if they close a cycle.
func (w *nueSearch) addAll(list []dependency) (slots []int32) {
	slots = []int32{}
	for _, d := range list {
		slot := w.graph.at(d.from, d.to)
		if w.graph.uses[slot] > 0 {
			continue
		}
		if !w.graph.add(d.from, d.to) {
			for _, slot := range slots {
				w.graph.uses[slot] = 0
			}
			return nil
		}
		slots = append(slots, slot)
	}
	return slots
}

// enter fills the column of a LID and makes the links of its paths heavier.
func (w *nueSearch) enter(lid int, port uint8) {
	w.t.LFT[w.source][lid] = port
	for n, l := range w.used {
		if l < 0 {
			continue
		}
		w.t.LFT[n][lid] = w.s.Links[w.c.back[l]].Port
		load := w.paths.LIDs(int32(n))
		for at := int32(n); at != w.source; at = w.c.begin[w.used[at]] {
			w.paths.Add(w.used[at], load)
		}
		if w.c.begin[l] == w.source {
			w.first[l] = true
		}
	}
}

// switches routes to the switches, in order of their LIDs.
func (w *nueSearch) switches() {
	for lid, e := range w.s.Ends {
		if e.Node < 0 || e.Terminal >= 0 {
			continue
		}
		w.paths.Search(e.Node)
		w.t.LFT[e.Node][lid] = 0
		for n, l := range w.paths.Used {
			if l >= 0 {
				w.t.LFT[n][lid] = w.s.Links[w.c.back[l]].Port
			}
		}
		w.paths.AddPaths()
	}
}
