package topology

import (
	"github.com/weft-sim/weft/sim/param"
)

// KautzConfig configures the topology "kautz"; see [KautzNetwork].
type KautzConfig struct {
	D         int `toml:"d" doc:"arcs out of a switch, and into it: it has 2*d ports to others" min:"2" max:"1024"`
	N         int `toml:"n" doc:"letters of a word; there are (d+1)*d^(n-1) switches" min:"1" max:"24"`
	Terminals int `toml:"terminals" doc:"terminals of a switch" min:"1" max:"4096"`
}

func init() {
	param.Register(Registry, "kautz", "Kautz graph with a cable for each arc",
		KautzConfig{D: 2, N: 4, Terminals: 2},
		func(c KautzConfig, _ struct{}) (Topology, error) { return newKautz(c), nil })
}

// Validate checks what the tags cannot.
func (c *KautzConfig) Validate() error {
	n := c.D + 1
	for range c.N - 1 {
		n *= c.D
		if err := checkPorts("n", c.N, n); err != nil {
			return err
		}
	}
	return checkPorts("n", c.N, n*(2*c.D+c.Terminals))
}

// KautzNetwork is the graph of Kautz (1968; Bermond and Peyrat, 1989): switches are the
// words of n letters over an alphabet of d+1 in which no letter follows itself, and there
// is an arc from each word to the d that arise by dropping its first letter and adding
// one at its end. SiCortex built the one of d = 3, n = 6 with a channel for an arc; here
// cables carry a channel each way, so that an arc can be walked backwards too, as in the
// undirected Kautz graph.
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
// Diameter at most n, by dropping all letters of a word and adding those of another; for d
// >= 3 it is n: fewer than n steps forth and back leave a letter of the word in place,
// shifted, and the words of the letters 0 and 1 and of 2 and 3 have none in common. For d = 2
// no closed form. None for mean distance and bisection.
type KautzNetwork struct {
	KautzConfig
	graph *Graph
}

var _ Formed = (*KautzNetwork)(nil)

func newKautz(c KautzConfig) *KautzNetwork {
	tail := 1 // words that begin with a letter
	for range c.N - 1 {
		tail *= c.D
	}
	switches := (c.D + 1) * tail
	b := NewBuilder(switches, classes("kautz")...)
	in := make([]int, switches) // arcs into a switch so far
	for s := range switches {
		for range c.Terminals {
			b.AddTerminal(SwitchID(s), 0)
		}
	}
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
			b.AddLinkAt(SwitchID(s), c.Terminals+e, SwitchID(to), c.Terminals+c.D+in[to], 1)
			in[to]++
		}
	}
	return &KautzNetwork{c, b.Freeze()}
}

// Graph implements [Topology].
func (x *KautzNetwork) Graph() *Graph { return x.graph }

// Facts implements [Topology].
func (x *KautzNetwork) Facts() Facts {
	n := x.D + 1
	for range x.N - 1 {
		n *= x.D
	}
	f := Facts{Switches: n, Terminals: n * x.Terminals, Links: n * x.D, Diameter: -1, Bisection: -1}
	if x.D >= 3 || x.N == 1 {
		f.Diameter = x.N
	}
	return f
}

// Forms implements [Formed].
func (x *KautzNetwork) Forms() Forms { return Forms{Degree: [2]int{2 * x.D, 2 * x.D}} }
