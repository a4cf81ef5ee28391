package topology

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// square is four switches in a ring with a terminal each, and a fifth hanging
// from switch 3 by two cables. Port 0 of the first four is the terminal's.
func square() *Graph {
	b := NewBuilder(5, Class{Name: "terminal", Latency: 1}, Class{Name: "link", Latency: 1})
	for s := range SwitchID(4) {
		b.AddTerminal(s, 0)
	}
	for s := range SwitchID(4) {
		b.AddLink(s, (s+1)%4, 1)
	}
	b.AddLink(3, 4, 1)
	b.AddLink(3, 4, 1)
	b.AddTerminal(4, 0)
	return b.Freeze()
}

// TestEras: faults that overlap end with the last of them. Cable 0-1 is down in
// [10,30) and, with all cables of switch 1, in [20,40).
func TestPeriods(t *testing.T) {
	g := square()
	cable, err := NewDirectory(g).Links("switch 0 - switch 1")
	simtest.FatalIf(t, err != nil || len(cable) != 1, "%v %v", cable, err)
	periods := Periods(g, []Failure{{Links: cable, At: 10, Until: 30}, {Switches: []SwitchID{1}, At: 20, Until: 40}})
	for i, want := range []struct {
		from  int64
		links int
		down  bool
		pairs int64
		text  string
	}{
		{0, 0, false, 0, "nothing is down"},
		{10, 1, false, 0, "the link from switch 0 port 1 to switch 1 port 1"},
		{20, 2, true, 2 * 4, "switch 1"}, // terminal 1 and the four others, both ways
		{30, 2, true, 2 * 4, "switch 1"},
		{40, 0, false, 0, "nothing is down"},
	} {
		e := periods[i]
		pairs, _, _ := e.Down.Cut()
		if e.From != want.from || e.Down.Links() != want.links || e.Down.Switch(1) != want.down || pairs != want.pairs || e.Down.Describe() != want.text {
			t.Errorf("era %d: from %d, %d links, switch 1 down %v, %d pairs, %q; want %+v", i, e.From, e.Down.Links(), e.Down.Switch(1), pairs, e.Down.Describe(), want)
		}
	}
	simtest.ErrorIf(t, len(periods) != 5, "%d eras, want 5", len(periods))
	simtest.ErrorIf(t, Periods(g, nil) != nil, "eras without failures")
}

// TestComponents: cables 1-2 and 3-0 down leave {0,1} and {2,3,4}: of 5*4
// ordered pairs of terminals, 2*2*3 have no path. With one of its two cables
// switch 4 stays, without both it is alone.
func TestComponents(t *testing.T) {
	g := square()
	d := NewDown(g)
	directory := NewDirectory(g)
	fail := func(name string) {
		links := simtest.Must(directory.Links(name))(t)
		for _, p := range links {
			d.FailLink(p)
		}
	}
	check := func(part []int32, pairs int64, src, dst TerminalID) {
		t.Helper()
		n, from, to := d.Cut()
		got := d.Components()
		simtest.ErrorIf(t, !slices.Equal(got, part) || n != pairs || from != src || to != dst,
			"components %v, %d pairs, %d to %d; want %v, %d, %d to %d", got, n, from, to, part, pairs, src, dst)
	}
	check([]int32{0, 0, 0, 0, 0}, 0, 0, 0)
	fail("switch 1 - switch 2")
	check([]int32{0, 0, 0, 0, 0}, 0, 0, 0)
	fail("switch 3 - switch 0")
	check([]int32{0, 0, 1, 1, 1}, 12, 0, 2)
	fail("switch 4 port 0")
	check([]int32{0, 0, 1, 1, 1}, 12, 0, 2)
	fail("switch 4 port 1")
	check([]int32{0, 0, 1, 1, 2}, 16, 0, 2)
	d.FailSwitch(0) // {1}, {2,3}, {4}: one pair of terminals is left
	check([]int32{-1, 0, 1, 1, 2}, 18, 0, 1)
	simtest.ErrorIf(t, !d.Port(g.TerminalPort[0]) || d.Port(g.TerminalPort[1]), "terminals' channels go down with their switch alone")
	for s := range SwitchID(5) {
		for _, n := range g.NeighborsWithout(d).Of(s) {
			simtest.ErrorIf(t, s != 2 && s != 3 || n != 2 && n != 3, "%d and %d are neighbours", s, n)
		}
	}
	text := d.Describe()
	simtest.ErrorIf(t, !strings.HasPrefix(text, "switch 0, the link from switch 1 port 2 to switch 2 port 1, ") || !strings.HasSuffix(text, " and 1 more"), "%v", text)
}

// TestDirectory: what names find, and what is said of those that find nothing.
func TestDirectory(t *testing.T) {
	g := square()
	d := NewDirectory(g)
	for name, want := range map[string]string{
		"switch 3 - switch 4": "switch 3 port 3, switch 3 port 4",
		"switch 4 - switch 3": "switch 4 port 0, switch 4 port 1",
		"switch 2 port 2":     "switch 2 port 2",
		"switch 0 - switch 2": "no cable joins switch 0 and switch 2",
		"switch 0 port 0":     "switch 0 port 0 leads to terminal 0: only cables between switches can fail",
		"switch 0 port 7":     "switch 0 has no cable at port 7",
		"swich 0 port 1":      `no switch is called "swich 0" (did you mean "switch 0"?); the first is "switch 0", the last "switch 4"`,
		"0-1":                 `"0-1" names no cable between switches: want a port, such as "switch 0 port 1", or two switches, such as "switch 0 - switch 1"`,
	} {
		ports, err := d.Links(name)
		var got []string
		for _, p := range ports {
			got = append(got, g.PortName(p))
		}
		if err != nil {
			got = append(got, err.Error())
		}
		simtest.Equal(t, strings.Join(got, ", "), want, "%q:", name)
	}
	// Names of imported switches may contain what separates two of them.
	named := *g
	named.Names = &Names{Switches: []SwitchName{{Name: "a - b"}, {Name: "b"}, {Name: "c port 1"}, {Name: "a"}, {Name: "b - c port 1"}}}
	d = NewDirectory(&named)
	for name, want := range map[string]PortID{
		"a - b - b":       g.PortStart[0] + 1, // "a - b" and "b"
		"b - c port 1":    g.PortStart[1] + 2,
		"c port 1 port 2": g.PortStart[2] + 2,
	} {
		ports, err := d.Links(name)
		simtest.ErrorIf(t, err != nil || len(ports) != 1 || ports[0] != want, "%q: %v, %v, want %d", name, ports, err, want)
	}
	// Of switches with one name, each is found by its GUID.
	named.Names = &Names{Switches: []SwitchName{{Name: "s", GUID: 16}, {Name: "s", GUID: 17}, {Name: "t"}, {Name: "t"}, {Name: "u"}}}
	d = NewDirectory(&named)
	simtest.EqualSlices(t, simtest.Must(d.Links("0x0000000000000011 port 1"))(t), []PortID{g.PortStart[1] + 1}, "port 1 of the second s")
	for name, want := range map[string]string{"s port 1": `several switches are called "s": want a GUID, such as "0x0000000000000011" of the last of them`,
		"u - t": `several switches are called "t": want names that differ in the topology's file`, "s - u": `several switches are called "s"`} {
		simtest.Refuse(d.Links(name))(t, want)
	}
}

// TestRandomLinks: every cable once, in an order by seed; shares are nested.
func TestRandomLinks(t *testing.T) {
	g := square()
	all := g.RandomLinks(1, 7)
	simtest.ErrorIf(t, len(all) != g.SwitchLinks(), "%d of %d cables", len(all), g.SwitchLinks())
	simtest.EqualSlices(t, g.RandomLinks(0.5, 7), all[:3], "half of %v is", all)
	simtest.ErrorIf(t, len(g.RandomLinks(0, 7)) != 0, "a share of nothing")
	slices.Sort(all)
	simtest.ErrorIf(t, len(slices.Compact(all)) != g.SwitchLinks(), "a cable twice")
	simtest.ErrorIf(t, slices.Equal(g.RandomLinks(1, 8), g.RandomLinks(1, 7)), "the seed does not matter")
}

// twoSwitches is two switches with a double cable and a host each.
func twoSwitches(names *Names) *Graph {
	b := NewBuilder(2, Class{Name: "x"}, Class{Name: "y"})
	b.AddTerminal(0, 0)
	b.AddTerminal(1, 0)
	b.AddLink(0, 1, 1)
	b.AddLink(0, 1, 1)
	g := b.Freeze()
	g.Names = names
	return g
}

// Parts go by their GUIDs first, then by names of their own, then by numbers.
func TestCompareMatches(t *testing.T) {
	for _, c := range []struct {
		name      string
		a, b      *Names
		switches  []SwitchID
		terminals []TerminalID
	}{
		{"numbers", nil, nil, []SwitchID{0, 1}, []TerminalID{0, 1}},
		{"GUIDs", &Names{Switches: []SwitchName{{Name: "a", GUID: 1}, {Name: "b", GUID: 2}}, Terminals: []AdapterPort{{PortGUID: 3}, {PortGUID: 4}}},
			&Names{Switches: []SwitchName{{Name: "a", GUID: 2}, {Name: "b", GUID: 1}}, Terminals: []AdapterPort{{PortGUID: 4}, {PortGUID: 5}}}, []SwitchID{1, 0}, []TerminalID{-1, 0}},
		{"names", &Names{Switches: []SwitchName{{Name: "a"}, {Name: "b"}}, Terminals: []AdapterPort{{Name: "h"}, {Name: "h"}}},
			&Names{Switches: []SwitchName{{Name: "b"}, {Name: "c"}}, Terminals: []AdapterPort{{Name: "h"}, {Name: "i"}}}, []SwitchID{-1, 0}, []TerminalID{-1, -1}},
		{"a replaced switch", &Names{Switches: []SwitchName{{Name: "a", GUID: 1}, {Name: "b", GUID: 2}}},
			&Names{Switches: []SwitchName{{Name: "a", GUID: 1}, {Name: "b", GUID: 3}}}, []SwitchID{0, 1}, []TerminalID{0, 1}},
	} {
		x := Compare(twoSwitches(c.a), twoSwitches(c.b))
		simtest.ErrorIf(t, !slices.Equal(x.SwitchTo, c.switches) || !slices.Equal(x.TerminalTo, c.terminals),
			"%s: switches %v, terminals %v", c.name, x.SwitchTo, x.TerminalTo)
	}
}

// A cable taken out and another put in between other ports, of another class.
func TestCompareCables(t *testing.T) {
	a := twoSwitches(nil)
	b := twoSwitches(nil)
	b.PortClass = slices.Clone(a.PortClass)
	b.PortClass[1], b.PortClass[4] = 0, 0 // the first cable: port 1 of each switch
	three := NewBuilder(3, Class{Name: "x"}, Class{Name: "y"})
	three.AddTerminal(0, 0)
	three.AddTerminal(2, 0)
	three.AddLink(0, 1, 1)
	three.AddLink(1, 2, 1)
	for _, c := range []struct {
		name string
		b    *Graph
		want Changes
	}{
		{"class", b, Changes{Cables: []Change{{Altered, "switch 0 port 1 - switch 1 port 1, y is now x"}}}},
		{"more switches", three.Freeze(), Changes{
			Switches: []Change{{New, "switch 2"}},
			Cables: []Change{{Gone, "switch 0 port 1 - switch 1 port 1, y"}, {Gone, "switch 0 port 2 - switch 1 port 2, y"},
				{New, "switch 0 port 1 - switch 1 port 0, y"}, {New, "switch 1 port 1 - switch 2 port 1, y"}},
			Hosts: []Change{{Altered, "terminal 1 has moved from switch 1 port 0 to switch 2 port 0"}},
		}},
	} {
		x := Compare(a, c.b)
		x.SwitchTo, x.TerminalTo = nil, nil
		simtest.ErrorIf(t, !reflect.DeepEqual(*x, c.want), "%s: %+v", c.name, *x)
	}
}

// TestLevelsWithHostsAbove: a few hosts on the roots, as in real fabrics, do not
// make leaves of them; a torus has no levels.
func TestLevelsWithHostsAbove(t *testing.T) {
	b := NewBuilder(6, Class{Name: "terminal"}, Class{Name: "cable"})
	for leaf := range 4 {
		for range 5 {
			b.AddTerminal(SwitchID(leaf), 0)
		}
		b.AddLink(SwitchID(leaf), 4, 1)
		b.AddLink(SwitchID(leaf), 5, 1)
	}
	b.AddTerminal(4, 0)
	simtest.EqualSlices(t, levelsFromTerminals(b.Freeze()), []int{0, 0, 0, 0, 1, 1}, "levels")
	x := simtest.Must(param.Make(Registry, "torus", struct{}{}, func(c *GridConfig) { c.Dims = []int{4, 4} }))(t)
	got := levelsFromTerminals(x.Graph())
	simtest.ErrorIf(t, got != nil, "a torus of levels %v", got)
}

// TestCuthillMcKee: a path is followed from one of its ends.
func TestCuthillMcKee(t *testing.T) {
	b := NewBuilder(5, Class{Name: "terminal"}, Class{Name: "cable"})
	b.AddTerminal(0, 0)
	for _, link := range [][2]SwitchID{{3, 0}, {0, 4}, {4, 1}, {1, 2}} {
		b.AddLink(link[0], link[1], 1)
	}
	simtest.EqualSlices(t, cuthillMcKee(b.Freeze()), []SwitchID{2, 1, 4, 0, 3}, "order")
}

// Every block size up to 33 whose predecessor is a prime power, counted by
// hand: 2 3 4 5 7 8 9 11 13 16 17 19 23 25 27 29 31 32.
var planeSizes = []int{3, 4, 5, 6, 8, 9, 10, 12, 14, 17, 18, 20, 24, 26, 28, 30, 32, 33}

// Verify counts what the definition demands: N different points in no block twice, every point once
// at every port, every two points in sigma blocks. Cost: N*m*m steps and N*N counters.
func (d *Design) Verify() error {
	if d.sigma*(d.points-1) != d.size*(d.size-1) {
		return fmt.Errorf("topology: (%d, %d, %d) is not a symmetric design: sigma(N-1) differs from m(m-1)", d.points, d.size, d.sigma)
	}
	var problems []error
	together := make([]int32, d.points*d.points)
	for b := range d.points {
		for i := range d.size {
			x := d.Point(b, i)
			if back := d.Block(x, i); back != b {
				problems = append(problems, fmt.Errorf("topology: port %d of block %d leads to point %d, whose port %d leads to block %d", i, b, x, i, back))
			}
			for j := range d.size {
				together[x*d.points+d.Point(b, j)]++
			}
		}
	}
	for x := range d.points {
		for y := range d.points {
			want := d.sigma
			if x == y {
				want = d.size
			}
			if got := int(together[x*d.points+y]); got != want {
				problems = append(problems, fmt.Errorf("topology: points %d and %d share %d blocks, want %d", x, y, got, want))
			}
		}
	}
	return errors.Join(problems...)
}

func TestDesignProjectivePlanes(t *testing.T) {
	var built []int
	for m := 2; m <= 33; m++ {
		d, err := NewDesign(m, 1)
		if err != nil {
			continue
		}
		built = append(built, m)
		simtest.ErrorIf(t, d.Points() != m*(m-1)+1 || d.Size() != m || d.Sigma() != 1, "m = %d: got (%d, %d, %d)", m, d.Points(), d.Size(), d.Sigma())
		err = d.Verify()
		simtest.ErrorIf(t, err != nil, "m = %d: %v", m, err)
	}
	simtest.ErrorIf(t, !slices.Equal(built, planeSizes), "built m = %v, want %v", built, planeSizes)
}

func TestDesignBiplanes(t *testing.T) {
	for _, want := range [][2]int{{7, 4}, {11, 5}, {16, 6}, {37, 9}} {
		d := simtest.Must(NewDesign(want[1], 2))(t)
		simtest.ErrorIf(t, d.Points() != want[0] || d.Sigma() != 2, "m = %d: got (%d, %d, %d)", want[1], d.Points(), d.Size(), d.Sigma())
		if err := d.Verify(); err != nil {
			t.Errorf("(%d, %d, 2): %v", want[0], want[1], err)
		}
	}
}

// The normal form agrees with the published perfect difference sets
// (Singer 1938, table; Baumert, Cyclic Difference Sets, table 6.1).
func TestDesignPublishedDifferenceSets(t *testing.T) {
	for m, want := range map[int][]int{
		3: {0, 1, 3},
		4: {0, 1, 3, 9},
		5: {0, 1, 4, 14, 16},
		6: {0, 1, 3, 8, 12, 18},
		8: {0, 1, 3, 13, 32, 36, 43, 52},
	} {
		d := simtest.Must(NewDesign(m, 1))(t)
		simtest.ErrorIf(t, !slices.Equal(d.base, want), "m = %d: difference set %v, want %v", m, d.base, want)
	}
}

// Each switch sees every processor port exactly once, and Port, Point, Block
// and Meet are views of one incidence relation.
func TestDesignPortLabelling(t *testing.T) {
	for _, c := range [][2]int{{3, 1}, {5, 1}, {9, 1}, {4, 2}, {6, 2}} {
		d := simtest.Must(NewDesign(c[0], c[1]))(t)
		for b := range d.Points() {
			ports := map[int]bool{}
			for x := range d.Points() {
				if j, ok := d.Port(b, x); ok {
					ports[j] = true
					simtest.FatalIf(t, d.Point(b, j) != x || d.Block(x, j) != b, "m = %d: port %d of block %d and of point %d do not meet", c[0], j, b, x)
				}
			}
			simtest.ErrorIf(t, len(ports) != d.Size(), "m = %d: block %d sees the ports %v", c[0], b, ports)
		}
	}
}

func TestDesignVerifyFindsProblems(t *testing.T) {
	for _, base := range [][]int{{0, 1, 2}, {0, 1, 1}, {0, 1}} {
		simtest.ErrorIf(t, newDesign(7, base, false).Verify() == nil, "base %v modulo 7 passed", base)
	}
}

func TestDesignRefusals(t *testing.T) {
	for _, c := range []struct {
		m, sigma int
		want     string
	}{
		{7, 1, "such as 6 or 8"},
		{1, 1, "such as 3"},
		{1000, 1, "such as 128, the largest supported"},
		{7, 2, "4, 5, 6 or 9"},
		{3, 3, "sigma = 3: want 1 or 2"},
	} {
		simtest.Refuse(NewDesign(c.m, c.sigma))(t, c.want)
	}
}

// The field tables satisfy the axioms that the difference sets rest on: the
// powers of the primitive element are all non-zero elements, multiplication
// (addition of exponents) distributes over addition.
func TestDesignFieldAxioms(t *testing.T) {
	for _, c := range [][2]int{{2, 3}, {2, 6}, {3, 3}, {3, 4}, {5, 3}, {7, 2}} {
		t.Run(fmt.Sprintf("GF(%d^%d)", c[0], c[1]), func(t *testing.T) {
			f := newField(c[0], c[1])
			log := make([]int, f.Order)
			for i := range log {
				log[i] = -1
			}
			for i, a := range f.exp {
				simtest.FatalIf(t, a == 0 || log[a] >= 0, "power %d is %d again", i, a)
				log[a] = i
			}
			multiply := func(a, b int) int {
				if a == 0 || b == 0 {
					return 0
				}
				return f.Power(log[a] + log[b])
			}
			for a := range f.Order {
				for b := range f.Order {
					simtest.FatalIf(t, f.Add(a, b) != f.Add(b, a) || f.Add(f.Add(a, b), f.scale(b, f.p-1)) != a, "addition fails at %d, %d", a, b)
					c := (a*7 + b*3 + 1) % f.Order
					simtest.FatalIf(t, multiply(c, f.Add(a, b)) != f.Add(multiply(c, a), multiply(c, b)), "%d(%d+%d) does not distribute", c, a, b)
				}
			}
		})
	}
}
