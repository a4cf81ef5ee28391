// Package certify proves freedom from deadlock: it collects the channel
// dependency graph of whatever sends packets (unicast routings, multicast
// trees, protocol classes) and finds its shortest cycle, or that there is none.
package certify

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/weft-sim/weft/fabric/topology"
)

// Graph is a channel dependency graph (Dally and Seitz, IEEE Transactions on Computers 1987): its
// nodes are the virtual channels of a network, and an edge says that a packet may hold one while it
// waits for the other. Without a cycle no deadlock is possible; with one it may be. Channels into
// terminals wait for nothing and need not be added.
type Graph struct {
	vcs    int
	rows   []row // by node
	escape bool
}

// New makes an empty graph for channels of vcs virtual channels.
func New(vcs int) *Graph { return &Graph{vcs: vcs} }

// NewEscape makes an empty graph for the extended dependencies of escape channels alone (Duato,
// IEEE TPDS 1995), of an adaptive routing whose packets can go on by an escape channel wherever
// they are. Without a cycle no deadlock is possible; one is possible with a cycle, but need not be.
func NewEscape(vcs int) *Graph {
	g := New(vcs)
	g.escape = true
	return g
}

func (g *Graph) node(c topology.Channel) int { return int(c.Port)*g.vcs + int(c.VC) }

func (g *Graph) channel(node int32) topology.Channel {
	return topology.Channel{Port: topology.PortID(int(node) / g.vcs), VC: uint8(int(node) % g.vcs)}
}

// Add enters a dependency. Entering one again changes nothing.
func (g *Graph) Add(d topology.Dependency) {
	held := g.node(d.Held)
	if held >= len(g.rows) {
		g.rows = append(g.rows, make([]row, held+1-len(g.rows))...)
	}
	g.rows[held].add(g.node(d.Wanted))
}

// Certificate is the outcome of a proof.
type Certificate struct {
	Channels     int // virtual channels that occur in a dependency
	Dependencies int
	AtMost       bool // channels and dependencies may be fewer: some may belong to no packet
	Escape       bool // the channels are escape channels of an adaptive routing
	// Cycle is a cycle of dependencies, the last channel waiting for the first; nil if none.
	Cycle []topology.Channel
	// Destinations of Of destinations were followed. If they differ, no cycle is evidence, not a
	// proof; a cycle found is one.
	Destinations, Of int
}

// Acyclic tells that no cycle was found.
func (c Certificate) Acyclic() bool { return c.Cycle == nil }

// Exact tells that the whole dependency graph was examined.
func (c Certificate) Exact() bool { return c.Destinations == c.Of }

// Describe puts the certificate into words, the cycle channel by channel.
func (c Certificate) Describe(g *topology.Graph) string {
	var b strings.Builder
	kind := "channels"
	if c.Escape {
		kind = "escape channels"
	}
	if c.Acyclic() {
		most := ""
		if c.AtMost {
			most = "at most "
		}
		fmt.Fprintf(&b, "free from deadlock: %s%s %s, %s dependencies, no cycle", most, grouped(c.Channels), kind, grouped(c.Dependencies))
	} else {
		fmt.Fprintf(&b, "can deadlock: a cycle of %d %s", len(c.Cycle), kind)
	}
	if c.Exact() {
		b.WriteString(" (exact)")
	} else {
		fmt.Fprintf(&b, " (sample: %d of %d destinations)", c.Destinations, c.Of)
	}
	for i, channel := range c.Cycle {
		next := c.Cycle[(i+1)%len(c.Cycle)]
		fmt.Fprintf(&b, "\n  %s holds VC %d, waits for VC %d of %s", g.PortName(channel.Port), channel.VC, next.VC, g.PortName(next.Port))
	}
	return b.String()
}

// grouped writes a number with a comma between thousands.
func grouped(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", grouped(n/1000), n%1000)
}

// Certify looks for a cycle. destinations of all were followed. Cost without a cycle: sorting the
// edges.
func (g *Graph) Certify(destinations, all int) Certificate {
	a := g.compress()
	c := Certificate{Channels: a.used(), Dependencies: len(a.to), Escape: g.escape, Destinations: destinations, Of: all}
	for _, node := range a.shortestCycle() {
		c.Cycle = append(c.Cycle, g.channel(node))
	}
	return c
}

// adjacency is the graph in compressed rows, targets ascending.
type adjacency struct {
	start []int32
	to    []int32
}

func (g *Graph) compress() *adjacency {
	a := &adjacency{}
	for n := range g.rows {
		a.start = append(a.start, int32(len(a.to)))
		g.rows[n].each(func(m int) { a.to = append(a.to, int32(m)) })
	}
	// Channels that hold nothing have empty rows.
	for last := slices.Max(append(a.to, -1)); len(a.start) < int(last)+1; {
		a.start = append(a.start, int32(len(a.to)))
	}
	a.start = append(a.start, int32(len(a.to)))
	return a
}

func (a *adjacency) nodes() int { return len(a.start) - 1 }

func (a *adjacency) next(node int32) []int32 { return a.to[a.start[node]:a.start[node+1]] }

func (a *adjacency) used() int {
	seen := make([]bool, a.nodes())
	for n := range seen {
		for _, m := range a.next(int32(n)) {
			seen[n], seen[m] = true, true
		}
	}
	count := 0
	for _, s := range seen {
		if s {
			count++
		}
	}
	return count
}

// span is the words that a row holds in place: enough for all channels out of the largest switches.
const span = 64

// row is a set of nodes. Most are near each other, as the channels that one channel waits for lead
// out of one switch: these are a bitmap, a word for most switches. Others, behind the adaptive
// channels of an escape routing, are in words by number.
type row struct {
	first int // words[0] holds nodes from 64*first on
	words []uint64
	far   map[int]uint64
}

func (r *row) add(node int) {
	word, bit := node/64, uint64(1)<<(node%64)
	i := word - r.first
	switch {
	case r.words == nil:
		r.first, r.words = word, []uint64{bit}
	case i >= 0 && i < len(r.words):
		r.words[i] |= bit
	case i >= 0 && i < span:
		r.words = append(r.words, make([]uint64, i+1-len(r.words))...)
		r.words[i] = bit
	default:
		if r.far == nil {
			r.far = map[int]uint64{}
		}
		r.far[word] |= bit
	}
}

// each visits the members, ascending.
func (r *row) each(visit func(node int)) {
	word := func(number int, w uint64) {
		for ; w != 0; w &= w - 1 {
			visit(64*number + bits.TrailingZeros64(w))
		}
	}
	numbers := slices.Sorted(maps.Keys(r.far))
	after, _ := slices.BinarySearch(numbers, r.first)
	for _, n := range numbers[:after] {
		word(n, r.far[n])
	}
	for i, w := range r.words {
		word(r.first+i, w)
	}
	for _, n := range numbers[after:] {
		word(n, r.far[n])
	}
}

// Local is a channel dependency graph in which a channel waits only for channels out of the switch
// that it leads to, as all do without escape channels. A row is a set of these: bit local*vcs + vc
// is virtual channel vc of the switch's local-th port. Several goroutines may enter dependencies at
// a time, in any order.
//
// Memory: a bit for each (virtual channel into a switch, virtual channel out of it).
type Local struct {
	graph *topology.Graph
	vcs   int
	start []int // len = ports+1: first word of the rows of a port's channels
	words []uint64
}

// maxLocal bounds the memory of a [Local]: 512 MiB.
const maxLocal = 1 << 26

// NewLocal makes an empty graph for g's channels of vcs virtual channels; nil beyond 512 MiB.
func NewLocal(g *topology.Graph, vcs int) *Local {
	l := &Local{graph: g, vcs: vcs, start: make([]int, g.NumPorts()+1)}
	for p := range topology.PortID(g.NumPorts()) {
		l.start[p+1] = l.start[p]
		if peer, ok := g.PeerPort(p); ok {
			l.start[p+1] += vcs * l.width(g.PortSwitch[peer])
		}
	}
	words := l.start[g.NumPorts()]
	if words > maxLocal {
		return nil
	}
	l.words = make([]uint64, words)
	return l
}

func (l *Local) width(s topology.SwitchID) int { return (l.graph.Degree(s)*l.vcs + 63) / 64 }

// AddAll enters that held waits for all channels of a set.
func (l *Local) AddAll(held topology.Channel, wanted []uint64) {
	first := l.start[held.Port] + int(held.VC)*len(wanted)
	for i, set := range wanted {
		if set == 0 {
			continue
		}
		if word := &l.words[first+i]; set&^atomic.LoadUint64(word) != 0 { // mostly all are there
			atomic.OrUint64(word, set)
		}
	}
}

// Certify tells whether there is no cycle; dependencies are of so many destinations. Cost: a few
// steps a dependency.
func (l *Local) Certify(destinations int) (c Certificate, acyclic bool) {
	waiting := make([]int32, l.graph.NumPorts()*l.vcs) // for each channel: how many wait for it
	holds := make([]bool, len(waiting))
	for node := range waiting {
		l.each(node, func(wanted int) {
			holds[node] = true
			waiting[wanted]++
			c.Dependencies++
		})
	}
	var free []int32 // nobody who is left waits for them
	for node, n := range waiting {
		if n > 0 || holds[node] {
			c.Channels++
			if n == 0 {
				free = append(free, int32(node))
			}
		}
	}
	done := 0
	for ; len(free) > 0; done++ {
		node := free[len(free)-1]
		free = free[:len(free)-1]
		l.each(int(node), func(wanted int) {
			if waiting[wanted]--; waiting[wanted] == 0 {
				free = append(free, int32(wanted))
			}
		})
	}
	c.Destinations, c.Of, c.AtMost = destinations, destinations, true
	return c, done == c.Channels
}

// each visits the channels that a channel, port*vcs + vc, waits for.
func (l *Local) each(node int, visit func(wanted int)) {
	p, vc := node/l.vcs, node%l.vcs
	width := (l.start[p+1] - l.start[p]) / l.vcs
	if width == 0 {
		return
	}
	peer, _ := l.graph.PeerPort(topology.PortID(p))
	base := int(l.graph.PortStart[l.graph.PortSwitch[peer]]) * l.vcs
	for i, set := range l.words[l.start[p]+vc*width:][:width] {
		for ; set != 0; set &= set - 1 {
			visit(base + 64*i + bits.TrailingZeros64(set))
		}
	}
}

// components gives each node the number of its strongly connected component (Tarjan, SIAM Journal
// on Computing 1972, without recursion) and the size of each component.
func (a *adjacency) components() (component, size []int32) {
	n := a.nodes()
	component = slices.Repeat([]int32{-1}, n)
	order := make([]int32, n) // 1 + time of discovery; 0: not seen
	low := make([]int32, n)
	cursor := make([]int32, n) // next edge to follow
	var path, stack []int32
	time := int32(0)
	for root := range int32(n) {
		if order[root] != 0 {
			continue
		}
		path = append(path, root)
		for len(path) > 0 {
			v := path[len(path)-1]
			if order[v] == 0 {
				time++
				order[v], low[v], cursor[v] = time, time, a.start[v]
				stack = append(stack, v)
			}
			if cursor[v] < a.start[v+1] {
				w := a.to[cursor[v]]
				switch {
				case order[w] == 0:
					path = append(path, w) // comes back to this edge, seen then
				default:
					cursor[v]++
					if component[w] < 0 {
						low[v] = min(low[v], low[w])
					}
				}
				continue
			}
			path = path[:len(path)-1]
			if low[v] != order[v] {
				continue
			}
			number := int32(len(size))
			size = append(size, 0)
			for {
				w := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				component[w] = number
				size[number]++
				if w == v {
					break
				}
			}
		}
	}
	return component, size
}

// maxStarts bounds the nodes from which shortestCycle searches.
const maxStarts = 20000

// shortestCycle is a shortest cycle of the graph, nil if there is none: a breadth-first search from
// every node that lies on a cycle, cut off at the length of the best one so far. In graphs with
// more than 20,000 nodes on cycles it is a shortest one through the first 20,000 of them.
func (a *adjacency) shortestCycle() []int32 {
	component, size := a.components()
	var best []int32
	parent := make([]int32, a.nodes())
	seen := make([]int32, a.nodes()) // 1 + the start of the search that saw the node last
	starts := 0
	for v := range int32(a.nodes()) {
		if size[component[v]] == 1 && !slices.Contains(a.next(v), v) {
			continue
		}
		if starts++; starts > maxStarts {
			break
		}
		if cycle := a.cycleThrough(v, component, len(best), parent, seen); cycle != nil {
			best = cycle
		}
	}
	return best
}

// cycleThrough is a shortest cycle through v that is shorter than limit (0: no limit), or nil.
func (a *adjacency) cycleThrough(v int32, component []int32, limit int, parent, seen []int32) []int32 {
	level := []int32{v}
	seen[v] = v + 1
	for length := 1; len(level) > 0 && (limit == 0 || length < limit); length++ {
		var next []int32
		for _, u := range level {
			for _, w := range a.next(u) {
				if w == v {
					cycle := make([]int32, length) // the path from v to u
					for i := length - 1; i > 0; i-- {
						cycle[i], u = u, parent[u]
					}
					cycle[0] = v
					return cycle
				}
				if component[w] == component[v] && seen[w] != v+1 {
					seen[w] = v + 1
					parent[w] = u
					next = append(next, w)
				}
			}
		}
		level = next
	}
	return nil
}
