package topology

import (
	"errors"
	"math/bits"
	"reflect"
	"slices"
	"testing"

	"github.com/weft-sim/weft/sim"
)

// sample is one parameter set of a registered topology for the conformance
// suite, besides the defaults.
type sample struct {
	name string
	set  func(config any)
	// tightBisection says that the documentation claims the bisection to be
	// the true minimum on this sample, not only an upper bound.
	tightBisection bool
}

// samples is filled by the families' own tests.
var samples = map[string][]sample{}

// addSample adds a parameter set of the topology `name`, configured by *C.
func addSample[C any](name, label string, tightBisection bool, set func(*C)) {
	samples[name] = append(samples[name], sample{label, func(c any) { set(c.(*C)) }, tightBisection})
}

// needsFile tells whether a topology has no default because it reads a file.
func needsFile(config any) bool {
	return slices.ContainsFunc(sim.DescribeParams(config), func(p sim.Param) bool { return p.Key == "path" })
}

// TestConformance holds every registered topology to the contract of Graph,
// Facts and the capabilities, with its defaults and with its samples.
func TestConformance(t *testing.T) {
	for _, name := range Registry.Names() {
		config, err := Registry.Config(name)
		if err != nil {
			t.Fatal(err)
		}
		cases := slices.Clone(samples[name])
		if !needsFile(config) {
			cases = append(cases, sample{"defaults", func(any) {}, false})
		} else if _, err := Registry.Build(name, config, struct{}{}); !errors.As(err, new(*sim.ParamError)) {
			t.Errorf("%s without a path: %v, want a *sim.ParamError", name, err)
		}
		for _, c := range cases {
			t.Run(name+"/"+c.name, func(t *testing.T) { checkTopology(t, name, c) })
		}
	}
}

func checkTopology(t *testing.T, name string, c sample) {
	build := func() Topology {
		config, _ := Registry.Config(name)
		c.set(config)
		topo, err := Registry.Build(name, config, struct{}{})
		if err != nil {
			t.Fatal(err)
		}
		return topo
	}
	topo := build()
	g := topo.Graph()
	if g != topo.Graph() {
		t.Error("Graph differs from call to call")
	}
	if !reflect.DeepEqual(g, build().Graph()) {
		t.Error("two builds with one configuration differ")
	}
	checkGraph(t, g)
	checkFacts(t, topo, c.tightBisection)
	if x, ok := topo.(Grouped); ok {
		checkGrouped(t, x)
	}
	if x, ok := topo.(Grid); ok {
		checkGrid(t, x)
	}
	if x, ok := topo.(Tree); ok {
		checkTree(t, x)
	}
}

// checkGraph holds a graph to its documented invariants.
func checkGraph(t *testing.T, g *Graph) {
	t.Helper()
	ports := g.NumPorts()
	if g.PortStart[0] != 0 || int(g.PortStart[g.Switches()]) != ports || len(g.PortClass) != ports || len(g.PortSwitch) != ports {
		t.Fatalf("lengths disagree: %d ports, PortStart to %d, %d classes, %d switches",
			ports, g.PortStart[g.Switches()], len(g.PortClass), len(g.PortSwitch))
	}
	terminals := 0
	for s := range SwitchID(g.Switches()) {
		first, end := g.Ports(s)
		for p := first; p < end; p++ {
			if g.PortSwitch[p] != s || g.LocalPort(p) != int(p-first) {
				t.Fatalf("port %d of switch %d says switch %d, local %d", p, s, g.PortSwitch[p], g.LocalPort(p))
			}
			if int(g.PortClass[p]) >= len(g.Classes) {
				t.Fatalf("port %d has class %d of %d", p, g.PortClass[p], len(g.Classes))
			}
			if terminal, ok := g.PeerTerminal(p); ok {
				terminals++
				if g.TerminalPort[terminal] != p || g.TerminalSwitch(terminal) != s {
					t.Fatalf("port %d leads to terminal %d, which hangs from port %d", p, terminal, g.TerminalPort[terminal])
				}
				continue
			}
			peer, _ := g.PeerPort(p)
			if back, ok := g.PeerPort(peer); !ok || back != p || g.PortClass[p] != g.PortClass[peer] || g.PortSwitch[peer] == s {
				t.Fatalf("cable of port %d to port %d is not paired, changes its class or is a loop", p, peer)
			}
		}
	}
	if terminals != g.Terminals() {
		t.Fatalf("%d ports lead to %d terminals", terminals, g.Terminals())
	}
	for _, c := range g.Classes {
		if c.Name == "" || c.Latency < 1 {
			t.Errorf("class %+v", c)
		}
	}
	if g.Switches() > 0 && slices.Contains(g.DistancesFrom(0, nil), Unreachable) {
		t.Error("not connected")
	}
}

// checkFacts compares the closed forms with the graph: the diameter by
// breadth-first search, the bisection by trying all halvings where the network
// is small.
func checkFacts(t *testing.T, topo Topology, tightBisection bool) {
	t.Helper()
	g, f := topo.Graph(), topo.Facts()
	for _, c := range []struct {
		what      string
		fact, got int
	}{{"switches", f.Switches, g.Switches()}, {"terminals", f.Terminals, g.Terminals()}, {"links", f.Links, g.SwitchLinks()}} {
		if c.fact >= 0 && c.fact != c.got {
			t.Errorf("Facts say %d %s, the graph has %d", c.fact, c.what, c.got)
		}
	}
	if d := diameter(g); f.Diameter >= 0 && f.Diameter != d {
		t.Errorf("Facts say diameter %d, search says %d", f.Diameter, d)
	}
	if tightBisection && g.Switches() > 20 {
		t.Fatal("too large for a check of the bisection")
	}
	if f.Bisection >= 0 && g.Switches() <= 16 || tightBisection {
		if b := bisection(g); f.Bisection < b || tightBisection && f.Bisection != b {
			t.Errorf("Facts say bisection %d (tight: %v), trying all halvings says %d", f.Bisection, tightBisection, b)
		}
	}
}

// diameter is the largest distance between switches that have terminals.
func diameter(g *Graph) int {
	hosts := make([]bool, g.Switches())
	for t := range TerminalID(g.Terminals()) {
		hosts[g.TerminalSwitch(t)] = true
	}
	most, n := 0, g.Neighbors()
	var d []int16
	for s, host := range hosts {
		if !host {
			continue
		}
		d = n.DistancesFrom(SwitchID(s), d)
		for u, h := range d {
			if hosts[u] {
				most = max(most, int(h))
			}
		}
	}
	return most
}

// bisection is the smallest cut over all divisions of the switches (at most
// 20) in which the terminals are divided as evenly as whole switches allow.
func bisection(g *Graph) int {
	n := g.Switches()
	weight := make([]int, n)
	for t := range TerminalID(g.Terminals()) {
		weight[g.TerminalSwitch(t)]++
	}
	count := make([][]int, n) // cables between two switches
	for s := range count {
		count[s] = make([]int, n)
	}
	for p := range PortID(g.NumPorts()) {
		if peer, ok := g.PeerPort(p); ok {
			count[g.PortSwitch[p]][g.PortSwitch[peer]]++
		}
	}
	// Gray code: one switch changes sides at a time.
	side, difference, cut := make([]int, n), g.Terminals(), 0
	bestDifference, best := g.Terminals(), 0
	for i := 1; i < 1<<(n-1); i++ {
		s := bits.TrailingZeros(uint(i))
		for u, k := range count[s] {
			if side[u] == side[s] {
				cut += k
			} else {
				cut -= k
			}
		}
		side[s] = 1 - side[s]
		difference += 2 * weight[s] * (1 - 2*side[s])
		if d := max(difference, -difference); d < bestDifference || d == bestDifference && cut < best {
			bestDifference, best = d, cut
		}
	}
	return best
}

func checkGrouped(t *testing.T, x Grouped) {
	t.Helper()
	g := x.Graph()
	for s := range SwitchID(g.Switches()) {
		if group := x.GroupOf(s); group < 0 || group >= x.Groups() {
			t.Fatalf("switch %d in group %d of %d", s, group, x.Groups())
		}
	}
	gateways := make([][]PortID, x.Groups()*x.Groups())
	local := map[[2]SwitchID]bool{}
	for p := range PortID(g.NumPorts()) {
		peer, ok := g.PeerPort(p)
		if !ok {
			continue
		}
		s, u := g.PortSwitch[p], g.PortSwitch[peer]
		from, to := x.GroupOf(s), x.GroupOf(u)
		if from == to {
			local[[2]SwitchID{s, u}] = true
		} else {
			gateways[from*x.Groups()+to] = append(gateways[from*x.Groups()+to], p)
		}
	}
	for from := range x.Groups() {
		for to := range x.Groups() {
			if got, want := x.Gateways(from, to), gateways[from*x.Groups()+to]; !slices.Equal(got, want) {
				t.Errorf("gateways from group %d to %d: %v, the graph has %v", from, to, got, want)
			}
		}
	}
	for s := range SwitchID(g.Switches()) {
		for u := range SwitchID(g.Switches()) {
			p := x.LocalTo(s, u)
			if p == NoPort != !local[[2]SwitchID{s, u}] {
				t.Fatalf("LocalTo(%d, %d) = %d, but a local cable exists: %v", s, u, p, local[[2]SwitchID{s, u}])
			}
			if p == NoPort {
				continue
			}
			if peer, ok := g.PeerPort(p); !ok || g.PortSwitch[p] != s || g.PortSwitch[peer] != u {
				t.Fatalf("LocalTo(%d, %d) = %d leads elsewhere", s, u, p)
			}
		}
	}
}

func checkGrid(t *testing.T, x Grid) {
	t.Helper()
	g, dims := x.Graph(), x.Dims()
	seen := map[PortID]bool{}
	for s := range SwitchID(g.Switches()) {
		for d, size := range dims {
			at := x.Coordinate(s, d)
			if at < 0 || at >= size {
				t.Fatalf("switch %d at %d of %d", s, at, size)
			}
			for _, up := range []bool{false, true} {
				p := x.Towards(s, d, up)
				edge := !up && at == 0 || up && at == size-1
				if p == NoPort {
					if !edge || x.Wraps(d) {
						t.Fatalf("switch %d has no port along dimension %d, up %v", s, d, up)
					}
					continue
				}
				if edge && !x.Wraps(d) {
					t.Fatalf("switch %d has port %d over the edge of dimension %d", s, p, d)
				}
				if seen[p] {
					t.Fatalf("port %d leads in two directions", p)
				}
				seen[p] = true
				peer, ok := g.PeerPort(p)
				if !ok || g.PortSwitch[p] != s {
					t.Fatalf("port %d is not a cable of switch %d", p, s)
				}
				step := -1
				if up {
					step = 1
				}
				for e, other := range dims {
					want := x.Coordinate(s, e)
					if e == d {
						want = (want + step + other) % other
					}
					if got := x.Coordinate(g.PortSwitch[peer], e); got != want {
						t.Fatalf("switch %d, dimension %d up %v: neighbour at %d in dimension %d, want %d", s, d, up, got, e, want)
					}
				}
			}
		}
	}
	if len(seen) != 2*g.SwitchLinks() {
		t.Errorf("directions name %d ports, the graph has %d", len(seen), 2*g.SwitchLinks())
	}
}

func checkTree(t *testing.T, x Tree) {
	t.Helper()
	g := x.Graph()
	levels := make([][]SwitchID, x.Levels())
	for s := range SwitchID(g.Switches()) {
		level := x.LevelOf(s)
		levels[level] = append(levels[level], s)
		upFirst, upEnd := x.UpPorts(s)
		if level == x.Levels()-1 && upFirst != upEnd {
			t.Fatalf("switch %d at the top has up ports", s)
		}
		first, end := g.Ports(s)
		if upFirst < first || upEnd > end || upFirst > upEnd {
			t.Fatalf("switch %d has ports [%d, %d), up ports [%d, %d)", s, first, end, upFirst, upEnd)
		}
		for p := first; p < end; p++ {
			peer, ok := g.PeerPort(p)
			up := p >= upFirst && p < upEnd
			if !ok {
				if up || level != 0 {
					t.Fatalf("a terminal at port %d, level %d, up %v", p, level, up)
				}
				continue
			}
			want := level - 1
			if up {
				want = level + 1
			}
			if got := x.LevelOf(g.PortSwitch[peer]); got != want {
				t.Fatalf("port %d of level %d, up %v, leads to level %d", p, level, up, got)
			}
		}
	}
	// Level by level: below[s] holds the terminals under s.
	below := make([][]bool, g.Switches())
	for _, switches := range levels {
		for _, s := range switches {
			below[s] = make([]bool, g.Terminals())
			checkDownTo(t, x, s, below)
			// Whoever goes up anywhere must be able to go on to a common ancestor.
			if first, end := x.UpPorts(s); first == end && slices.Contains(below[s], false) {
				t.Fatalf("switch %d reaches some terminals neither downwards nor upwards", s)
			}
		}
	}
}

// checkDownTo finds the terminals below s from those below its children and
// compares DownTo with them.
func checkDownTo(t *testing.T, x Tree, s SwitchID, below [][]bool) {
	t.Helper()
	g := x.Graph()
	upFirst, upEnd := x.UpPorts(s)
	first, end := g.Ports(s)
	leads := func(p PortID, terminal TerminalID) bool {
		if p >= upFirst && p < upEnd {
			return false
		}
		if here, ok := g.PeerTerminal(p); ok {
			return here == terminal
		}
		peer, _ := g.PeerPort(p)
		return below[g.PortSwitch[peer]][terminal]
	}
	for terminal := range TerminalID(g.Terminals()) {
		var want []PortID
		for p := first; p < end; p++ {
			if leads(p, terminal) {
				want = append(want, p)
			}
		}
		below[s][terminal] = len(want) > 0
		got, count := x.DownTo(s, terminal)
		if len(want) == 0 && (got != NoPort || count != 0) || len(want) > 0 && (got != want[0] || count != len(want) || want[count-1] != got+PortID(count)-1) {
			t.Fatalf("DownTo(%d, %d) = %d, %d; the graph has %v", s, terminal, got, count, want)
		}
	}
}
