package topology

import (
	"fmt"
	"math/bits"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// XpanderConfig configures the topology "xpander"; see [Xpander].
type XpanderConfig struct {
	Degree    int    `toml:"degree" doc:"ports of a switch that lead to other switches" min:"3" max:"1024"`
	Lift      int    `toml:"lift" doc:"switches of a meta-node; there are degree+1 meta-nodes" min:"1" max:"65536"`
	Lifts     string `toml:"lifts" doc:"one random lift of the complete graph, or lifts of two, one after the other: lift is a power of two" choices:"one|doubling"`
	Terminals int    `toml:"terminals" doc:"terminals of a switch" min:"1" max:"4096"`
	Seed      uint64 `toml:"seed" doc:"chooses the graph; other random choices have no part in it"`
}

func init() {
	param.Register(Registry, "xpander", "Xpander: random lift of a complete graph",
		XpanderConfig{Degree: 5, Lift: 6, Lifts: "one", Terminals: 3, Seed: 1},
		func(c XpanderConfig, _ struct{}) (Topology, error) { return newXpander(c), nil })
}

// Validate checks what the tags cannot.
func (c *XpanderConfig) Validate() error {
	if c.Lifts == "doubling" && bits.OnesCount(uint(c.Lift)) != 1 {
		return &param.ParamError{Key: "lift", Value: c.Lift, Want: "a power of two with lifts = \"doubling\""}
	}
	return checkPorts("lift", c.Lift, (c.Degree+1)*c.Lift*(c.Degree+c.Terminals))
}

// Xpander is the expander network of Valadarsky, Shahaf, Dinitz and Schapira (CoNEXT
// 2016): a lift of the complete graph of degree+1 vertices. Each vertex becomes a
// meta-node of `lift` switches, which are not joined to each other; between any two
// meta-nodes each switch of the one has a cable to one switch of the other. Switch i of
// meta-node m has number m*lift + i.
//
//	 meta-node 0   meta-node 1        degree = 3, lift = 2: 4 meta-nodes;
//	   0   1         2   3            between two of them the cables are
//	   │    ╲       ╱    │            parallel or crossed
//	   └─────╲─────╱─────┘ ...
//
//	one       the cables between two meta-nodes are a random matching, all alike
//	doubling  the graph is doubled until it is large enough: each cable s-t becomes
//	          s-t and s'-t', or s-t' and s'-t, with even chances (lifts of two, Bilu and
//	          Linial 2006)
//
// Should the graph fall apart, it is drawn again from where the stream stands. The
// authors choose the best of several lifts, or the derandomised one; here the settings'
// seed chooses. Ports: terminals, then cables in the order of the switches that they lead
// to. Classes "terminal" and "random". The graph depends on the settings alone.
//
// # Closed forms
//
// lift*(degree+1) switches, lift*degree*(degree+1)/2 links; lift = 1 is the complete
// graph, of diameter 1. None for diameter, mean distance and bisection of others.
type Xpander struct {
	XpanderConfig
	graph *Graph
}

var _ Formed = (*Xpander)(nil)

func newXpander(c XpanderConfig) *Xpander {
	stream := sim.NewStream(c.Seed, "topology xpander", 0)
	lift := liftOnce
	if c.Lifts == "doubling" {
		lift = liftDoubling
	}
	rows := lift(c.Degree+1, c.Lift, &stream)
	for !connectedRows(rows) {
		rows = lift(c.Degree+1, c.Lift, &stream)
	}
	return &Xpander{c, layRows(rows, c.Terminals, classes("random"), one)}
}

// liftOnce joins the switches of any two of so many meta-nodes by a random matching.
func liftOnce(nodes, lift int, stream *sim.Stream) [][]SwitchID {
	rows := make([][]SwitchID, nodes*lift)
	to := make([]int, lift)
	for i := range to {
		to[i] = i
	}
	for a := range nodes {
		for b := a + 1; b < nodes; b++ {
			sim.Shuffle(stream, to)
			for i, j := range to {
				s, t := SwitchID(a*lift+i), SwitchID(b*lift+j)
				rows[s], rows[t] = append(rows[s], t), append(rows[t], s)
			}
		}
	}
	return rows
}

// liftDoubling doubles the complete graph until it is large enough; the copies of switch
// s of n are s and s+n on the way, so that meta-nodes end up with equal remainders.
func liftDoubling(nodes, lift int, stream *sim.Stream) [][]SwitchID {
	at := func(s int) SwitchID { return SwitchID(s%nodes*lift + s/nodes) }
	var cables [][2]int
	for a := range nodes {
		for b := a + 1; b < nodes; b++ {
			cables = append(cables, [2]int{a, b})
		}
	}
	for n := nodes; n < nodes*lift; n *= 2 {
		for i, c := range cables {
			cross := stream.IntN(2) * n
			cables[i] = [2]int{c[0], c[1] + cross}
			cables = append(cables, [2]int{c[0] + n, c[1] + n - cross})
		}
	}
	rows := make([][]SwitchID, nodes*lift)
	for _, c := range cables {
		s, t := at(c[0]), at(c[1])
		rows[s], rows[t] = append(rows[s], t), append(rows[t], s)
	}
	return rows
}

// Graph implements [Topology].
func (x *Xpander) Graph() *Graph { return x.graph }

// Facts implements [Topology].
func (x *Xpander) Facts() Facts {
	n := x.Lift * (x.Degree + 1)
	f := Facts{Switches: n, Terminals: n * x.Terminals, Links: n * x.Degree / 2, Diameter: -1, Bisection: -1}
	if x.Lift == 1 {
		f.Diameter = 1
	}
	return f
}

// Forms implements [Formed].
func (x *Xpander) Forms() Forms { return Forms{Degree: [2]int{x.Degree, x.Degree}} }

// Layout implements [LaidOut]: meta-nodes as rings.
func (x *Xpander) Layout() *Layout {
	return rings(x.graph, x.Degree+1, func(s SwitchID) int { return int(s) / x.Lift },
		func(i int) string { return fmt.Sprintf("meta-node %d", i) }, "Meta-nodes in a circle, their switches in rings.")
}
