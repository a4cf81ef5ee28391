package topologytest

import (
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/simtest"
)

func checkGrouped(t testing.TB, x topology.Grouped) {
	t.Helper()
	g := x.Graph()
	for s := range topology.SwitchID(g.Switches()) {
		if group := x.GroupOf(s); group < 0 || group >= x.Groups() {
			t.Fatalf("switch %d in group %d of %d", s, group, x.Groups())
		}
	}
	gateways := make([][]topology.PortID, x.Groups()*x.Groups())
	local := map[[2]topology.SwitchID]bool{}
	for p := range topology.PortID(g.NumPorts()) {
		peer, ok := g.PeerPort(p)
		if !ok {
			continue
		}
		s, u := g.PortSwitch[p], g.PortSwitch[peer]
		from, to := x.GroupOf(s), x.GroupOf(u)
		if from == to {
			local[[2]topology.SwitchID{s, u}] = true
		} else {
			gateways[from*x.Groups()+to] = append(gateways[from*x.Groups()+to], p)
		}
	}
	for from := range x.Groups() {
		for to := range x.Groups() {
			got, want := x.Gateways(from, to), gateways[from*x.Groups()+to]
			simtest.ErrorIf(t, !slices.Equal(got, want),
				"gateways from group %d to %d: %v, the graph has %v", from, to, got, want)
		}
	}
	for s := range topology.SwitchID(g.Switches()) {
		for u := range topology.SwitchID(g.Switches()) {
			p := x.LocalTo(s, u)
			simtest.FatalIf(t, p == topology.NoPort != !local[[2]topology.SwitchID{s, u}],
				"LocalTo(%d, %d) = %d, but a local cable exists: %v", s, u, p, local[[2]topology.SwitchID{s, u}])
			if p == topology.NoPort {
				continue
			}
			peer, ok := g.PeerPort(p)
			simtest.FatalIf(t, !ok || g.PortSwitch[p] != s || g.PortSwitch[peer] != u,
				"LocalTo(%d, %d) = %d leads elsewhere", s, u, p)
		}
	}
}

func checkGrid(t testing.TB, x topology.Grid) {
	t.Helper()
	g, dims := x.Graph(), x.Dims()
	seen := map[topology.PortID]bool{}
	for s := range topology.SwitchID(g.Switches()) {
		for d, size := range dims {
			at := x.Coordinate(s, d)
			simtest.FatalIf(t, at < 0 || at >= size, "switch %d at %d of %d", s, at, size)
			for _, up := range []bool{false, true} {
				p := x.Towards(s, d, up)
				edge := !up && at == 0 || up && at == size-1
				if p == topology.NoPort {
					simtest.FatalIf(t, !edge || x.Wraps(d), "switch %d has no port along dimension %d, up %v", s, d, up)
					continue
				}
				simtest.FatalIf(t, edge && !x.Wraps(d), "switch %d has port %d over the edge of dimension %d", s, p, d)
				to := at - 1 + size
				if up {
					to = at + 1
				}
				checkStep(t, x, seen, s, p, d, to%size)
			}
		}
	}
	simtest.ErrorIf(t, len(seen) != 2*g.SwitchLinks(), "directions name %d ports, the graph has %d", len(seen), 2*g.SwitchLinks())
}

// checkStep holds a port of switch s to lead to coordinate to of dimension d, all others equal, and
// marks it as seen.
func checkStep(t testing.TB, x interface {
	topology.Topology
	Dims() []int
	Coordinate(s topology.SwitchID, d int) int
}, seen map[topology.PortID]bool, s topology.SwitchID, p topology.PortID, d, to int) {
	t.Helper()
	g := x.Graph()
	peer, ok := g.PeerPort(p)
	simtest.FatalIf(t, !ok || g.PortSwitch[p] != s || seen[p],
		"port %d is not a cable of switch %d, or leads to two places", p, s)
	seen[p] = true
	for e := range x.Dims() {
		want := x.Coordinate(s, e)
		if e == d {
			want = to
		}
		got := x.Coordinate(g.PortSwitch[peer], e)
		simtest.FatalIf(t, got != want,
			"switch %d, dimension %d to %d: neighbour at %d in dimension %d, want %d", s, d, to, got, e, want)
	}
}

func checkHamming(t testing.TB, x topology.Hamming) {
	t.Helper()
	g, dims := x.Graph(), x.Dims()
	seen := map[topology.PortID]bool{}
	for s := range topology.SwitchID(g.Switches()) {
		for d, size := range dims {
			at, next := x.Coordinate(s, d), topology.NoPort
			simtest.FatalIf(t, at < 0 || at >= size, "switch %d at %d of %d", s, at, size)
			for to := range size {
				first, count := x.To(s, d, to)
				if to == at {
					simtest.FatalIf(t, first != topology.NoPort || count != 0, "switch %d has %d ports to itself", s, count)
					continue
				}
				simtest.FatalIf(t, count < 1, "switch %d has no port to %d in dimension %d", s, to, d)
				simtest.FatalIf(t, next != topology.NoPort && first != next,
					"switch %d: ports along dimension %d are not consecutive at %d", s, d, to)
				next = first + topology.PortID(count)
				for p := first; p < first+topology.PortID(count); p++ {
					checkStep(t, x, seen, s, p, d, to)
				}
			}
		}
	}
	simtest.ErrorIf(t, len(seen) != 2*g.SwitchLinks(),
		"coordinates name %d ports, the graph has %d", len(seen), 2*g.SwitchLinks())
}

func checkTree(t testing.TB, x topology.Tree) {
	t.Helper()
	g := x.Graph()
	levels := make([][]topology.SwitchID, x.Levels())
	for s := range topology.SwitchID(g.Switches()) {
		level := x.LevelOf(s)
		levels[level] = append(levels[level], s)
		upFirst, upEnd := x.UpPorts(s)
		simtest.FatalIf(t, level == x.Levels()-1 && upFirst != upEnd, "switch %d at the top has up ports", s)
		first, end := g.Ports(s)
		simtest.FatalIf(t, upFirst < first || upEnd > end || upFirst > upEnd,
			"switch %d has ports [%d, %d), up ports [%d, %d)", s, first, end, upFirst, upEnd)
		for p := first; p < end; p++ {
			peer, ok := g.PeerPort(p)
			up := p >= upFirst && p < upEnd
			if !ok {
				simtest.FatalIf(t, up || level != 0, "a terminal at port %d, level %d, up %v", p, level, up)
				continue
			}
			want := level - 1
			if up {
				want = level + 1
			}
			got := x.LevelOf(g.PortSwitch[peer])
			simtest.FatalIf(t, got != want, "port %d of level %d, up %v, leads to level %d", p, level, up, got)
		}
	}
	// Level by level: below[s] holds the terminals under s.
	below := make([][]bool, g.Switches())
	for _, switches := range levels {
		for _, s := range switches {
			below[s] = make([]bool, g.Terminals())
			checkDownTo(t, x, s, below)
			// A packet that goes up anywhere must be able to go on to a common ancestor.
			first, end := x.UpPorts(s)
			simtest.FatalIf(t, first == end && slices.Contains(below[s], false),
				"switch %d reaches some terminals neither downwards nor upwards", s)
		}
	}
}

// checkDownTo finds terminals below s from its children's, and compares DownTo with them.
func checkDownTo(t testing.TB, x topology.Tree, s topology.SwitchID, below [][]bool) {
	t.Helper()
	g := x.Graph()
	upFirst, upEnd := x.UpPorts(s)
	first, end := g.Ports(s)
	leads := func(p topology.PortID, terminal topology.TerminalID) bool {
		if p >= upFirst && p < upEnd {
			return false
		}
		if here, ok := g.PeerTerminal(p); ok {
			return here == terminal
		}
		peer, _ := g.PeerPort(p)
		return below[g.PortSwitch[peer]][terminal]
	}
	for terminal := range topology.TerminalID(g.Terminals()) {
		var want []topology.PortID
		for p := first; p < end; p++ {
			if leads(p, terminal) {
				want = append(want, p)
			}
		}
		below[s][terminal] = len(want) > 0
		got, count := x.DownTo(s, terminal)
		if len(want) == 0 && (got != topology.NoPort || count != 0) || len(want) > 0 && (got != want[0] || count != len(want) || want[count-1] != got+topology.PortID(count)-1) {
			t.Fatalf("DownTo(%d, %d) = %d, %d; the graph has %v", s, terminal, got, count, want)
		}
	}
}

// checkRanked walks all shortest paths between switches with terminals: none climbs or crosses
// after crossing or descending.
func checkRanked(t testing.TB, x topology.Ranked) {
	t.Helper()
	g := x.Graph()
	neighbors := g.Neighbors()
	leaf := make([]bool, g.Switches())
	for _, p := range g.TerminalPort {
		leaf[g.PortSwitch[p]] = true
	}
	for end, is := range leaf {
		if !is {
			continue
		}
		distance := neighbors.DistancesFrom(topology.SwitchID(end), nil)
		type step struct {
			at   topology.SwitchID
			gone bool // it has crossed or descended
		}
		var steps []step
		for s, is := range leaf {
			if is {
				steps = append(steps, step{topology.SwitchID(s), false})
			}
		}
		seen := map[step]bool{}
		for len(steps) > 0 {
			s := steps[len(steps)-1]
			steps = steps[:len(steps)-1]
			if seen[s] {
				continue
			}
			seen[s] = true
			for _, u := range neighbors.Of(s.at) {
				if distance[u] != distance[s.at]-1 {
					continue
				}
				up := x.Rank(u) > x.Rank(s.at)
				if s.gone && x.Rank(u) >= x.Rank(s.at) {
					t.Fatalf("a shortest path to switch %d goes from %d, rank %d, to %d, rank %d, after it has crossed or descended", end, s.at, x.Rank(s.at), u, x.Rank(u))
				}
				steps = append(steps, step{u, s.gone || !up})
			}
		}
	}
}
