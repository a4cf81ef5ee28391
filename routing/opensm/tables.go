package opensm

import (
	"slices"
	"strconv"
)

// Tables are what an engine computes for a subnet.
type Tables struct {
	Engine string
	Subnet *Subnet
	// LFT is the forwarding table of each node (len = nodes, of each MaxLID+1): the
	// port for a LID, 0 for the switch's own, 255 where there is none.
	LFT [][]uint8
	// Lanes is how many virtual lanes the engine's layers take; 0 where it
	// assigns no service levels.
	Lanes int
	// level is the service level of packets from node's hosts to a LID, nil for
	// engines that assign none: all packets then have SL 0.
	level func(node int32, lid int) uint8
	// draws is how many service levels the layer with a base level has, one of which
	// OpenSM draws for each answer; 0 elsewhere.
	draws [16]uint8
	// lanes maps service levels where it differs between ports, nil where every
	// port has the one table of the configuration.
	lanes portLanes
}

// portLanes is the virtual lane of packets of service level sl that go from port in
// of node n to port out; port 0 is the switch itself.
type portLanes func(n int32, in, out, sl uint8) uint8

// newTables makes tables without entries.
func newTables(engine string, s *Subnet) *Tables {
	t := &Tables{Engine: engine, Subnet: s, LFT: make([][]uint8, len(s.Switches))}
	width := s.MaxLID + 1
	all := make([]uint8, len(t.LFT)*width)
	for i := range all {
		all[i] = noPath
	}
	for n := range t.LFT {
		t.LFT[n] = all[n*width : (n+1)*width : (n+1)*width]
	}
	return t
}

// fill enters the ports of an engine that routes to switches, whatever hangs from
// them; port is asked for every two different nodes.
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
	var lids []int
	for lid, e := range s.Ends {
		if e.Terminal >= 0 {
			lids = append(lids, lid)
		}
	}
	return lids
}

// LevelsInUse lists the service levels of the pairs of adapter LIDs.
func (t *Tables) LevelsInUse() []uint8 {
	var used [16]bool
	lids := t.Subnet.hostLIDs()
	for n := range t.Subnet.nodes() {
		if len(t.Subnet.hosts(n)) == 0 {
			continue
		}
		for _, lid := range lids {
			used[t.Level(n, lid)] = true
		}
	}
	var list []uint8
	for level, is := range used {
		if is {
			list = append(list, uint8(level))
		}
	}
	return slices.Clip(list)
}

// Drawn tells whether OpenSM may answer with one service level (drawn) where the
// first one of the layer is another (base); both are hexadecimal digits. Engine
// dfsssp draws at random from the service levels of a layer.
func (t *Tables) Drawn(base, drawn string) bool {
	first, err := strconv.ParseUint(base, 16, 8)
	level, err2 := strconv.ParseUint(drawn, 16, 8)
	if err != nil || err2 != nil || first >= uint64(len(t.draws)) {
		return false
	}
	return level >= first && level < first+uint64(t.draws[first])
}
