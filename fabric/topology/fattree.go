package topology

import (
	"fmt"

	"github.com/weft-sim/weft/sim/param"
)

// FatTreeConfig configures the topology "fat-tree"; see [FatTree].
type FatTreeConfig struct {
	K int `toml:"k" doc:"ports of a switch, even" min:"2" max:"65536"`
	N int `toml:"n" doc:"levels of switches" min:"1" max:"16"`
}

func init() {
	param.Register(Registry, "fat-tree", "fat tree of k-port switches with full bisection",
		FatTreeConfig{K: 8, N: 3},
		func(c FatTreeConfig, _ struct{}) (Topology, error) { return newFatTree(c), nil })
}

// Validate checks what the tags cannot.
func (c *FatTreeConfig) Validate() error {
	if c.K%2 != 0 {
		return &param.ParamError{Key: "k", Value: c.K, Want: "an even number: half the ports lead up"}
	}
	tree := c.xgft()
	if tree.Validate() != nil { // its only possible problem: too large
		return &param.ParamError{Key: "n", Value: c.N, Want: fmt.Sprintf("fewer levels: with k = %d the network has more than %d switch ports", c.K, maxPorts)}
	}
	return nil
}

// xgft gives the same tree as an XGFT.
func (c *FatTreeConfig) xgft() XGFTConfig {
	var x XGFTConfig
	for i := range c.N {
		m, w := c.K/2, c.K/2
		if i == c.N-1 {
			m = c.K
		}
		if i == 0 {
			w = 1
		}
		x.M, x.W = append(x.M, m), append(x.W, w)
	}
	return x
}

// FatTree is the folded Clos network of k-port switches in n levels (k-ary
// n-tree of Petrini and Vanneschi, IPPS 1997, with k/2 in place of k and both
// halves of the top switches' ports used): every switch below the top has k/2
// ports down and k/2 up, the switches of the top level have k down. It is
// XGFT(n; k/2, ..., k/2, k; 1, k/2, ..., k/2) and numbered like [XGFT].
//
//	level 1 (top)      s6      s7          k = 4, n = 2: 8 terminals,
//	                  ╱│╲╲    ╱╱│╲         4 + 2 switches of 4 ports;
//	level 0 (leaf)   s0 s1 s2 s3           each leaf is joined to both tops
//	                 ││ ││ ││ ││
//
// # Closed forms
//
// Terminals 2*(k/2)^n: the two factors k/2 of leaf and top and those between,
// the top one doubled. Switches 2*(k/2)^(n-1) on each level but the top, which
// has half: (2n-1)*(k/2)^(n-1). As many cables leave a level upwards as
// terminals enter it: links (n-1)*2*(k/2)^n. Diameter 2(n-1). Bisection: half
// the cables of any level, (k/2)^n, half the number of terminals; it cannot be
// less, because any permutation of the terminals can be routed on disjoint
// paths (rearrangeable). None for n = 1.
type FatTree struct {
	FatTreeConfig
	treeShape
}

var _ Tree = (*FatTree)(nil)

func newFatTree(c FatTreeConfig) *FatTree {
	return &FatTree{c, newXGFT(c.xgft()).treeShape}
}

// Facts implements [Topology].
func (x *FatTree) Facts() Facts {
	width := 1 // (k/2)^(n-1)
	for range x.N - 1 {
		width *= x.K / 2
	}
	f := Facts{
		Switches:  (2*x.N - 1) * width,
		Terminals: width * x.K,
		Links:     (x.N - 1) * width * x.K,
		Diameter:  2 * (x.N - 1),
		Bisection: width * x.K / 2,
	}
	if x.N == 1 {
		f.Bisection = -1
	}
	return f
}
