package topology

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/sim/param"
)

// GridConfig configures the topologies "torus" and "mesh"; see [GridNetwork].
type GridConfig struct {
	Dims      []int `toml:"dims" doc:"switches along each dimension" min:"2" max:"32767"`
	Terminals int   `toml:"terminals" doc:"terminals of a switch" min:"1" max:"4096"`
}

func init() {
	Register("torus", "torus of any number of dimensions", GridConfig{Dims: []int{8, 8}, Terminals: 1},
		func(c GridConfig) *GridNetwork { return newGrid(c, true) })
	Register("mesh", "mesh of any number of dimensions; with every dimension 2, the hypercube", GridConfig{Dims: []int{8, 8}, Terminals: 1},
		func(c GridConfig) *GridNetwork { return newGrid(c, false) })
}

// Validate checks what the tags cannot.
func (c *GridConfig) Validate() error {
	switches, sum, err := CheckDims(c.Dims, 28)
	if err != nil {
		return err
	}
	if reach := sum - len(c.Dims); reach > 32767 {
		return &param.ParamError{Key: "dims", Value: c.Dims, Want: fmt.Sprintf("paths of at most 32767 hops; corner to corner is %d", reach)}
	}
	return CheckPorts("dims", c.Dims, switches*(c.Terminals+2*len(c.Dims)))
}

// CheckDims refuses more than so many dimensions and more switches than ports can be; it
// returns how many there are, and the sum of the dimensions.
func CheckDims(dims []int, most int) (switches, sum int, err error) {
	if len(dims) == 0 || len(dims) > most {
		return 0, 0, &param.ParamError{Key: "dims", Value: dims, Want: fmt.Sprintf("1 to %d dimensions", most)}
	}
	switches = 1
	for _, size := range dims {
		switches *= size
		sum += size
		if err := CheckPorts("dims", dims, switches); err != nil {
			return 0, 0, err
		}
	}
	return switches, sum, nil
}

// GridNetwork is the torus (k-ary n-cube) or mesh of Dally and Towles
// (Principles and Practices of Interconnection Networks, 2004, chapter 5) with
// k_d switches along dimension d and c terminals a switch.
//
//	torus, dims = [4, 3]          mesh
//
//	╭─0───1───2───3─╮             0───1───2───3
//	│ │   │   │   │ │             │   │   │   │
//	╭─4───5───6───7─╮             4───5───6───7
//	│ │   │   │   │ │             │   │   │   │
//	╭─8───9──10──11─╮             8───9──10──11
//
// Each column of the torus is closed like its rows. The first dimension varies
// fastest in switch numbers: s = x_0 + k_0*(x_1 + k_1*(x_2 + ...)). Ports:
// terminals, then for each dimension up (coordinate + 1) and down, without
// those that lead over an edge. Channel classes "terminal" and "grid".
//
// A torus dimension of size 2 has one cable, not two: the way round is the
// same cable. Such a dimension is not a ring ([Grid].Wraps is false) and needs
// no dateline; it is exactly a mesh dimension of size 2.
//
// # Closed forms
//
// With N = k_0*...*k_(n-1) switches and c*N terminals: dimension d has N
// cables if it is a ring and N*(k_d-1)/k_d if not. Diameter: the sum of
// floor(k_d/2) over rings and of k_d-1 over the others. Bisection: let k_1 >=
// k_2 >= ... >= k_n and e be the first index with even k_e (n if none is); the
// central cut divides dimension 1 in the middle; if k_1 is odd, the middle
// slice, of C_1 = k_2*...*k_n switches, is divided in the same way, and so on
// to e. It cuts C_1 + ... + C_e, C_i = k_(i+1)*...*k_n, in a mesh and twice
// that where dimensions are rings; for both this is the minimum (Aroca and
// Fernández Anta, IEEE TPDS 2014). In a torus with dimensions of size 2 (which
// that theorem leaves out) and odd ones, cutting the N/2 cables of one of
// the former may be cheaper; the lesser is given. If all sizes are odd, the
// halves differ by one switch.
type GridNetwork struct {
	GridConfig
	Built
	torus  bool
	stride []int // len = dims: difference in switch number of a step
}

var _ Grid = (*GridNetwork)(nil)

func newGrid(c GridConfig, torus bool) *GridNetwork {
	x := &GridNetwork{GridConfig: c, torus: torus}
	switches := 1
	for _, size := range c.Dims {
		x.stride = append(x.stride, switches)
		switches *= size
	}
	b := WithTerminals(switches, c.Terminals, Classes("grid")...)
	for s := range SwitchID(switches) {
		for d, size := range c.Dims {
			at, up := x.Coordinate(s, d), c.Terminals+2*d
			switch {
			case at < size-1:
				b.AddLinkAt(s, up, s+SwitchID(x.stride[d]), up+1, 1)
			case x.Wraps(d):
				b.AddLinkAt(s, up, s-SwitchID((size-1)*x.stride[d]), up+1, 1)
			}
		}
	}
	f := Facts{Switches: switches, Terminals: switches * c.Terminals, Bisection: x.centralCut(switches)}
	for d, size := range c.Dims {
		if x.Wraps(d) {
			f.Links += switches
			f.Diameter += size / 2
		} else {
			f.Links += switches / size * (size - 1)
			f.Diameter += size - 1
		}
	}
	x.Built = Built{graph: b.Freeze(), facts: f}
	return x
}

// centralCut is the number of cables that the central cut severs, or, where
// that is less, a cut through a dimension of size 2.
func (x *GridNetwork) centralCut(switches int) int {
	order := slices.Sorted(slices.Values(x.GridConfig.Dims))
	slices.Reverse(order)
	cut, slice := 0, switches
	for _, size := range order {
		slice /= size
		if x.torus && size > 2 {
			cut += 2 * slice
		} else {
			cut += slice
		}
		if size%2 == 0 {
			break
		}
	}
	if order[len(order)-1] == 2 {
		cut = min(cut, switches/2)
	}
	return cut
}

// Dims implements [Grid].
func (x *GridNetwork) Dims() []int { return x.GridConfig.Dims }

// Wraps implements [Grid].
func (x *GridNetwork) Wraps(d int) bool { return x.torus && x.GridConfig.Dims[d] > 2 }

// Coordinate implements [Grid].
func (x *GridNetwork) Coordinate(s SwitchID, d int) int {
	return int(s) / x.stride[d] % x.GridConfig.Dims[d]
}

// Towards implements [Grid]. Cost: linear in the number of dimensions.
func (x *GridNetwork) Towards(s SwitchID, d int, up bool) PortID {
	port := x.Terminals
	for e := range d + 1 {
		at, wraps := x.Coordinate(s, e), x.Wraps(e)
		hasUp, hasDown := wraps || at < x.GridConfig.Dims[e]-1, wraps || at > 0
		if e == d {
			switch {
			case up && hasUp:
				return x.graph.PortStart[s] + PortID(port)
			case !up && hasDown && hasUp:
				return x.graph.PortStart[s] + PortID(port+1)
			case !up && hasDown:
				return x.graph.PortStart[s] + PortID(port)
			}
			return NoPort
		}
		if hasUp {
			port++
		}
		if hasDown {
			port++
		}
	}
	return NoPort
}
