package routes

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/certify"
	"github.com/weft-sim/weft/routing/opensm"
)

// Matrix is a traffic matrix: the shares of a terminal's packets by destination.
type Matrix interface {
	Weights(src topology.TerminalID, yield func(dst topology.TerminalID, weight float64))
}

// Load is what a traffic matrix puts on the cables between switches when every
// adapter port sends at its full rate.
type Load struct {
	// Cable is the load of each direction of a cable (len = len(Subnet.Links)), in
	// full rates of an adapter port.
	Cable []float64
	// Use is the load in units of what the cable carries: 1 is full. It differs from
	// Cable where cables have other rates than the fastest adapter.
	Use []float64
	// Hops is the mean number of cables between switches over all pairs of adapter
	// ports, MaxHops the largest.
	Hops    float64
	MaxHops int
}

// loads follows all pairs. Cost: switches times terminals times the length of paths.
func loads(t *opensm.Tables, m Matrix) *Load {
	s := t.Subnet
	g := s.Graph
	l := &Load{Cable: make([]float64, len(s.Links)), Use: make([]float64, len(s.Links))}
	row := make([]float64, g.Terminals())
	var path []int32
	hops, pairs := 0, 0
	for n := range s.Switches {
		hosts := s.Terminals(int32(n))
		if len(hosts) == 0 {
			continue
		}
		clear(row)
		for _, h := range hosts {
			m.Weights(h.Terminal, func(dst topology.TerminalID, weight float64) { row[dst] += weight })
		}
		for to, weight := range row {
			var ok bool
			if path, ok = t.Path(int32(n), int(s.TerminalLID[to]), path); !ok {
				continue
			}
			hops += len(path) * len(hosts)
			pairs += len(hosts)
			l.MaxHops = max(l.MaxHops, len(path))
			if weight != 0 {
				for _, link := range path {
					l.Cable[link] += weight
				}
			}
		}
	}
	if pairs > 0 {
		l.Hops = float64(hops) / float64(pairs)
	}
	fastest := 0.0
	rate := func(p topology.PortID) float64 { return float64(g.Classes[g.PortClass[p]].Rate) }
	for _, p := range g.TerminalPort {
		fastest = max(fastest, rate(p))
	}
	for i, link := range s.Links {
		l.Use[i] = l.Cable[i]
		if r := rate(link.Graph); r > 0 && fastest > 0 {
			l.Use[i] *= fastest / r
		}
	}
	return l
}

// Throughput is the share of its rate that every adapter port can send at most,
// before the first cable between switches is full.
func (l *Load) Throughput() float64 {
	if len(l.Use) == 0 {
		return 1
	}
	return 1 / max(1, slices.Max(l.Use))
}

// Hottest lists the n directions of cables with the highest use, equals in the order of
// the subnet's links.
func (l *Load) Hottest(n int) []int32 {
	order := make([]int32, len(l.Use))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		switch x, y := l.Use[a], l.Use[b]; {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return order[:min(n, len(order))]
}

// cableName is a direction of a cable in words.
func cableName(s *opensm.Subnet, link int32) string {
	l := s.Links[link]
	back := s.Links[l.Back]
	return fmt.Sprintf("%s to %s", s.Graph.PortName(l.Graph), s.Graph.PortName(back.Graph))
}

// certificate looks for cycles of channels that wait for each other.
func certificate(t *opensm.Tables) certify.Certificate {
	g := certify.New(t.VCs())
	t.Dependencies(g.Add)
	return g.Certify(1, 1)
}
