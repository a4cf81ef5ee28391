package opensm

import "fmt"

func init() {
	register(Engine{
		Name:   "torus-2QoS",
		Doc:    "dimension order on tori and meshes, rings broken by datelines, two levels of quality of service",
		Source: "Dally and Seitz, IEEE Transactions on Computers 1987; OpenSM's osm_torus.c and doc/torus-2QoS.txt",
		Levels: true,
		Route:  routeTorus,
	})
}

// routeTorus is torus-2QoS: dimension order in tori and meshes of up to three
// dimensions. Bit d of a packet's service level says whether its path crosses the
// dateline of dimension d, which makes two lanes of each ring; turns against
// dimension order, which paths around a missing switch make, change to two further
// lanes. Eight data lanes serve two levels of quality of service.
//
// Deviations: parallel cables between two switches, several seeds and OpenSM's
// checks of the arbitration tables are left out.
func routeTorus(s *Subnet, o *Options) (*Tables, error) {
	grid := o.grid
	if o.Torus != nil {
		var err error
		if grid, err = s.place(o.Torus); err != nil {
			return nil, &Refusal{"torus-2QoS", err.Error()}
		}
	}
	if grid == nil {
		return nil, fmt.Errorf("torus-2QoS needs a torus or mesh of at most three dimensions, or the file torus_config")
	}
	if o.OperationalVLs < 8 {
		return nil, &Refusal{"torus-2QoS", fmt.Sprintf("%d data virtual lanes: two levels of service on a torus need 8", o.OperationalVLs)}
	}
	w := newTorusRoutes(s, grid)
	t := newTables("torus-2QoS", s)
	t.Lanes = 4
	t.fill(w.port)
	t.level = func(n int32, lid int) uint8 { return grid.level(grid.at[n], grid.at[s.Ends[lid].Node]) }
	t.lanes = w.lanes
	return t, nil
}

// level has bit d set if the path in the ring of dimension d, were nothing
// missing, crosses between the last coordinate and 0. Meshes count as tori here.
func (g *torusGrid) level(from, to point) uint8 {
	bits := uint8(0)
	for d := range 3 {
		ahead := (to[d] - from[d] + g.size[d]) % g.size[d]
		if wrapped := to[d] < from[d]; ahead != 0 && (2*ahead < g.size[d] && wrapped || 2*ahead > g.size[d] && !wrapped) {
			bits |= 1 << d
		}
	}
	return bits
}

// torusRoutes knows the first cable in every direction.
type torusRoutes struct {
	s    *Subnet
	grid *torusGrid
	out  [][6]uint8   // by node: port in direction 2*d (up) or 2*d+1 (down), 0 none
	of   [][256]uint8 // by node and port: 1 + dimension that it points along, 0 for hosts
}

func newTorusRoutes(s *Subnet, grid *torusGrid) *torusRoutes {
	w := &torusRoutes{s, grid, make([][6]uint8, len(s.Switches)), make([][256]uint8, len(s.Switches))}
	for n := range s.nodes() {
		for d := range 3 {
			for i, by := range []int{1, -1} {
				at, ok := grid.step(grid.at[n], d, by)
				if !ok {
					continue
				}
				for _, l := range s.links(n) {
					if grid.at[l.Peer] != at {
						continue
					}
					if w.out[n][2*d+i] == 0 {
						w.out[n][2*d+i] = l.Port
					}
					w.of[n][l.Port] = uint8(1 + d)
				}
			}
		}
	}
	return w
}

// port is the next step from one switch to another.
func (w *torusRoutes) port(from, to int32) uint8 {
	at, end := w.grid.at[from], w.grid.at[to]
	for d := range 3 {
		if at[d] == end[d] {
			continue
		}
		first := w.preferred(d, at[d], end[d])
		for _, by := range []int{first, -first} {
			if w.intact(at, d, by, end[d]) {
				return w.out[from][direction6(d, by)]
			}
		}
		// The corner is missing: on towards it while there are switches, then turn.
		corner := at
		corner[d] = end[d]
		if w.grid.node[w.grid.index(corner)] < 0 {
			if port := w.out[from][direction6(d, first)]; port != 0 {
				return port
			}
		}
	}
	return noPath
}

func direction6(d, by int) int {
	if by > 0 {
		return 2 * d
	}
	return 2*d + 1
}

// preferred is the direction of the shorter way round, of equals the one that does
// not wrap.
func (w *torusRoutes) preferred(d, from, to int) int {
	if !w.grid.wraps[d] {
		if to > from {
			return 1
		}
		return -1
	}
	ahead := (to - from + w.grid.size[d]) % w.grid.size[d]
	switch {
	case 2*ahead < w.grid.size[d]:
		return 1
	case 2*ahead > w.grid.size[d]:
		return -1
	case to > from:
		return 1
	}
	return -1
}

// intact tells whether all switches and cables are there from a position along
// dimension d to coordinate to.
func (w *torusRoutes) intact(at point, d, by, to int) bool {
	for at[d] != to {
		n := w.grid.node[w.grid.index(at)]
		if n < 0 || w.out[n][direction6(d, by)] == 0 {
			return false
		}
		next, ok := w.grid.step(at, d, by)
		if !ok {
			return false
		}
		at = next
	}
	return w.grid.node[w.grid.index(at)] >= 0
}

// lanes is the virtual lane between two ports: towards another switch, the service
// level's bit of the dimension, 4 for the second level of service, and 2 more after a
// turn that dimension order forbids; to hosts and into the switch the level of
// service alone.
func (w *torusRoutes) lanes(n int32, in, out, sl uint8) uint8 {
	dimension, quality := w.of[n][out], sl>>3
	if dimension == 0 {
		return quality
	}
	lane := sl>>(dimension-1)&1 | quality<<2
	if w.of[n][in] > dimension {
		lane |= 2
	}
	return lane
}
