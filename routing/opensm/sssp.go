package opensm

import (
	"errors"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/opensm/sssp"
)

func init() {
	register(Engine{
		Name:   "sssp",
		Doc:    "shortest paths by weights that grow with the paths that are there",
		Source: "Hoefler, Schneider and Lumsdaine, Hot Interconnects 2009; OpenSM's osm_ucast_dfsssp.c",
		Route: func(s *Subnet, o *Options) (*Tables, error) {
			return routeSSSP("sssp", s, nil)
		},
	})
}

// routeSSSP routes every LID by a Dijkstra search of its own ([sssp.Paths]). Paths
// are balanced over all links; they can have cycles of channels. visit, unless
// nil, sees each destination once its column of the tables is filled.
func routeSSSP(engine string, s *Subnet, visit func(t *Tables, lid int)) (*Tables, error) {
	t := newTables(engine, s)
	paths := sssp.New(s.Graph, s.Switches, s.lidCounts())
	if err := paths.Check(s.Manager); err != nil {
		if refused := (*sssp.InfinityError)(nil); errors.As(err, &refused) {
			return nil, &Refusal{engine, "ERR AD0C: unsupported network state; " + err.Error()}
		}
		return nil, err
	}
	towards := make([]uint8, len(paths.Links)) // physical port at Link.To
	for i, l := range paths.Links {
		towards[i] = uint8(s.Names.Port[l.Port])
	}
	paths.Unicast(func(v int32, terminal topology.TerminalID, i int) {
		lid := int(s.BaseLID(End{v, terminal})) + i
		for n, link := range paths.Used {
			if link >= 0 {
				t.LFT[n][lid] = towards[link]
			}
		}
		if terminal >= 0 {
			t.LFT[v][lid] = s.hostPort(terminal)
		} else {
			t.LFT[v][lid] = 0
		}
		if visit != nil {
			visit(t, lid)
		}
	})
	return t, nil
}
