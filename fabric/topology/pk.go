package topology

import (
	"cmp"
	"fmt"

	"github.com/weft-sim/weft/sim/param"
)

// DistributedSwitch is Podlazov's distributed full switch (Control Sciences 6, 2012, section 1):
// many small m x m switches wired by a symmetric block design (N, m, 1) so that any permutation
// passes without conflict, each packet choosing its own path.
//
// PK_1(N, m, 1): N processors, each behind a splitter/joiner (1 x m and m x 1) whose port j leads
// to port j of switch (x + D[j]) mod N, D the difference set. PK_k(R_k, m, 1 | m^(k-1)): N copies
// of PK_(k-1) stand where the N switches stood. A copy has R_(k-1) ports, enough for
// floor(R_(k-1)/m) groups of N processors, each group wired to the N copies by the design: port j
// of element e of group g goes to port g*m + j of copy e + D[j]. The R_(k-1) mod m ports that are
// left in each copy serve part of one more group: a set of elements of which no block holds more
// than that. For PK_2(15, 3, 1|3) this is the paper's table 2.
//
//	         stage 1    stage 2             stage k    spine
//	terminal -- splitter -- splitter -- ... -- splitter -- switch
//	            joiner      joiner             joiner
//
// Mapping to a [Graph], whose terminals have one cable: a splitter/joiner pair is a switch node of
// degree m+1. Stage s has N^(s-1) * R_(k-s+1) of them, numbered stage by stage from 0, so that
// terminal t hangs from node t; the N^k spine switches come last. Within a stage, unit copy*R +
// port serves that port of that copy. Local port 0 of a unit is its cable towards the terminals,
// the m others lead away from them; a unit whose copy port is left over (the dashes of table 2) has
// only the m. Local port j of a spine switch is its port j. Two terminals share one of the copies
// of PK_(k-1), or all m of their copies if they stand on the same element of different groups; and
// so on inside each copy.
//
// Closed forms: units U = R_k + N*R_(k-1) + ... + N^(k-1)*R_1; switch nodes
// U + N^k; cables between them m*U; all pairs of terminals 2k cables apart.
type DistributedSwitch struct {
	design *Design
	levels []int   // levels[r] = R_r, the ports of a PK_r; levels[0] = m: a bare switch
	extra  [][]int // extra[r]: elements of the partial group of a PK_r; extra[0], extra[1] are empty
	place  [][]int // place[r][i*m+j]: port of the copy that port j of element extra[r][i] goes to
	Built
}

// PKConfig configures the topology "pk".
type PKConfig struct {
	M         int   `toml:"m" doc:"ports of a switch; m-1 must be a prime power" unit:"ports" min:"3" max:"128"`
	Cascades  int   `toml:"cascades" doc:"number of cascades k" min:"1" max:"6"`
	Terminals int   `toml:"terminals" doc:"number of terminals R_k; 0 is as many as the construction gives" min:"0"`
	Inner     []int `toml:"inner" doc:"ports R_2 ... R_(k-1) of the inner cascades; empty or 0 is as many as the construction gives" min:"0"`
}

func init() {
	param.Register(Registry, "pk", "distributed full switch PK_k(R_k, m, 1 | m^(k-1)) of k cascades (Podlazov 2012)",
		PKConfig{M: 3, Cascades: 2, Inner: []int{}},
		func(c PKConfig, _ struct{}) (Topology, error) { return AsTopology(NewDistributedSwitch(c)) })
}

// NewDistributedSwitch builds a PK_k. R_1 is N. For r > 1, R_r lies between
// N*floor(R_(r-1)/m) and that plus the elements of the partial group
// (the paper's upper bound, N*ceil(R_(r-1)/m), would need a full group).
func NewDistributedSwitch(c PKConfig) (*DistributedSwitch, error) {
	design, err := NewDesign(c.M, 1)
	if err != nil {
		return nil, err
	}
	if len(c.Inner) > max(0, c.Cascades-2) {
		return nil, &param.ParamError{Key: "inner", Value: c.Inner, Want: fmt.Sprintf("at most %d values with %d cascades", max(0, c.Cascades-2), c.Cascades)}
	}
	s := newDistributedSwitch(design)
	for r := 2; r <= c.Cascades; r++ {
		want, key := 0, fmt.Sprintf("inner[%d]", r-2)
		switch {
		case r == c.Cascades:
			want, key = c.Terminals, "terminals"
		case r-2 < len(c.Inner):
			want = c.Inner[r-2]
		}
		if err := s.addLevel(want, key); err != nil {
			return nil, err
		}
	}
	if c.Cascades == 1 && c.Terminals != 0 && c.Terminals != design.points {
		return nil, &param.ParamError{Key: "terminals", Value: c.Terminals, Want: fmt.Sprintf("%d with one cascade (or 0)", design.points)}
	}
	return s, s.freeze()
}

// newDistributedSwitch is PK_1, whose graph is still to be made.
func newDistributedSwitch(d *Design) *DistributedSwitch {
	return &DistributedSwitch{design: d, levels: []int{d.size, d.points}, extra: [][]int{nil, nil}, place: [][]int{nil, nil}}
}

// addLevel puts N copies of the present network under a new stage of splitters with want ports (0:
// the most).
func (s *DistributedSwitch) addLevel(want int, key string) error {
	m, inner := s.design.size, s.levels[len(s.levels)-1]
	full := s.design.points * (inner / m)
	elements, places := s.design.partialGroup(inner % m)
	want = cmp.Or(want, full+len(elements))
	if want < full || want > full+len(elements) {
		return &param.ParamError{Key: key, Value: want, Want: fmt.Sprintf("%d to %d", full, full+len(elements))}
	}
	if err := CheckPorts("cascades", len(s.levels), 2*m*full); err != nil {
		return err
	}
	first := inner / m * m
	elements = elements[:want-full]
	for i := range places {
		places[i] += first
	}
	s.levels = append(s.levels, want)
	s.extra = append(s.extra, elements)
	s.place = append(s.place, places[:len(elements)*m])
	return nil
}

// partialGroup chooses the elements that share spare ports in every copy: as many as possible in
// ascending order such that no block holds more than spare of them (an arc of degree spare in the
// plane; the greedy choice is a lower bound of the largest, which is at most (spare-1)*m + 1). It
// returns them and, for each of their ports, which of the copy's spare ports it takes: the first
// that is free.
func (d *Design) partialGroup(spare int) (elements, places []int) {
	if spare == 0 {
		return nil, nil
	}
	load := make([]int, d.points)
	for e := range d.points {
		fits := true
		for j := range d.size {
			fits = fits && load[d.Block(e, j)] < spare
		}
		if !fits {
			continue
		}
		elements = append(elements, e)
		for j := range d.size {
			places = append(places, load[d.Block(e, j)])
			load[d.Block(e, j)]++
		}
	}
	return elements, places
}

// Name is the paper's: PK_2(15, 3, 1|3).
func (s *DistributedSwitch) Name() string {
	k := s.Cascades()
	if k == 1 {
		return fmt.Sprintf("PK_1(%d, %d, %d)", s.levels[1], s.Radix(), s.design.sigma)
	}
	return fmt.Sprintf("PK_%d(%d, %d, 1|%d)", k, s.levels[k], s.Radix(), Power(s.Radix(), k-1))
}

// Design is the block design of every cascade.
func (s *DistributedSwitch) Design() *Design { return s.design }

// Cascades is k.
func (s *DistributedSwitch) Cascades() int { return len(s.levels) - 1 }

// Radix is m.
func (s *DistributedSwitch) Radix() int { return s.design.size }

// Level is R_r, the number of ports of a PK_r, 0 <= r <= k; R_0 = m.
func (s *DistributedSwitch) Level(r int) int { return s.levels[r] }

// Copies is the number of PK_r in the whole: N^(k-r).
func (s *DistributedSwitch) Copies(r int) int { return Power(s.design.points, s.Cascades()-r) }

// Units is the number of splitter/joiner pairs of a stage, 1 <= stage <= k.
func (s *DistributedSwitch) Units(stage int) int {
	r := s.Cascades() - stage + 1
	return s.Copies(r) * s.levels[r]
}

// Port tells, in a PK_r, where port j of the splitter/joiner of port x leads: the copy of PK_(r-1),
// and its port.
func (s *DistributedSwitch) Port(r, x, j int) (inner, port int) {
	n, m := s.design.points, s.design.size
	if r == 1 {
		return s.design.Block(x, j), j
	}
	g, e := x/n, x%n
	if g < s.levels[r-1]/m {
		return s.design.Block(e, j), g*m + j
	}
	return s.design.Block(s.extra[r][e], j), s.place[r][e*m+j]
}

// Element is the element of the design, 0..N-1, of port x of a PK_r. Ports on one element in
// different groups share all m copies, others one.
func (s *DistributedSwitch) Element(r, x int) int {
	g, e := x/s.design.points, x%s.design.points
	if r > 1 && g == s.levels[r-1]/s.design.size {
		return s.extra[r][e]
	}
	return e
}

// Up is the far end of a unit's port j: for stage < k a unit of the next stage (port is 0), for
// stage k a spine switch and its port.
func (s *DistributedSwitch) Up(stage, unit, j int) (to, port int) {
	r := s.Cascades() - stage + 1
	inner, port := s.Port(r, unit%s.levels[r], j)
	inner += unit / s.levels[r] * s.design.points
	if r == 1 {
		return inner, port
	}
	return inner*s.levels[r-1] + port, 0
}

// Node is the switch node of a unit of a stage, 1 <= stage <= k; of a spine switch for stage k+1.
func (s *DistributedSwitch) Node(stage, unit int) SwitchID {
	for before := 1; before < stage; before++ {
		unit += s.Units(before)
	}
	return SwitchID(unit)
}

func (s *DistributedSwitch) freeze() error {
	units := 0
	for stage := 1; stage <= s.Cascades(); stage++ {
		units += s.Units(stage)
	}
	facts := Facts{
		Switches: units + s.Copies(0), Terminals: s.levels[s.Cascades()],
		Links: units * s.Radix(), Diameter: 2 * s.Cascades(), Bisection: -1,
	}
	// A level's first stage was checked before, the others have at most m^(k-1) times its ports: no
	// overflow.
	if err := CheckPorts("cascades", s.Cascades(), 2*facts.Links+facts.Terminals); err != nil {
		return err
	}
	const terminal, internal = ClassID(0), ClassID(1)
	b := NewBuilder(facts.Switches, Classes("internal")...)
	for t := range facts.Terminals {
		b.AddTerminal(s.Node(1, t), terminal)
	}
	for stage := 1; stage <= s.Cascades(); stage++ {
		from, next := s.Node(stage, 0), s.Node(stage+1, 0)
		// Port by port: then local port j of a spine switch is its port j.
		for j := range s.Radix() {
			for u := range s.Units(stage) {
				to, _ := s.Up(stage, u, j)
				b.AddLink(from+SwitchID(u), next+SwitchID(to), internal)
			}
		}
	}
	s.graph, s.facts = b.Freeze(), facts
	return nil
}
