package opensm

// nueGraph is the channel dependency graph of a lane, with OpenSM's colours. What is in
// the graph has the colour of the destination that it was entered for last, or of the
// tree of escape. Parts of different colours are taken for parts without a way between
// them, so that a dependency between them needs no search for a cycle; it makes the
// colours one. Colours that were merged twice for one destination are not all known as
// one until the next, as in OpenSM.
//
// Channel links+n is an imaginary one into node n: paths to n begin there.
type nueGraph struct {
	*channels
	// Each channel and dependency has a mark; alias is the colour of a mark, real the
	// one that it was merged into.
	channelMark, mark []int32 // by channel, by slot
	channelWet, wet   []bool  // by channel, by slot: entered for the destination at hand
	wetChannels       []int32 // all of these, and some that are no more
	wetSlots          []int32
	alias, real       []int32 // by mark, by colour
	seen              []int32 // by channel: the last search that came by
	searches          int32
	stack             []int32
}

// Marks and colours that are no destination's.
const (
	nueBlocked = iota // closes a cycle
	nueUnused
	nueEscape
	nueFirst // of the first destination
)

func newNueGraph(s *Subnet) *nueGraph {
	g := &nueGraph{channels: newChannels(s)}
	for n := range s.nodes() {
		g.channels.add(n, n, -1)
	}
	g.channelMark, g.channelWet, g.seen = make([]int32, len(g.peer)), make([]bool, len(g.peer)), make([]int32, len(g.peer))
	g.mark, g.wet = make([]int32, g.slots), make([]bool, g.slots)
	return g
}

// clear takes everything out.
func (g *nueGraph) clear() {
	for c := range g.channelMark {
		g.channelMark[c] = nueUnused
	}
	for slot := range g.mark {
		g.mark[slot] = nueUnused
	}
	g.alias, g.real = g.alias[:0], g.real[:0]
	for g.newMark() < nueEscape {
	}
}

// newMark is a mark with a colour of its own.
func (g *nueGraph) newMark() int32 {
	m := int32(len(g.alias))
	g.alias, g.real = append(g.alias, m), append(g.real, m)
	return m
}

// imaginary is the channel into a node at which paths to it begin.
func (g *nueGraph) imaginary(n int32) int32 { return int32(len(g.slot)) - int32(len(g.start)) + 1 + n }

func (g *nueGraph) color(slot int32) int32     { return g.real[g.alias[g.mark[slot]]] }
func (g *nueGraph) channelColor(c int32) int32 { return g.real[g.alias[g.channelMark[c]]] }

// begins gives the imaginary channel of a node a destination's mark, or its colour.
func (g *nueGraph) begins(c, m int32) {
	if g.channelColor(c) > nueUnused {
		g.real[g.alias[g.channelMark[c]]] = m
	} else {
		g.channelMark[c] = m
	}
}

// add enters the dependency of channel c on channel d for the destination of a colour,
// unless it is known to close a cycle: then ok is false.
func (g *nueGraph) add(c, d, color int32) (ok bool) {
	slot := g.at(c, d)
	if g.color(slot) > nueUnused {
		return true
	}
	switch g.channelColor(d) {
	case color:
		if g.leads(d, c) {
			g.mark[slot] = nueBlocked
			return false
		}
	case nueUnused:
		g.channelMark[d], g.channelWet[d] = g.channelMark[c], true
		g.wetChannels = append(g.wetChannels, d)
	default:
		g.real[g.alias[g.channelMark[d]]] = g.alias[g.channelMark[c]]
	}
	g.mark[slot], g.wet[slot] = g.channelMark[c], true
	g.wetSlots = append(g.wetSlots, slot)
	return true
}

// undo takes a dependency out that was entered for the destination at hand.
func (g *nueGraph) undo(slot int32) {
	if g.wet[slot] {
		g.mark[slot], g.wet[slot] = nueUnused, false
	}
}

// leads tells whether dependencies lead from a channel to another.
func (g *nueGraph) leads(from, to int32) bool {
	g.searches++
	g.stack = append(g.stack[:0], from)
	g.seen[from] = g.searches
	for len(g.stack) > 0 {
		c := g.stack[len(g.stack)-1]
		g.stack = g.stack[:len(g.stack)-1]
		n := g.peer[c]
		slot := g.slot[c]
		for d := g.start[n]; d < g.start[n+1]; d, slot = d+1, slot+1 {
			if g.mark[slot] <= nueUnused || g.seen[d] == g.searches {
				continue
			}
			if d == to {
				return true
			}
			g.seen[d] = g.searches
			g.stack = append(g.stack, d)
		}
	}
	return false
}

// keep leaves the dependencies of the paths from a node, by used channels, in the graph
// if they are in it, and takes out all others that were entered for the destination.
func (g *nueGraph) keep(source int32, used []int32) {
	for _, l := range used {
		if l < 0 {
			continue
		}
		before := g.imaginary(source)
		if n := g.begin[l]; n != source {
			before = used[n]
		}
		g.channelWet[l], g.wet[g.at(before, l)] = false, false
	}
	for _, slot := range g.wetSlots {
		g.undo(slot)
	}
	for _, c := range g.wetChannels {
		if g.channelWet[c] {
			g.channelMark[c], g.channelWet[c] = nueUnused, false
		}
	}
	g.wetSlots, g.wetChannels = g.wetSlots[:0], g.wetChannels[:0]
	for m, color := range g.alias {
		g.alias[m] = g.real[color]
	}
}
