package mpi

import "fmt"

// A matcher pairs receives with messages. It holds the nodes of any number of lists (posted receives
// and early messages of every rank); an item is found by source and tag, either of which may be Any on
// either side, and of several that fit the one that was added first is taken. A list whose scans get
// long is indexed by source and tag, and by source or tag alone once a query with a wildcard needs it,
// so that the cost of a match does not grow with the list.
type matcher struct {
	nodes   []matchNode
	links   [][views]viewLink // len = nodes once any list is indexed
	indexes []matchIndex
	free    int32 // head of the list of free nodes, linked by next; 0 ends it
	order   uint64
}

// matchList is one list of a matcher; the zero value is empty.
type matchList struct {
	head, tail int32 // node numbers; 0 is none
	index      int32 // in indexes, + 1; 0: none
}

// matchNode is an item of a list, with what it matches.
type matchNode struct {
	source, tag int32
	item        int32
	next, prev  int32
	order       uint64
}

// The views of an index: by source and tag, by source, by tag.
const (
	bySourceAndTag = iota
	bySource
	byTag
	views
)

// viewLink links a node in a chain of a view; 0: no node.
type viewLink struct{ next, prev int32 }

// chain is a list of nodes; 0: no node.
type chain struct{ head, tail int32 }

// matchIndex maps the key of each view to the chain of nodes with that key, in order. Views that no
// query needed yet are nil.
type matchIndex struct{ views [views]map[uint64]chain }

// longScan is the number of nodes that a scan may visit before the list is indexed.
const longScan = 16

// viewKey is the key of a view: source, tag, or both.
func viewKey(view int, source, tag int32) uint64 {
	switch view {
	case bySource:
		return uint64(uint32(source))
	case byTag:
		return uint64(uint32(tag))
	}
	return uint64(uint32(source))<<32 | uint64(uint32(tag))
}

// fits tells whether two sources, or two tags, match.
func fits(a, b int32) bool { return a == b || a == Any || b == Any }

func (m *matcher) allocate() (n int32) {
	if n = m.free; n != 0 {
		m.free = m.nodes[n].next
		return n
	}
	if len(m.nodes) == 0 {
		m.nodes = append(m.nodes, matchNode{}) // number 0 means none
	}
	m.nodes = append(m.nodes, matchNode{})
	return int32(len(m.nodes) - 1)
}

// add appends item to l under (source, tag) and returns its node.
func (m *matcher) add(l *matchList, source, tag, item int32) (n int32) {
	n = m.allocate()
	m.order++
	m.nodes[n] = matchNode{source: source, tag: tag, item: item, prev: l.tail, order: m.order}
	if l.tail != 0 {
		m.nodes[l.tail].next = n
	} else {
		l.head = n
	}
	l.tail = n
	if l.index != 0 {
		index := &m.indexes[l.index-1]
		for view := range index.views {
			if index.views[view] != nil {
				m.link(index, view, n)
			}
		}
	}
	return n
}

// take removes the oldest item of l that fits (source, tag).
func (m *matcher) take(l *matchList, source, tag int32) (item int32, ok bool) {
	n := m.oldest(l, source, tag)
	if n == 0 {
		return 0, false
	}
	item = m.nodes[n].item
	m.remove(l, n)
	return item, true
}

// oldest is the oldest node of l that fits, or 0.
func (m *matcher) oldest(l *matchList, source, tag int32) (n int32) {
	if l.index == 0 {
		n = l.head
		for visited := 0; n != 0; visited++ {
			node := &m.nodes[n]
			if fits(node.source, source) && fits(node.tag, tag) {
				break
			}
			if visited == longScan {
				m.indexes = append(m.indexes, matchIndex{})
				l.index = int32(len(m.indexes))
				break
			}
			n = node.next
		}
	}
	if l.index != 0 {
		n = m.find(l, source, tag)
	}
	return n
}

// find returns the oldest node that fits, from the index, or 0.
func (m *matcher) find(l *matchList, source, tag int32) int32 {
	var best int32
	consider := func(view int, source, tag int32) {
		chains := m.indexes[l.index-1].views[view]
		if chains == nil {
			chains = m.buildView(l, view)
		}
		c := chains[viewKey(view, source, tag)]
		if c.head != 0 && (best == 0 || m.nodes[c.head].order < m.nodes[best].order) {
			best = c.head
		}
	}
	switch {
	case source == Any && tag == Any:
		return l.head
	case source == Any:
		consider(byTag, 0, tag)
		consider(byTag, 0, Any)
	case tag == Any:
		consider(bySource, source, 0)
		consider(bySource, Any, 0)
	default:
		consider(bySourceAndTag, source, tag)
		consider(bySourceAndTag, Any, tag)
		consider(bySourceAndTag, source, Any)
		consider(bySourceAndTag, Any, Any)
	}
	return best
}

// buildView enters all nodes of a list into a view of its index.
func (m *matcher) buildView(l *matchList, view int) map[uint64]chain {
	index := &m.indexes[l.index-1]
	index.views[view] = map[uint64]chain{}
	for n := l.head; n != 0; n = m.nodes[n].next {
		m.link(index, view, n)
	}
	return index.views[view]
}

// link appends node n to its chain in a view.
func (m *matcher) link(x *matchIndex, view int, n int32) {
	if len(m.links) < len(m.nodes) {
		m.links = append(m.links, make([][views]viewLink, max(len(m.nodes), 2*len(m.links))-len(m.links))...)
	}
	node := &m.nodes[n]
	key := viewKey(view, node.source, node.tag)
	c := x.views[view][key]
	m.links[n][view] = viewLink{prev: c.tail}
	if c.tail != 0 {
		m.links[c.tail][view].next = n
	} else {
		c.head = n
	}
	c.tail = n
	x.views[view][key] = c
}

// remove takes node n out of l and frees it.
func (m *matcher) remove(l *matchList, n int32) {
	node := &m.nodes[n]
	if node.prev != 0 {
		m.nodes[node.prev].next = node.next
	} else {
		l.head = node.next
	}
	if node.next != 0 {
		m.nodes[node.next].prev = node.prev
	} else {
		l.tail = node.prev
	}
	if l.index != 0 {
		for view, chains := range m.indexes[l.index-1].views {
			if chains != nil {
				m.unlink(chains, viewKey(view, node.source, node.tag), view, n)
			}
		}
	}
	node.next = m.free
	m.free = n
}

func (m *matcher) unlink(chains map[uint64]chain, key uint64, view int, n int32) {
	at := m.links[n][view]
	if at.prev != 0 {
		m.links[at.prev][view].next = at.next
	}
	if at.next != 0 {
		m.links[at.next][view].prev = at.prev
	}
	if at.prev != 0 && at.next != 0 {
		return
	}
	c := chains[key]
	if at.prev == 0 {
		c.head = at.next
	}
	if at.next == 0 {
		c.tail = at.prev
	}
	if c.head == 0 {
		delete(chains, key)
	} else {
		chains[key] = c
	}
}

// items visits the nodes of l in the order of adding.
func (m *matcher) items(l *matchList, visit func(node int32)) {
	for n := l.head; n != 0; n = m.nodes[n].next {
		visit(n)
	}
}

// finds gives a message the oldest receive that waits for it, and tells whether it has one.
func (rt *runtime) finds(m *message) bool {
	if m.pieces.taken > 0 {
		return m.recvID != unmatched
	}
	posted := &rt.ranks[m.to].posted
	node := rt.match.oldest(posted, m.from, m.tag)
	if node == 0 {
		return false
	}
	m.recvID = rt.match.nodes[node].item
	rt.match.remove(posted, node)
	rt.checkLength(m, rt.recvBytes[node])
	return true
}

// checkLength stops the run at a message longer than its receive, as MPI does (MPI_ERR_TRUNCATE).
func (rt *runtime) checkLength(m *message, room int64) {
	if m.bytes > room {
		rt.fail(m.to, TooLong(m.bytes, m.from, m.to, m.tag, room, rt.work.Where(m.to, m.recvID)))
	}
}

// TooLong is the error for a message that is longer than its receive, which stands at a place.
func TooLong(bytes int64, from, to, tag int32, room int64, place string) error {
	return fmt.Errorf("a message of %d B from rank %d to rank %d, tag %d, meets a receive of %d B (%s): want one that is as long, or longer", bytes, from, to, tag, room, place)
}

// keepRecv notes what the report about a left-over receive needs beyond its node of the matcher.
func (rt *runtime) keepRecv(node int32, bytes int64) {
	if int(node) >= len(rt.recvBytes) {
		rt.recvBytes = append(rt.recvBytes, make([]int64, cap(rt.match.nodes)-len(rt.recvBytes))...)
	}
	rt.recvBytes[node] = bytes
}
