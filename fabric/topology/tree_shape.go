package topology

import "fmt"

// treeShape is what the tree generators share: it implements [Tree] for trees
// in which every switch reaches a contiguous range of terminals, divided into
// equal blocks (the last one may be partly filled) over its down ports, with
// the same number of consecutive ports to each block. Down ports come before
// up ports.
type treeShape struct {
	graph  *Graph
	levels []treeLevel  // leaves first
	low    []TerminalID // len = switches: first terminal below
	high   []TerminalID // len = switches: first terminal above those below
}

// treeLevel describes the switches of one level, which have consecutive
// numbers.
type treeLevel struct {
	first SwitchID
	block int // terminals below one child (1 for leaves)
	ports int // consecutive ports that lead to one child
}

// Graph implements [Topology].
func (x *treeShape) Graph() *Graph { return x.graph }

// Levels implements [Tree].
func (x *treeShape) Levels() int { return len(x.levels) }

// LevelOf implements [Tree].
func (x *treeShape) LevelOf(s SwitchID) int {
	level := len(x.levels) - 1
	for x.levels[level].first > s {
		level--
	}
	return level
}

// UpPorts implements [Tree].
func (x *treeShape) UpPorts(s SwitchID) (first, end PortID) {
	l := &x.levels[x.LevelOf(s)]
	children := (int(x.high[s]-x.low[s]) + l.block - 1) / l.block
	first, end = x.graph.Ports(s)
	return first + PortID(children*l.ports), end
}

// DownTo implements [Tree].
func (x *treeShape) DownTo(s SwitchID, t TerminalID) (first PortID, count int) {
	if t < x.low[s] || t >= x.high[s] {
		return NoPort, 0
	}
	l := &x.levels[x.LevelOf(s)]
	child := int(t-x.low[s]) / l.block
	return x.graph.PortStart[s] + PortID(child*l.ports), l.ports
}

// treeClasses names the channel classes of a tree of so many switch levels:
// "terminal", then "level1" for the cables between levels 0 and 1, and so on.
func treeClasses(levels int) []Class {
	classes := []Class{{Name: "terminal", Latency: 1}}
	for i := 1; i < levels; i++ {
		classes = append(classes, Class{Name: fmt.Sprintf("level%d", i), Latency: 1})
	}
	return classes
}
