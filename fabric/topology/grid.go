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
	Register("hyperx", "HyperX: switches on a grid, joined to all others in the same row of every dimension; the flattened butterfly is one",
		HyperXConfig{Dims: []int{8, 8}, Terminals: 8}, newHyperX)
}

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

// CheckDims refuses more than most dimensions and more switches than ports can be; it returns the
// number of switches, and the sum of the dimensions.
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

// GridNetwork is the torus (k-ary n-cube) or mesh of Dally and Towles (Principles and Practices of
// Interconnection Networks, 2004, chapter 5), k_d switches along dimension d, c terminals each.
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
// With N = k_0*...*k_(n-1) switches and c*N terminals: dimension d has N cables if it is a ring and
// N*(k_d-1)/k_d if not. Diameter: the sum of floor(k_d/2) over rings and of k_d-1 over the others.
// Bisection: let k_1 >= k_2 >= ... >= k_n and e be the first index with even k_e (n if none is);
// the central cut divides dimension 1 in the middle; if k_1 is odd, the middle slice, of C_1 =
// k_2*...*k_n switches, is divided in the same way, and so on to e. It cuts C_1 + ... + C_e, C_i =
// k_(i+1)*...*k_n, in a mesh and twice that where dimensions are rings; for both this is the
// minimum (Aroca and Fernández Anta, IEEE TPDS 2014). In a torus with dimensions of size 2 (which
// that theorem leaves out) and odd ones, cutting the N/2 cables of one of the former may be
// cheaper; the lesser is given. If all sizes are odd, the halves differ by one switch.
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

// centralCut is the cables of the central cut, or of a cheaper one through a dimension of size 2.
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

// HyperXConfig configures the topology "hyperx"; see [HyperX].
type HyperXConfig struct {
	Dims      []int `toml:"dims" doc:"switches along each dimension (S)" min:"2" max:"4096"`
	Trunks    []int `toml:"trunks" doc:"parallel cables between two switches, for each dimension (K); default: 1" min:"1" max:"64"`
	Terminals int   `toml:"terminals" doc:"terminals of a switch (T)" min:"1" max:"4096"`
	RowCycles int   `toml:"row_cycles" doc:"latency of a cable for each step between the coordinates of its ends, as of switches in rows on a chip; 0: that of any cable, 1" unit:"cycles" min:"0" max:"10000"`
}

func (c *HyperXConfig) Validate() error {
	switches, _, err := CheckDims(c.Dims, 16)
	if err != nil {
		return err
	}
	if len(c.Trunks) != 0 && len(c.Trunks) != len(c.Dims) {
		return &param.ParamError{Key: "trunks", Value: c.Trunks, Want: "a number for each dimension, or none"}
	}
	if most := slices.Max(c.Dims); c.RowCycles > 0 && most > MaxClasses {
		return &param.ParamError{Key: "row_cycles", Value: c.RowCycles, Want: fmt.Sprintf("0 with more than %d switches along a dimension: cables are of a class by their steps", MaxClasses)}
	}
	ports := c.Terminals
	for d, size := range c.Dims {
		ports += c.trunk(d) * (size - 1)
	}
	return CheckPorts("dims", c.Dims, switches*ports)
}

func (c *HyperXConfig) trunk(d int) int {
	if len(c.Trunks) == 0 {
		return 1
	}
	return c.Trunks[d]
}

// HyperX is the regular HyperX(L, S, K, T) of Ahn, Binkert, Davis, McLaren and Schreiber (SC 2009),
// with a width and a trunking for each of its L dimensions: switches at integer coordinates, S_d of
// them along dimension d, each with K_d cables to every other switch that differs from it in
// coordinate d alone, and T terminals.
//
//	dims = [4, 3]: every row and every column is a full mesh
//
//	0───1───2───3      0 is joined to 1, 2, 3 and to 4, 8
//	│   │   │   │
//	4───5───6───7      (only the cables between neighbours are drawn)
//	│   │   │   │
//	8───9──10──11
//
// One dimension is a full mesh; S_d = 2 throughout is the hypercube; all S_d = T is the flattened
// butterfly (Kim, Dally and Abts, ISCA 2007). The first dimension varies fastest in switch numbers:
// s = x_0 + S_0*(x_1 + S_1*(x_2 + ...)), and terminals are numbered switch by switch. Ports:
// terminals, then for each dimension the other coordinates in ascending order, K_d ports each.
// Channel classes "terminal" and "hyperx" or, with row_cycles, "hyperx1" and so on by the steps.
//
// # Closed forms
//
// With P = S_0*...*S_(L-1) switches: P*T terminals, P/2 * (sum of K_d*(S_d-1)) cables, diameter L.
// Bisection: halving dimension d cuts K_d*floor(S_d^2/4) cables in each of the P/S_d rows. If S_d
// is even, that halves the network; otherwise the middle slice, which is a HyperX of the other
// dimensions, is divided in the same way. The least over all orders of dimensions is given; with an
// even S_d it is K_d*S_d*P/4. Mean distance over all pairs of switches, equal ones among them: the
// sum of 1-1/S_d. Uniform traffic on minimal paths is bounded by min(1, min S_d*K_d/T) flits a
// cycle and terminal: dimension d is crossed with probability 1-1/S_d and has K_d*(S_d-1) channels
// a switch for it.
type HyperX struct {
	HyperXConfig
	Built
	stride []int // len = dims: difference in switch number of a step
	first  []int // len = dims: ports of a switch before the ports of the dimension
}

var _ Hamming = (*HyperX)(nil)

func newHyperX(c HyperXConfig) *HyperX {
	x := &HyperX{HyperXConfig: c}
	switches, ports := 1, c.Terminals
	for d, size := range c.Dims {
		x.stride, x.first = append(x.stride, switches), append(x.first, ports)
		switches *= size
		ports += c.trunk(d) * (size - 1)
	}
	b := WithTerminals(switches, c.Terminals, c.classes()...)
	f := Facts{Switches: switches, Terminals: switches * c.Terminals, Diameter: len(c.Dims), Bisection: x.halve(1<<len(c.Dims)-1, map[uint]int{})}
	for d, size := range c.Dims {
		f.Links += switches * c.trunk(d) * (size - 1) / 2
	}
	for s := range SwitchID(switches) {
		for d, size := range c.Dims {
			for at, to := x.Coordinate(s, d), x.Coordinate(s, d)+1; to < size; to++ {
				t := s + SwitchID((to-at)*x.stride[d])
				for k := range c.trunk(d) {
					b.AddLinkAt(s, x.port(d, at, to)+k, t, x.port(d, to, at)+k, x.class(to-at))
				}
			}
		}
	}
	x.Built = Built{graph: b.Freeze(), facts: f}
	return x
}

func (c *HyperXConfig) classes() []Class {
	if c.RowCycles == 0 {
		return Classes("hyperx")
	}
	all := NumberedClasses("hyperx", slices.Max(c.Dims))
	for steps := 1; steps < len(all); steps++ {
		all[steps].Latency = steps * c.RowCycles
	}
	return all
}

// class is the class of cables over so many steps.
func (c *HyperXConfig) class(steps int) ClassID {
	if c.RowCycles == 0 {
		return 1
	}
	return ClassID(steps)
}

// port is the first local port from coordinate at of dimension d to coordinate to.
func (x *HyperX) port(d, at, to int) int {
	if to > at {
		to--
	}
	return x.first[d] + x.trunk(d)*to
}

// halve is the cables cut to divide the HyperX of some dimensions, a set of bits; known holds other
// sets' results.
func (x *HyperX) halve(dims uint, known map[uint]int) int {
	if cut, ok := known[dims]; ok {
		return cut
	}
	switches, least := 1, -1
	for d, size := range x.HyperXConfig.Dims {
		if dims>>d&1 != 0 {
			switches *= size
		}
	}
	for d, size := range x.HyperXConfig.Dims {
		if dims>>d&1 == 0 {
			continue
		}
		cut := x.trunk(d) * (size * size / 4) * (switches / size)
		if rest := dims &^ (1 << d); size%2 == 1 && rest != 0 {
			cut += x.halve(rest, known)
		}
		if least < 0 || cut < least {
			least = cut
		}
	}
	known[dims] = least
	return least
}

// Dims implements [Hamming].
func (x *HyperX) Dims() []int { return x.HyperXConfig.Dims }

// Coordinate implements [Hamming].
func (x *HyperX) Coordinate(s SwitchID, d int) int {
	return int(s) / x.stride[d] % x.HyperXConfig.Dims[d]
}

// To implements [Hamming].
func (x *HyperX) To(s SwitchID, d, to int) (first PortID, count int) {
	at := x.Coordinate(s, d)
	if at == to {
		return NoPort, 0
	}
	return x.graph.PortStart[s] + PortID(x.port(d, at, to)), x.trunk(d)
}

// Layout implements [LaidOut]: the first two dimensions as rows and columns.
func (x *HyperX) Layout() *Layout {
	columns, rows := x.HyperXConfig.Dims[0], 1
	if len(x.HyperXConfig.Dims) > 1 {
		rows = x.HyperXConfig.Dims[1]
	}
	plane, across := columns*rows, 1
	for across*across*plane < x.graph.Switches() {
		across++
	}
	how := "Switches at their coordinates in the first two dimensions, bent a little so that cables of a row can be told apart."
	return Placed(Rows, x.graph.Switches(), how, func(s int) Place {
		column, row, at := s%columns, s/columns%rows, s/plane
		bend := func(i, n int) float64 { // outer ones stand back
			d := 2*float64(i)/float64(max(1, n-1)) - 1
			return 0.35 * d * d * float64(n-1) / 2
		}
		return Place{
			2*float64(column) + bend(row, rows) + float64(at%across)*(2*float64(columns)+float64(rows)),
			2*float64(row) + bend(column, columns) + float64(at/across)*(2*float64(rows)+float64(columns)),
		}
	})
}
