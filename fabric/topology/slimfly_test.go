package topology

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/weft-sim/weft/sim/param"
)

func init() {
	for _, q := range []int{3, 4, 5, 7, 8, 9} { // delta = -1, 0, 1, -1, 0, 1
		addSample("slim-fly", fmt.Sprintf("q=%d", q), false, func(c *SlimFlyConfig) { c.Q = q })
	}
}

// build makes a topology of settings that a function changes from the defaults.
func build[C any](t testing.TB, name string, set func(*C)) Topology {
	t.Helper()
	x, err := param.Make(Registry, name, struct{}{}, set)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// refuses checks that a setting of topology name is refused by its key.
func refuses[C any](t *testing.T, name, key string, set func(*C)) {
	t.Helper()
	_, err := param.Make(Registry, name, struct{}{}, set)
	var problem *param.ParamError
	if !errors.As(err, &problem) || problem.Key != key {
		t.Errorf("%s: %v, want a problem of %s", name, err, key)
	}
}

// edgesHash is the SHA-256 of a network's cables between switches, a line "u v" each, u
// < v, in ascending order.
func edgesHash(g *Graph) string {
	h := sha256.New()
	n := g.Neighbors()
	for s := range SwitchID(g.Switches()) {
		for _, t := range n.Of(s) {
			if s < t {
				fmt.Fprintf(h, "%d %d\n", s, t)
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Every order to 27 has diameter 2 and algebraic connectivity q. The cables of q = 5
// are those of another construction from the published definition
// (topologies/graphs/slimfly_q5.edges.gz of the reference data).
func TestSlimFly(t *testing.T) {
	for _, q := range []int{3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27} {
		x := build(t, "slim-fly", func(c *SlimFlyConfig) { c.Q = q })
		if d := Measure(x.Graph()).Diameter(); d != 2 {
			t.Errorf("q = %d: diameter %d", q, d)
		}
		if gap := AlgebraicConnectivity(x.Graph()); math.Abs(gap-float64(q)) > 1e-6 {
			t.Errorf("q = %d: algebraic connectivity %v", q, gap)
		}
	}
	x := build(t, "slim-fly", func(c *SlimFlyConfig) { c.Q = 5 })
	if got := edgesHash(x.Graph()); got != "6d4effacea9da68c61345eb2026bc76d074e7195186ac7ba3ecdef23661520a6" {
		t.Errorf("q = 5 has other cables than the reference: %s", got)
	}
	// Besta and Hoefler's instance: 722 switches of 29 + 15 ports.
	x = build(t, "slim-fly", func(c *SlimFlyConfig) { c.Q = 19 })
	if got, want := x.Facts(), (Facts{722, 10830, 10469, 2, -1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestSlimFlyRefuses(t *testing.T) {
	refuses(t, "slim-fly", "q", func(c *SlimFlyConfig) { c.Q = 6 })
	refuses(t, "slim-fly", "q", func(c *SlimFlyConfig) { c.Q = 15 })
	refuses(t, "slim-fly", "q", func(c *SlimFlyConfig) { c.Q = 2 })
	refuses(t, "slim-fly", "p", func(c *SlimFlyConfig) { c.P = -1 })
}
