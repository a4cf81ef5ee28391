package atlas

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
)

// laws check the formulas of targets.csv, by id, on several networks each.
var laws = map[string]func() error{
	// Bisection of at least q^3/2: the algebraic connectivity is q.
	"slimfly-bisection": func() error {
		for _, q := range []int{3, 4, 5, 7, 8, 9, 11, 13} {
			x, err := made("slim-fly", func(c *topology.SlimFlyConfig) { c.Q = q })
			if err != nil {
				return err
			}
			if err := same(fmt.Sprintf("bisection of q = %d", q), spectralBisection(newSubject(x)), float64(q*q*q)/2, 1e-6); err != nil {
				return err
			}
		}
		return nil
	},
	// The algebraic connectivity is q+1-sqrt(q).
	"polarfly-bisection": func() error {
		for _, q := range []int{2, 3, 4, 5, 7, 8, 9, 11, 13} {
			x, err := made("polarfly", func(c *topology.PolarFlyConfig) { c.Q = q })
			if err != nil {
				return err
			}
			if err := same(fmt.Sprintf("algebraic connectivity of q = %d", q), topology.AlgebraicConnectivity(x.Graph()), float64(q+1)-math.Sqrt(float64(q)), 1e-6); err != nil {
				return err
			}
		}
		return nil
	},
	// No Jellyfish has a smaller mean distance than the tree of levels 1, r, r(r-1), ...
	"jellyfish-mean": func() error {
		for seed := range uint64(8) {
			c := topology.JellyfishConfig{Switches: 20 + 10*int(seed), Degree: 4 + int(seed), Terminals: 1, Seed: seed}
			x, err := made("jellyfish", func(d *topology.JellyfishConfig) { *d = c })
			if err != nil {
				return err
			}
			if m := newSubject(x).metrics().MeanDistance; m < topology.MeanDistanceBound(c.Switches, c.Degree) {
				return fmt.Errorf("%+v: mean distance %v below the bound", c, m)
			}
		}
		return nil
	},
	// No network has more switches than the Moore bound; Hoffman-Singleton's has all.
	"moore": func() error {
		for _, q := range []int{5, 7, 9} {
			x, err := made("slim-fly", func(c *topology.SlimFlyConfig) { c.Q = q })
			if err != nil {
				return err
			}
			if e := newSubject(x).metrics(); e.MooreEfficiency() > 1 || q == 5 && e.MooreEfficiency() != 1 {
				return fmt.Errorf("slim-fly q = %d has %v of the Moore bound", q, e.MooreEfficiency())
			}
		}
		return nil
	},
	"hyperx-meandist": func() error {
		return eachHyperX(func(c topology.HyperXConfig, n *subject) error {
			want := 0.0
			for _, s := range c.Dims {
				want += 1 - 1/float64(s)
			}
			return same(fmt.Sprintf("mean distance of %v", c.Dims), n.metrics().UniformHops, want, 1e-12)
		})
	},
	"hyperx-uniform": func() error {
		return eachHyperX(func(c topology.HyperXConfig, n *subject) error {
			least := slices.Min(c.Dims)
			x := saturation(uniformFlows(n.graph), byShortest(n.graph, true))
			return same(fmt.Sprintf("uniform saturation of %v", c.Dims), x, float64(least)/float64(c.Terminals), 1e-9)
		})
	},
	"hyperx-bisection": func() error {
		return eachHyperX(func(c topology.HyperXConfig, n *subject) error {
			even := slices.DeleteFunc(slices.Clone(c.Dims), func(s int) bool { return s%2 != 0 })
			if len(even) < len(c.Dims) {
				return nil
			}
			return same(fmt.Sprintf("bisection of %v", c.Dims), float64(n.topology.Facts().Bisection), float64(slices.Min(c.Dims)*n.graph.Switches())/4, 0)
		})
	},
	// (k²/4)(k²/4+1) terminals.
	"dfplus-max": func() error {
		for _, k := range []int{4, 6, 8} {
			half := k / 2
			x, err := made("megafly", func(c *topology.MegaflyConfig) { c.Leaves, c.Spines, c.H, c.P = half, half, half, half })
			if err != nil {
				return err
			}
			if err := same(fmt.Sprintf("terminals of radix %d", k), float64(x.Facts().Terminals), float64(half*half*(half*half+1)), 0); err != nil {
				return err
			}
		}
		return nil
	},
	// min(1, h/(T*(1-1/g))) where the cables up are no narrower, as with as many spines as
	// terminals a leaf.
	"dfplus-capacity": func() error {
		for _, c := range []topology.MegaflyConfig{{P: 2, Leaves: 2, Spines: 2, H: 2}, {P: 3, Leaves: 3, Spines: 3, H: 1}, {P: 4, Leaves: 4, Spines: 4, H: 2}} {
			x, err := made("megafly", func(d *topology.MegaflyConfig) { d.P, d.Leaves, d.Spines, d.H = c.P, c.Leaves, c.Spines, c.H })
			if err != nil {
				return err
			}
			g := float64(x.(*topology.Megafly).G)
			want := min(1, float64(c.H)/(float64(c.P)*(1-1/g)))
			if err := same(fmt.Sprintf("capacity of %+v", c), min(1, x.(*topology.Megafly).Forms().UniformCapacity), want, 1e-12); err != nil {
				return err
			}
		}
		return nil
	},
	// Switches on a path: 1 on the same rail of a unit, 3 else.
	"rail-hops": func() error {
		x, err := made("rail-optimised", func(*topology.RailConfig) {})
		if err != nil {
			return err
		}
		rail, g := x.(*topology.RailOptimised), x.Graph()
		for a := range topology.TerminalID(g.Terminals()) {
			d := g.DistancesFrom(g.TerminalSwitch(a), nil)
			for b := range topology.TerminalID(g.Terminals()) {
				want := int16(2)
				if rail.RailOf(a) == rail.RailOf(b) && rail.NodeOf(a)/rail.Nodes == rail.NodeOf(b)/rail.Nodes {
					want = 0
				}
				if got := d[g.TerminalSwitch(b)]; got != want {
					return fmt.Errorf("terminals %d and %d: %d switches on the path, want %d", a, b, got+1, want+1)
				}
			}
		}
		return nil
	},
}

// eachHyperX visits some.
func eachHyperX(check func(topology.HyperXConfig, *subject) error) error {
	for _, dims := range [][]int{{4, 4}, {3, 5}, {2, 4, 6}, {6}, {3, 3, 3}} {
		c := topology.HyperXConfig{Dims: dims, Terminals: 3}
		x, err := made("hyperx", func(d *topology.HyperXConfig) { *d = c })
		if err != nil {
			return err
		}
		if err := check(c, newSubject(x)); err != nil {
			return err
		}
	}
	return nil
}

func same(what string, got, want, allowed float64) error {
	if math.Abs(got-want) > allowed*max(1, math.Abs(want)) {
		return fmt.Errorf("%s: %v, want %v", what, got, want)
	}
	return nil
}
