package topology

import (
	"fmt"
	"slices"

	"github.com/weft-sim/weft/sim/param"
)

// HyperXConfig configures the topology "hyperx"; see [HyperX].
type HyperXConfig struct {
	Dims      []int `toml:"dims" doc:"switches along each dimension (S)" min:"2" max:"4096"`
	Trunks    []int `toml:"trunks" doc:"parallel cables between two switches, for each dimension (K); default: 1" min:"1" max:"64"`
	Terminals int   `toml:"terminals" doc:"terminals of a switch (T)" min:"1" max:"4096"`
	RowCycles int   `toml:"row_cycles" doc:"latency of a cable for each step between the coordinates of its ends, as of switches in rows on a chip; 0: that of any cable, 1" unit:"cycles" min:"0" max:"10000"`
}

func init() {
	Register("hyperx", "HyperX: switches on a grid, joined to all others in the same row of every dimension; the flattened butterfly is one",
		HyperXConfig{Dims: []int{8, 8}, Terminals: 8}, newHyperX)
}

// Validate checks what the tags cannot.
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

// HyperX is the regular HyperX(L, S, K, T) of Ahn, Binkert, Davis, McLaren and
// Schreiber (SC 2009), with a width and a trunking for each of its L
// dimensions: switches at integer coordinates, S_d of them along dimension d, each
// with K_d cables to every other switch that differs from it in coordinate d alone,
// and T terminals.
//
//	dims = [4, 3]: every row and every column is a full mesh
//
//	0───1───2───3      0 is joined to 1, 2, 3 and to 4, 8
//	│   │   │   │
//	4───5───6───7      (only the cables between neighbours are drawn)
//	│   │   │   │
//	8───9──10──11
//
// One dimension is a full mesh; S_d = 2 throughout is the hypercube; all S_d = T is
// the flattened butterfly (Kim, Dally and Abts, ISCA 2007). The first dimension
// varies fastest in switch numbers: s = x_0 + S_0*(x_1 + S_1*(x_2 + ...)), and
// terminals are numbered switch by switch. Ports: terminals, then for each
// dimension the other coordinates in ascending order, K_d ports each. Channel
// classes "terminal" and "hyperx" or, with row_cycles, "hyperx1" and so on by the steps.
//
// # Closed forms
//
// With P = S_0*...*S_(L-1) switches: P*T terminals, P/2 * (sum of K_d*(S_d-1))
// cables, diameter L. Bisection: halving dimension d cuts K_d*floor(S_d^2/4) cables
// in each of the P/S_d rows. If S_d is even, that halves the network; otherwise the
// middle slice, which is a HyperX of the other dimensions, is divided in the same
// way. The least over all orders of dimensions is given; with an even S_d it is
// K_d*S_d*P/4. Mean distance over all pairs of switches, equal ones among them: the
// sum of 1-1/S_d. Uniform traffic on minimal paths is bounded by min(1, min S_d*K_d/T)
// flits a cycle and terminal: dimension d is crossed with probability 1-1/S_d and has
// K_d*(S_d-1) channels a switch for it.
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

// classes are the classes of channels.
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

// port is the first local port of a switch at coordinate at of dimension d to the
// one at coordinate to.
func (x *HyperX) port(d, at, to int) int {
	if to > at {
		to--
	}
	return x.first[d] + x.trunk(d)*to
}

// halve is the number of cables that dividing the HyperX of some dimensions, a set
// of bits, cuts; known holds what has been found of other sets.
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
