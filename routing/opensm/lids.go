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

// endPort is a port that gets LIDs: of an adapter, or port 0 of a switch.
type endPort struct {
	guid   uint64
	stated int32 // LID that the network states, 0 none
	end    End
}

// assignLIDs gives every end port its LIDs as OpenSM does (osm_lid_mgr.c): ports
// keep those that they have; then the manager's port and all others, by GUID,
// get the next free ones. An adapter's port gets 2^LMC LIDs from a multiple of
// that on, a switch one; LIDs that are skipped stay unused. A stated LID that is
// not such a multiple, or that another port has, counts as none.
func (s *Subnet) assignLIDs() error {
	var ports []endPort
	stated := func(lids []int32, i int) int32 {
		if lids == nil {
			return 0
		}
		return lids[i]
	}
	var lids, switchLIDs []int32
	if known := s.Graph.Names; known != nil {
		lids, switchLIDs = known.TerminalLID, known.SwitchLID
		if lids != nil || len(known.Aggregation) > 0 {
			lids = append(make([]int32, 0, s.adapterPorts()), lids...)
			for len(lids) < s.Graph.Terminals() {
				lids = append(lids, 0)
			}
			for _, a := range known.Aggregation {
				lids = append(lids, a.LID)
			}
		}
	}
	for t := range topology.TerminalID(s.adapterPorts()) {
		ports = append(ports, endPort{s.Names.PortGUID[t], stated(lids, int(t)), End{s.home(t), t}})
	}
	for n, id := range s.Switches {
		ports = append(ports, endPort{s.Names.SwitchGUID[id], stated(switchLIDs, int(id)), End{int32(n), -1}})
	}
	first := func(p endPort) int {
		if p.end.Terminal == s.Manager {
			return 0
		}
		return 1
	}
	slices.SortFunc(ports, func(a, b endPort) int {
		return cmp.Or(cmp.Compare(first(a), first(b)), ib.CompareGUID(a.guid, b.guid))
	})
	s.SwitchLID = make([]int32, len(s.Switches))
	s.TerminalLID = make([]int32, s.adapterPorts())
	s.Ends = []End{nobody}
	for _, p := range ports {
		if count := s.lidCount(p.end); p.stated > 0 && int(p.stated)+count-1 <= maxUnicastLID && int(p.stated)%count == 0 && s.free(int(p.stated), count) {
			s.take(int(p.stated), count, p.end)
		}
	}
	next := 1
	for _, p := range ports {
		if s.BaseLID(p.end) > 0 {
			continue
		}
		count := s.lidCount(p.end)
		lid := (next + count - 1) / count * count
		for !s.free(lid, count) {
			lid += count
		}
		if lid+count-1 > maxUnicastLID {
			return fmt.Errorf("%d end ports with 2^%d LIDs an adapter port need more than the %d LIDs of a subnet", len(ports), s.LMC, maxUnicastLID)
		}
		s.take(lid, count, p.end)
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
