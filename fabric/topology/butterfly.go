package topology

import (
	"fmt"

	"github.com/weft-sim/weft/sim/param"
)

// ButterflyConfig configures the topology "butterfly"; see [Butterfly].
type ButterflyConfig struct {
	K    int    `toml:"k" doc:"cables of a switch to each side" min:"2" max:"4096"`
	N    int    `toml:"n" doc:"stages of switches" min:"1" max:"16"`
	Ends string `toml:"ends" doc:"terminals on the first stage and on the last, or on the first only (the k-ary n-tree)" choices:"both|first"`
}

func init() {
	param.Register(Registry, "butterfly", "butterfly (k-ary n-fly) of duplex cables",
		ButterflyConfig{K: 2, N: 3, Ends: "both"},
		func(c ButterflyConfig, _ struct{}) (Topology, error) { return newButterfly(c), nil })
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
	graph *Graph
}

func newButterfly(c ButterflyConfig) *Butterfly {
	rows := 1
	for range c.N - 1 {
		rows *= c.K
	}
	var stages []string
	for i := 1; i < c.N; i++ {
		stages = append(stages, fmt.Sprintf("stage%d", i))
	}
	b := NewBuilder(c.N*rows, classes(stages...)...)
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
	return &Butterfly{c, b.Freeze()}
}

// Graph implements [Topology].
func (x *Butterfly) Graph() *Graph { return x.graph }

// Facts implements [Topology].
func (x *Butterfly) Facts() Facts {
	rows := 1
	for range x.N - 1 {
		rows *= x.K
	}
	f := Facts{Switches: x.N * rows, Terminals: rows * x.K, Links: (x.N - 1) * rows * x.K, Diameter: 2 * (x.N - 1), Bisection: -1}
	if x.Ends == "both" {
		f.Terminals *= 2
	}
	if x.K%2 == 0 && x.N > 1 {
		f.Bisection = rows * x.K / 2
	}
	return f
}

// Layout implements [LaidOut]: stages from left to right.
func (x *Butterfly) Layout() *Layout {
	rows := x.graph.Switches() / x.N
	l := &Layout{Shape: Rows, Places: make([]Place, x.graph.Switches()), How: "Stages from left to right."}
	pitch := max(2, 0.3*float64(rows))
	for s := range l.Places {
		l.Places[s] = Place{pitch * float64(s/rows), float64(s % rows)}
	}
	return l
}
