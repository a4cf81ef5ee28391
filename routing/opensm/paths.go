package opensm

import (
	"fmt"

	"github.com/weft-sim/weft/fabric/topology"
)

// follow appends to path[:0] the cables between switches (indices in Subnet.Links)
// from a node to a LID, up to where the tables lead to a host, into a switch or
// nowhere, or for as many steps as there are switches.
func (t *Tables) follow(n int32, lid int, path []int32) []int32 {
	path = path[:0]
	for len(path) < len(t.LFT) {
		l := t.Subnet.at[int(n)<<8|int(t.LFT[n][lid])]
		if l < 0 {
			break
		}
		path = append(path, l)
		n = t.Subnet.Links[l].Peer
	}
	return path
}

// Path appends to path[:0] the cables between switches, as indices in Subnet.Links,
// that packets take from a node to a LID. ok is false if they do not arrive.
func (t *Tables) Path(n int32, lid int, path []int32) (_ []int32, ok bool) {
	path = t.follow(n, lid, path)
	if len(path) > 0 {
		n = t.Subnet.Links[path[len(path)-1]].Peer
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

// Unreachable counts the pairs of terminals whose packets do not arrive, and names the
// first; the base LIDs count.
func (t *Tables) Unreachable() (pairs int, first string) {
	s := t.Subnet
	var path []int32
	for n := range s.nodes() {
		hosts := s.Terminals(n)
		if len(hosts) == 0 {
			continue
		}
		for to, lid := range s.TerminalLID[:s.Graph.Terminals()] {
			var ok bool
			if path, ok = t.Path(n, int(lid), path); !ok {
				if pairs += len(hosts); first == "" {
					first = fmt.Sprintf("%s to %s", s.Graph.TerminalName(hosts[0].Terminal), s.Graph.TerminalName(topology.TerminalID(to)))
				}
			}
		}
	}
	return pairs, first
}

// classes numbers what a packet may be on a channel: lanes, from 0.
type classes struct {
	t *Tables
	// of is the class of each service level in use, where all ports have one table.
	of    [16]uint8
	count int
}

// newClasses gives each service level in use a lane of its own, or takes the lanes
// that torus-2QoS distinguishes.
func (t *Tables) newClasses() *classes {
	c := &classes{t: t, count: 1}
	switch {
	case t.lanes != nil:
		var used uint8
		t.eachChannel(func(_ int32, lane uint8) { used = max(used, lane) }, c)
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

// lane is the class of a packet of level sl that goes from port in of a node to port
// out.
func (c *classes) lane(n int32, in, out, sl uint8) uint8 {
	if c.t.lanes != nil {
		return c.t.lanes(n, in, out, sl)
	}
	return c.of[sl&15]
}

// eachChannel visits the channels of all paths between terminals with the class that
// packets have there.
func (t *Tables) eachChannel(visit func(link int32, lane uint8), c *classes) {
	t.eachPath(c, func(path []int32, lanes []uint8) {
		for i, l := range path {
			visit(l, lanes[i])
		}
	})
}

// eachPath visits the paths from every switch with terminals to every LID of a
// terminal, with the class that packets have on each channel.
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
			path = t.follow(n, lid, path)
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
