package topology

import (
	"fmt"
	"math"
	"testing"
)

func init() {
	for _, c := range []JellyfishConfig{{4, 3, 1, 1}, {5, 3, 1, 2}, {7, 5, 2, 3}, {8, 6, 1, 4}, {16, 3, 1, 5}, {57, 8, 4, 1}} {
		addSample("jellyfish", fmt.Sprintf("%+v", c), false, func(d *JellyfishConfig) { *d = c })
	}
}

// Every port but one at most is used, no two cables are parallel, over all small sizes
// and some seeds; the mean distance keeps its bound.
func TestJellyfish(t *testing.T) {
	for switches := 4; switches <= 14; switches++ {
		for degree := 3; degree < switches; degree++ {
			for seed := range uint64(5) {
				g := build(t, "jellyfish", func(c *JellyfishConfig) { *c = JellyfishConfig{switches, degree, 1, seed} }).Graph()
				CheckGraph(t, g)
				n, ends := g.Neighbors(), 0
				for s := range SwitchID(switches) {
					if len(n.Of(s)) != g.Degree(s)-1 {
						t.Fatalf("%d switches of %d ports: parallel cables", switches, degree)
					}
					ends += len(n.Of(s))
				}
				if ends != switches*degree-switches*degree%2 {
					t.Fatalf("%d switches of %d ports, seed %d: %d ends of cables", switches, degree, seed, ends)
				}
				if m := Measure(g); m.MeanDistance < MeanDistanceBound(switches, degree)-1e-12 {
					t.Errorf("%d switches of %d ports: mean distance %v", switches, degree, m.MeanDistance)
				}
			}
		}
	}
}

// 57 switches of degree 8: 8 at distance 1, the other 48 at 2: (8 + 96)/56. The reference
// data's graph of this size has a mean distance of 2.124.
func TestMeanDistanceBound(t *testing.T) {
	if got, want := MeanDistanceBound(57, 8), 104.0/56; math.Abs(got-want) > 1e-12 {
		t.Errorf("%v, want %v", got, want)
	}
	total := 0.0
	for seed := range uint64(20) {
		total += Measure(build(t, "jellyfish", func(c *JellyfishConfig) { *c = JellyfishConfig{57, 8, 4, seed} }).Graph()).MeanDistance
	}
	if mean := total / 20; math.Abs(mean-2.124) > 0.02 {
		t.Errorf("mean distance %v over 20 graphs", mean)
	}
}

func TestJellyfishRefuses(t *testing.T) {
	refuses(t, "jellyfish", "degree", func(c *JellyfishConfig) { c.Degree = 32 })
	refuses(t, "jellyfish", "degree", func(c *JellyfishConfig) { c.Degree = 2 })
}
