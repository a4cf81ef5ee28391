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
	register("hyperx", "HyperX: switches on a grid, joined to all others in the same row of every dimension; the flattened butterfly is one",
		HyperXConfig{Dims: []int{8, 8}, Terminals: 8}, newHyperX)
}

// Validate checks what the tags cannot.
func (c *HyperXConfig) Validate() error {
	switches, _, err := checkDims(c.Dims, 16)
	if err != nil {
		return err
	}
	if len(c.Trunks) != 0 && len(c.Trunks) != len(c.Dims) {
		return &param.ParamError{Key: "trunks", Value: c.Trunks, Want: "a number for each dimension, or none"}
	}
	if most := slices.Max(c.Dims); c.RowCycles > 0 && most > maxClasses {
		return &param.ParamError{Key: "row_cycles", Value: c.RowCycles, Want: fmt.Sprintf("0 with more than %d switches along a dimension: cables are of a class by their steps", maxClasses)}
	}
	ports := c.Terminals
	for d, size := range c.Dims {
		ports += c.trunk(d) * (size - 1)
	}
	return checkPorts("dims", c.Dims, switches*ports)
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
	built
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
	b := withTerminals(switches, c.Terminals, c.classes()...)
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
	x.built = built{graph: b.Freeze(), facts: f}
	return x
}

// classes are those of channels.
func (c *HyperXConfig) classes() []Class {
	if c.RowCycles == 0 {
		return classes("hyperx")
	}
	all := numberedClasses("hyperx", slices.Max(c.Dims))
	for steps := 1; steps < len(all); steps++ {
		all[steps].Latency = steps * c.RowCycles
	}
	return all
}

// class is that of cables over so many steps.
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
	return placed(Rows, x.graph.Switches(), how, func(s int) Place {
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

// ButterflyConfig configures the topology "butterfly"; see [Butterfly].
type ButterflyConfig struct {
	K    int    `toml:"k" doc:"cables of a switch to each side" min:"2" max:"4096"`
	N    int    `toml:"n" doc:"stages of switches" min:"1" max:"16"`
	Ends string `toml:"ends" doc:"terminals on the first stage and on the last, or on the first only (the k-ary n-tree)" choices:"both|first"`
}

func init() {
	register("butterfly", "butterfly (k-ary n-fly) of duplex cables", ButterflyConfig{K: 2, N: 3, Ends: "both"}, newButterfly)
}

// Validate checks what the tags cannot.
func (c *ButterflyConfig) Validate() error {
	ports := 2 * c.K * c.N // of a row of switches
	for range c.N - 1 {
		if ports *= c.K; ports > maxPorts {
			break
		}
	}
	return checkPorts("n", c.N, ports)
}

// Butterfly is the k-ary n-fly (Dally and Towles, Principles and Practices of
// Interconnection Networks, 2004, chapter 4): n stages of k^(n-1) switches. Switch r of stage
// i, r a number of n-1 digits in base k, has cables to the k switches of stage i+1 whose
// numbers differ from r in digit i (0 the most significant) at most. It has number i*k^(n-1)
// + r.
//
//	terminals  stage 0   stage 1   stage 2   terminals
//	    ══════   s0 ─┬─── s4 ─┬─── s8  ══════        k = 2, n = 3
//	    ══════   s1 ─│┬── s5 ─┴─── s9  ══════
//	    ══════   s2 ─┴│── s6 ─┬─── s10 ══════
//	    ══════   s3 ──┴── s7 ─┴─── s11 ══════
//
// In the book terminals send into the first stage and receive from the last, and channels
// lead one way. Here a cable has a channel each way and a terminal one cable, so the
// terminals of the first stage and of the last are different ones, k for each switch, with
// ends = "both". Traffic from one end to the other meets the book's butterfly, with its one
// path a pair; traffic within an end turns round at the first stage where the two rows can
// meet. With ends = "first" only the first stage has terminals: it is the k-ary n-tree of
// Petrini and Vanneschi (1997), a [FatTree] with half of the top's ports unused. Terminal t
// hangs from row t/k mod k^(n-1) of its end. Ports: k towards the first stage's terminals, then k
// towards the last's, each in order of the digit. Channel classes "terminal" and
// "stage1" to "stage<n-1>" by the stage that the cable ends in.
//
// # Closed forms
//
// n*k^(n-1) switches, 2k^n terminals or k^n, (n-1)*k^n links. Diameter 2(n-1): rows of one
// end that differ in their last digit meet in the last stage only. Bisection (an upper
// bound, for even k and n > 1): rows halved by one digit, k^n/2 cables of one stage.
type Butterfly struct {
	ButterflyConfig
	built
}

func newButterfly(c ButterflyConfig) *Butterfly {
	rows := 1
	for range c.N - 1 {
		rows *= c.K
	}
	b := NewBuilder(c.N*rows, numberedClasses("stage", c.N)...)
	hang := func(stage, port int) {
		for r := range rows {
			for j := range c.K {
				b.AddTerminalAt(SwitchID(stage*rows+r), port+j, 0)
			}
		}
	}
	hang(0, 0)
	if c.Ends == "both" {
		hang(c.N-1, c.K)
	}
	for i, place := 1, rows/c.K; i < c.N; i, place = i+1, place/c.K {
		for r := range rows {
			digit := r / place % c.K
			for j := range c.K {
				b.AddLinkAt(SwitchID((i-1)*rows+r), c.K+j, SwitchID(i*rows+r+(j-digit)*place), digit, ClassID(i))
			}
		}
	}
	f := Facts{Switches: c.N * rows, Terminals: rows * c.K, Links: (c.N - 1) * rows * c.K, Diameter: 2 * (c.N - 1), Bisection: -1}
	if c.Ends == "both" {
		f.Terminals *= 2
	}
	if c.K%2 == 0 && c.N > 1 {
		f.Bisection = rows * c.K / 2
	}
	return &Butterfly{c, built{graph: b.Freeze(), facts: f}}
}

// Layout implements [LaidOut]: stages from left to right.
func (x *Butterfly) Layout() *Layout {
	rows := x.graph.Switches() / x.N
	pitch := max(2, 0.3*float64(rows))
	return placed(Rows, x.graph.Switches(), "Stages from left to right.", func(s int) Place { return Place{pitch * float64(s/rows), float64(s % rows)} })
}

// KautzConfig configures the topology "kautz"; see [KautzNetwork].
type KautzConfig struct {
	D         int `toml:"d" doc:"arcs out of a switch, and into it: it has 2*d ports to others" min:"2" max:"1024"`
	N         int `toml:"n" doc:"letters of a word; there are (d+1)*d^(n-1) switches" min:"1" max:"24"`
	Terminals int `toml:"terminals" doc:"terminals of a switch" min:"1" max:"4096"`
}

func init() {
	register("kautz", "Kautz graph with a cable for each arc", KautzConfig{D: 2, N: 4, Terminals: 2}, newKautz)
}

// Validate checks what the tags cannot.
func (c *KautzConfig) Validate() error {
	n := c.D + 1
	for range c.N - 1 {
		n *= c.D
		if err := checkPorts("n", c.N, n); err != nil {
			return err
		}
	}
	return checkPorts("n", c.N, n*(2*c.D+c.Terminals))
}

// KautzNetwork is the graph of Kautz (1968; Bermond and Peyrat, 1989): switches are the
// words of n letters over an alphabet of d+1 in which no letter follows itself, and there
// is an arc from each word to the d that arise by dropping its first letter and adding
// one at its end. SiCortex built the one of d = 3, n = 6 with a channel for an arc; here
// cables carry a channel each way, so that an arc can be walked backwards too, as in the
// undirected Kautz graph.
//
//	01 → 10 → 02      d = 2, n = 2: six words. ab and ba are each the other's
//	 ↑         ↓      follower: they have two cables
//	20 ← 12 ← 21 ...
//
// A word a_0 a_1 ... a_(n-1) has number (...(a_0*d + e_1)*d + ...)*d + e_(n-1), where e_i is
// the place of a_i among the letters other than a_(i-1). Ports: terminals, then arcs out
// in order of the letter added, then arcs in, in order of the words they come from. Channel
// classes "terminal" and "kautz".
//
// # Closed forms
//
// N = (d+1)*d^(n-1) switches, N*d links, of which (d+1)*d/2 pairs join the same switches.
// Diameter at most n, by dropping all letters of a word and adding another word's; for d
// >= 3 it is n: fewer than n steps forth and back leave a letter of the word in place,
// shifted, and the words of the letters 0 and 1 and of 2 and 3 have none in common. For d = 2
// no closed form. None for mean distance and bisection.
type KautzNetwork struct {
	KautzConfig
	built
}

func newKautz(c KautzConfig) *KautzNetwork {
	tail := 1 // words that begin with a letter
	for range c.N - 1 {
		tail *= c.D
	}
	switches := (c.D + 1) * tail
	b := withTerminals(switches, c.Terminals, classes("kautz")...)
	in := make([]int, switches) // arcs into a switch so far
	letters := make([]int, c.N)
	for s := range switches {
		rest, place := s, tail
		for i := range letters {
			digit := rest / place
			rest, place = rest%place, max(1, place/c.D)
			if i > 0 && digit >= letters[i-1] {
				digit++ // the letter before has no place
			}
			letters[i] = digit
		}
		for e := range c.D {
			added := e
			if added >= letters[c.N-1] {
				added++
			}
			to := added // of one letter
			if c.N > 1 {
				to = (letters[1]*tail + s%(tail/c.D)*c.D + e) % switches
			}
			b.AddLinkAt(SwitchID(s), c.Terminals+e, SwitchID(to), c.Terminals+c.D+in[to], 1)
			in[to]++
		}
	}
	f := Facts{Switches: switches, Terminals: switches * c.Terminals, Links: switches * c.D, Diameter: -1, Bisection: -1}
	if c.D >= 3 || c.N == 1 {
		f.Diameter = c.N
	}
	return &KautzNetwork{c, built{b.Freeze(), f, Forms{Degree: [2]int{2 * c.D, 2 * c.D}}}}
}
