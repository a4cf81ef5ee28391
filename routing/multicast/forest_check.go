package multicast

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// maxProblems is the number of problems after which a check gives up.
const maxProblems = 20

// Check verifies the forest from the trees and the forwarding tables alone: every tree is made of
// cables, spans its groups' members and has the height that it claims; no two trees of one colour
// share a switch (or port); packets by the table rows from any member reach every member of every
// group on its tree once and nobody else; colours are within the limit; the counts of groups on
// cables, trees through switches and groups per colour are right. Up to twenty problems are
// returned together. Cost: linear in the trees, and for each sender linear in its tree.
func (f *Forest) Check() error {
	c := &checker{f: f, graph: f.env.Graph, used: map[cellColour]*Planted{}}
	efi := make([]int32, len(f.efi))
	through := make([]int32, len(f.through))
	perColour := make([]int, len(f.colours))
	groups := 0
	for p := range f.byColour {
		c.structure(p)
		for _, cell := range f.cellsOf(p.Tree, p.Groups, nil) {
			key := cellColour{cell, p.Colour}
			if other := c.used[key]; other != nil {
				c.problem("groups %d and %d both have colour %d in cell %d", other.Groups[0].ID, p.Groups[0].ID, p.Colour, cell)
			}
			c.used[key] = p
		}
	}
	if len(c.problems) > 0 {
		return errors.Join(c.problems...)
	}
	tables := f.Tables()
	for p := range f.byColour {
		c.delivery(p, tables)
		for _, up := range p.Up[1:] {
			efi[up] += int32(len(p.Groups))
			efi[c.graph.Peer[up]] += int32(len(p.Groups))
		}
		for _, s := range p.Switches {
			through[s]++
		}
		perColour[p.Colour] += len(p.Groups)
		groups += len(p.Groups)
		for _, g := range p.Groups {
			if f.groups[g.ID] != p {
				c.problem("group %d is not filed under its tree", g.ID)
			}
		}
	}
	if groups != len(f.groups) || f.NumTrees() != c.trees {
		c.problem("%d groups on %d trees, filed are %d on %d", groups, c.trees, len(f.groups), f.NumTrees())
	}
	for port, n := range efi {
		if n != f.efi[port] {
			c.problem("%s carries %d groups, counted are %d", c.graph.PortName(topology.PortID(port)), n, f.efi[port])
		}
	}
	for s, n := range through {
		if n != f.through[s] {
			c.problem("%s is in %d trees, counted are %d", c.graph.SwitchName(topology.SwitchID(s)), n, f.through[s])
		}
	}
	for colour, n := range perColour {
		if n != f.colours[colour].groups {
			c.problem("colour %d has %d groups, counted are %d", colour, n, f.colours[colour].groups)
		}
	}
	c.occupancy()
	return errors.Join(c.problems...)
}

// cellColour is a colour in a cell, which one tree may occupy.
type cellColour struct {
	cell   int32
	colour Colour
}

// checker collects the problems of a forest, the first maxProblems.
type checker struct {
	f        *Forest
	graph    *topology.Graph
	trees    int
	used     map[cellColour]*Planted
	problems []error
}

func (c *checker) problem(format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, fmt.Errorf(format, args...))
	}
}

// structure checks that p is a tree, spans its members and has its height.
func (c *checker) structure(p *Planted) {
	c.trees++
	if p.Colour < 0 || c.f.env.Entries != Unlimited && int(p.Colour) >= c.f.env.Entries {
		c.problem("colour %d: want 0 to %d", p.Colour, c.f.env.Entries-1)
	}
	if len(p.Groups) == 0 {
		c.problem("a tree of colour %d carries no group", p.Colour)
		return
	}
	seen := map[topology.SwitchID]bool{}
	for i, s := range p.Switches {
		if seen[s] {
			c.problem("%s is twice in the tree of group %d", c.graph.SwitchName(s), p.Groups[0].ID)
		}
		seen[s] = true
		if i == 0 {
			if p.Up[0] != topology.NoPort {
				c.problem("the root %s of group %d has a parent", c.graph.SwitchName(s), p.Groups[0].ID)
			}
			continue
		}
		if peer, ok := c.graph.PeerPort(p.Up[i]); !ok || c.graph.PortSwitch[p.Up[i]] != s {
			c.problem("%s does not lead from %s to a switch", c.graph.PortName(p.Up[i]), c.graph.SwitchName(s))
			return
		} else if !seen[c.graph.PortSwitch[peer]] {
			c.problem("%s comes before its parent in the tree of group %d", c.graph.SwitchName(s), p.Groups[0].ID)
		}
	}
	height := 0
	for i := range p.Groups {
		for _, s := range p.Groups[i].Span(c.graph) {
			if !seen[s] {
				c.problem("the tree of group %d lacks %s", p.Groups[i].ID, c.graph.SwitchName(s))
			}
		}
		height = max(height, p.Tree.HeightOf(c.graph, &p.Groups[i]))
	}
	if height != p.Height {
		c.problem("the tree of group %d has height %d, claimed is %d", p.Groups[0].ID, height, p.Height)
	}
}

// occupancy checks the bitmaps against what exclusive saw.
func (c *checker) occupancy() {
	marked := 0
	for cell, busy := range c.f.busy {
		for colour := range Colour(64 * len(busy)) {
			if busy.has(int(colour)) {
				marked++
				if c.used[cellColour{int32(cell), colour}] == nil || !c.f.colours[colour].taken.has(cell) {
					c.problem("cell %d holds on to colour %d", cell, colour)
				}
			}
		}
	}
	if marked != len(c.used) {
		c.problem("%d cells are in use, marked are %d", len(c.used), marked)
	}
}

// MostSenders bounds the members of a group from which a check sends packets, evenly chosen.
const MostSenders = 32

// delivery sends packets from members, MostSenders evenly chosen at most, along the table rows.
func (c *checker) delivery(p *Planted, tables []Rows) {
	listeners := p.members()
	for i := 0; i < len(listeners.Terminals); i += 1 + len(listeners.Terminals)/MostSenders {
		t := listeners.Terminals[i]
		c.send(p, tables, &listeners, c.graph.TerminalPort[t], c.graph.TerminalSwitch(t))
	}
	for i := 0; i < len(listeners.Switches); i += 1 + len(listeners.Switches)/MostSenders {
		c.send(p, tables, &listeners, topology.NoPort, listeners.Switches[i])
	}
}

// send injects a packet into switch s by port in (NoPort: its management port) and checks that
// every other listener, and nobody else, gets it once.
func (c *checker) send(p *Planted, tables []Rows, listeners *Group, in topology.PortID, s topology.SwitchID) {
	type arrival struct {
		in topology.PortID
		sw topology.SwitchID
	}
	got := Group{}
	queue := []arrival{{in, s}}
	for head := 0; head < len(queue); head++ {
		if head > len(p.Switches) {
			c.problem("packets of group %d run in a circle", p.Groups[0].ID)
			return
		}
		a := queue[head]
		row := tables[a.sw].find(p.Colour, a.in, c.f.env.PerPort)
		if row < 0 {
			c.problem("%s has no row for colour %d", c.graph.SwitchName(a.sw), p.Colour)
			return
		}
		if tables[a.sw].Local[row] {
			got.Switches = append(got.Switches, a.sw)
		}
		for _, out := range tables[a.sw].Ports[row] {
			if peer, ok := c.graph.PeerPort(out); ok && out != a.in {
				queue = append(queue, arrival{peer, c.graph.PortSwitch[peer]})
			} else if t, ok := c.graph.PeerTerminal(out); ok {
				got.Terminals = append(got.Terminals, t) // the sender, too, has its port in the row
			}
		}
	}
	slices.Sort(got.Terminals)
	slices.Sort(got.Switches)
	if !slices.Equal(got.Terminals, listeners.Terminals) || !slices.Equal(got.Switches, listeners.Switches) {
		c.problem("a packet of group %d from %s reaches terminals %d and switches %d in place of %d and %d",
			p.Groups[0].ID, c.graph.SwitchName(s), got.Terminals, got.Switches, listeners.Terminals, listeners.Switches)
	}
}
