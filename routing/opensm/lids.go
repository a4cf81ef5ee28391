package opensm

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/ib"
	"github.com/weft-sim/weft/sim/input"
)

// describe names an end port as OpenSM's dumps do: what it is of, its GUID, and the name of
// its node.
func (s *Subnet) describe(e End) (kind string, guid topology.GUID, name string) {
	if e.Terminal >= 0 {
		return "Channel Adapter", s.Names.Terminals[e.Terminal].PortGUID, s.Names.Terminals[e.Terminal].Name
	}
	return "Switch", s.guid(e.Node), s.Names.Switches[s.Switches[e.Node]].Name
}

// ends lists the ports that get LIDs, those of adapters and port 0 of the switches, by GUID;
// of equal ones a switch is first.
func (s *Subnet) ends() []End {
	var ends []End
	for n := range s.nodes() {
		ends = append(ends, End{n, -1})
	}
	for t := range topology.TerminalID(s.adapterPorts()) {
		ends = append(ends, End{s.home(t), t})
	}
	slices.SortFunc(ends, func(a, b End) int {
		_, guidA, _ := s.describe(a)
		_, guidB, _ := s.describe(b)
		return cmp.Or(ib.CompareGUID(guidA, guidB), cmp.Compare(a.Terminal, b.Terminal))
	})
	return ends
}

// stated is the LID that the network states for an end port, 0 if it states none.
func (s *Subnet) stated(e End) int32 {
	known := s.Graph.Names
	switch {
	case known == nil:
	case e.Terminal < 0 && known.Switches != nil:
		return known.Switches[s.Switches[e.Node]].LID
	case e.Terminal >= 0 && !s.isTerminal(e.Terminal):
		return known.Aggregation[int(e.Terminal)-s.Graph.Terminals()].LID
	case e.Terminal >= 0 && known.Terminals != nil:
		return known.Terminals[e.Terminal].LID
	}
	return 0
}

// assignLIDs gives every end port its LIDs as OpenSM does (osm_lid_mgr.c): ports
// keep those that they have; then the manager's port and all others, by GUID,
// get the next free ones. An adapter's port gets 2^LMC LIDs from a multiple of
// that on, a switch one; LIDs that are skipped stay unused. A stated LID that is
// not such a multiple, or that another port has, counts as none.
func (s *Subnet) assignLIDs() error {
	ends := s.ends()
	manager := slices.IndexFunc(ends, func(e End) bool { return e.Terminal == s.Manager })
	ends = slices.Insert(slices.Delete(ends, manager, manager+1), 0, End{s.home(s.Manager), s.Manager})
	s.SwitchLID = make([]int32, len(s.Switches))
	s.TerminalLID = make([]int32, s.adapterPorts())
	s.Ends = []End{nobody}
	for _, e := range ends {
		if lid, count := int(s.stated(e)), s.lidCount(e); lid > 0 && lid+count-1 <= maxUnicastLID && lid%count == 0 && s.free(lid, count) {
			s.take(lid, count, e)
		}
	}
	next := 1
	for _, e := range ends {
		if s.BaseLID(e) > 0 {
			continue
		}
		count := s.lidCount(e)
		lid := (next + count - 1) / count * count
		for !s.free(lid, count) {
			lid += count
		}
		if lid+count-1 > maxUnicastLID {
			return fmt.Errorf("%d end ports with 2^%d LIDs an adapter port need more than the %d LIDs of a subnet", len(ends), s.LMC, maxUnicastLID)
		}
		s.take(lid, count, e)
		next = lid + count
	}
	s.MaxLID = len(s.Ends) - 1
	return nil
}

// lidCount is how many LIDs an end port has.
func (s *Subnet) lidCount(e End) int {
	if e.Terminal < 0 {
		return 1
	}
	return 1 << s.LMC
}

// BaseLID is the first LID of an end port.
func (s *Subnet) BaseLID(e End) int32 {
	if e.Terminal < 0 {
		return s.SwitchLID[e.Node]
	}
	return s.TerminalLID[e.Terminal]
}

// free tells whether nobody has the count LIDs from lid on.
func (s *Subnet) free(lid, count int) bool {
	for i := lid; i < lid+count && i < len(s.Ends); i++ {
		if s.Ends[i] != nobody {
			return false
		}
	}
	return true
}

func (s *Subnet) take(lid, count int, e End) {
	for len(s.Ends) < lid+count {
		s.Ends = append(s.Ends, nobody)
	}
	for i := lid; i < lid+count; i++ {
		s.Ends[i] = e
	}
	if e.Terminal < 0 {
		s.SwitchLID[e.Node] = int32(lid)
	} else {
		s.TerminalLID[e.Terminal] = int32(lid)
	}
}

// ReadGUIDs reads a file of GUIDs, one a line, as OpenSM's root_guid_file,
// cn_guid_file and guid_routing_order_file are: hexadecimal with 0x, decimal
// without. name is the file's name for messages; problems are returned together.
func ReadGUIDs(r io.Reader, name string) ([]uint64, error) {
	in := input.NewLines(r, name)
	guids := []uint64{}
	for words := in.NextWords(); words != nil; words = in.NextWords() {
		guid, err := parseGUID(words[0])
		if err != nil || len(words) > 1 {
			in.Problem("%s: want one GUID a line, such as 0x0002c90200001234", input.Quote(strings.Join(words, " ")))
			continue
		}
		guids = append(guids, guid)
	}
	return guids, in.Finish()
}

// parseGUID reads a number as C's strtoull does by its prefix.
func parseGUID(word string) (uint64, error) {
	if strings.ContainsAny(word, "_+-bBoO") && !strings.HasPrefix(word, "0x") && !strings.HasPrefix(word, "0X") {
		return 0, errors.New("not a number")
	}
	if strings.Contains(word, "_") {
		return 0, errors.New("not a number")
	}
	return strconv.ParseUint(word, 0, 64)
}
