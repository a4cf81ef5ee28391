package families

import (
	"github.com/weft-sim/weft/fabric/topology"
)

// ButterflyConfig configures the topology "butterfly"; see [Butterfly].
type ButterflyConfig struct {
	K    int    `toml:"k" doc:"cables of a switch to each side" min:"2" max:"4096"`
	N    int    `toml:"n" doc:"stages of switches" min:"1" max:"16"`
	Ends string `toml:"ends" doc:"terminals on the first stage and on the last, or on the first only (the k-ary n-tree)" choices:"both|first"`
}

func init() {
	topology.Register("butterfly", "butterfly (k-ary n-fly) of duplex cables", ButterflyConfig{K: 2, N: 3, Ends: "both"}, newButterfly)
	topology.Register("kautz", "Kautz graph with a cable for each arc", KautzConfig{D: 2, N: 4, Terminals: 2}, newKautz)
}

func (c *ButterflyConfig) Validate() error {
	ports := 2 * c.K * c.N // of a row of switches
	for range c.N - 1 {
		if ports *= c.K; ports > topology.MaxPorts {
			break
		}
	}
	return topology.CheckPorts("n", c.N, ports)
}

// Butterfly is the k-ary n-fly (Dally and Towles, Principles and Practices of Interconnection
// Networks, 2004, chapter 4): n stages of k^(n-1) switches. Switch r of stage i, r a number of n-1
// digits in base k, has cables to the k switches of stage i+1 whose numbers differ from r in digit
// i (0 the most significant) at most. It has number i*k^(n-1) + r.
//
//	terminals  stage 0   stage 1   stage 2   terminals
//	    ══════   s0 ─┬─── s4 ─┬─── s8  ══════        k = 2, n = 3
//	    ══════   s1 ─│┬── s5 ─┴─── s9  ══════
//	    ══════   s2 ─┴│── s6 ─┬─── s10 ══════
//	    ══════   s3 ──┴── s7 ─┴─── s11 ══════
//
// In the book terminals send into the first stage and receive from the last, and channels lead one
// way. Here a cable has a channel each way and a terminal one cable, so the terminals of the first
// stage and of the last are different ones, k for each switch, with ends = "both". Traffic from one
// end to the other meets the book's butterfly, with its one path a pair; traffic within an end
// turns round at the first stage where the two rows can meet. With ends = "first" only the first
// stage has terminals: it is the k-ary n-tree of Petrini and Vanneschi (1997), a [FatTree] with
// half of the top's ports unused. Terminal t hangs from row t/k mod k^(n-1) of its end. Ports: k
// towards the first stage's terminals, then k towards the last's, each in order of the digit.
// Channel classes "terminal" and "stage1" to "stage<n-1>" by the stage that the cable ends in.
//
// # Closed forms
//
// n*k^(n-1) switches, 2k^n terminals or k^n, (n-1)*k^n links. Diameter 2(n-1): rows of one
// end that differ in their last digit meet in the last stage only. Bisection (an upper
// bound, for even k and n > 1): rows halved by one digit, k^n/2 cables of one stage.
type Butterfly struct {
	ButterflyConfig
	topology.Built
}

func newButterfly(c ButterflyConfig) *Butterfly {
	rows := topology.Power(c.K, c.N-1)
	b := topology.NewBuilder(c.N*rows, topology.NumberedClasses("stage", c.N)...)
	hang := func(stage, port int) {
		for r := range rows {
			for j := range c.K {
				b.AddTerminalAt(topology.SwitchID(stage*rows+r), port+j, 0)
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
				b.AddLinkAt(topology.SwitchID((i-1)*rows+r), c.K+j, topology.SwitchID(i*rows+r+(j-digit)*place), digit, topology.ClassID(i))
			}
		}
	}
	f := topology.Facts{Switches: c.N * rows, Terminals: rows * c.K, Links: (c.N - 1) * rows * c.K, Diameter: 2 * (c.N - 1), Bisection: -1}
	if c.Ends == "both" {
		f.Terminals *= 2
	}
	if c.K%2 == 0 && c.N > 1 {
		f.Bisection = rows * c.K / 2
	}
	return &Butterfly{c, topology.NewBuilt(b.Freeze(), f, topology.Forms{})}
}

// Layout implements [LaidOut]: stages from left to right.
func (x *Butterfly) Layout() *topology.Layout {
	rows := x.Graph().Switches() / x.N
	pitch := max(2, 0.3*float64(rows))
	return topology.Placed(topology.Rows, x.Graph().Switches(), "Stages from left to right.", func(s int) topology.Place { return topology.Place{X: pitch * float64(s/rows), Y: float64(s % rows)} })
}

// KautzConfig configures the topology "kautz"; see [KautzNetwork].
type KautzConfig struct {
	D         int `toml:"d" doc:"arcs out of a switch, and into it: it has 2*d ports to others" min:"2" max:"1024"`
	N         int `toml:"n" doc:"letters of a word; there are (d+1)*d^(n-1) switches" min:"1" max:"24"`
	Terminals int `toml:"terminals" doc:"terminals of a switch" min:"1" max:"4096"`
}

func (c *KautzConfig) Validate() error {
	n := c.D + 1
	for range c.N - 1 {
		n *= c.D
		if err := topology.CheckPorts("n", c.N, n); err != nil {
			return err
		}
	}
	return topology.CheckPorts("n", c.N, n*(2*c.D+c.Terminals))
}

// KautzNetwork is the graph of Kautz (1968; Bermond and Peyrat, 1989): switches are the words of n
// letters over an alphabet of d+1 in which no letter follows itself, and there is an arc from each
// word to the d that arise by dropping its first letter and adding one at its end. SiCortex built
// the one of d = 3, n = 6 with a channel for an arc; here cables carry a channel each way, so that
// an arc can be walked backwards too, as in the undirected Kautz graph.
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
	topology.Built
}

func newKautz(c KautzConfig) *KautzNetwork {
	tail := topology.Power(c.D, c.N-1) // words that begin with a letter
	switches := (c.D + 1) * tail
	b := topology.WithTerminals(switches, c.Terminals, topology.Classes("kautz")...)
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
			b.AddLinkAt(topology.SwitchID(s), c.Terminals+e, topology.SwitchID(to), c.Terminals+c.D+in[to], 1)
			in[to]++
		}
	}
	f := topology.Facts{Switches: switches, Terminals: switches * c.Terminals, Links: switches * c.D, Diameter: -1, Bisection: -1}
	if c.D >= 3 || c.N == 1 {
		f.Diameter = c.N
	}
	return &KautzNetwork{c, topology.NewBuilt(b.Freeze(), f, topology.Forms{Degree: [2]int{2 * c.D, 2 * c.D}})}
}
