package families

import (
	"fmt"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// TwistedTorusConfig configures the topology "twisted-torus"; see [TwistedTorus].
type TwistedTorusConfig struct {
	Dims      []int `toml:"dims" doc:"switches along each dimension" min:"2" max:"32767"`
	Twist     []int `toml:"twist" doc:"steps along dimension 0 that the way round a dimension adds; twist[0] = 0" min:"0" max:"32766"`
	Terminals int   `toml:"terminals" doc:"terminals of a switch" min:"1" max:"4096"`
}

func init() {
	topology.Register("twisted-torus", "torus whose cables round a dimension are shifted along the first one",
		TwistedTorusConfig{Dims: []int{8, 4}, Twist: []int{0, 4}, Terminals: 1}, newTwistedTorus)
}

func (c *TwistedTorusConfig) Validate() error {
	switches, sum, err := topology.CheckDims(c.Dims, 16)
	switch {
	case err != nil:
		return err
	case len(c.Twist) != len(c.Dims):
		return &param.ParamError{Key: "twist", Value: c.Twist, Want: fmt.Sprintf("one number for each of the %d dimensions", len(c.Dims))}
	case c.Twist[0] != 0:
		return &param.ParamError{Key: "twist[0]", Value: c.Twist[0], Want: "0: twists are along dimension 0"}
	}
	for d, size := range c.Dims {
		if c.Twist[d] >= c.Dims[0] {
			return &param.ParamError{Key: fmt.Sprintf("twist[%d]", d), Value: c.Twist[d], Want: fmt.Sprintf("less than dims[0] = %d", c.Dims[0])}
		}
		if size == 2 && c.Twist[d] == 0 {
			return &param.ParamError{Key: fmt.Sprintf("dims[%d]", d), Value: size, Want: "at least 3, or a twist"}
		}
	}
	if sum > 32767 {
		return &param.ParamError{Key: "dims", Value: c.Dims, Want: fmt.Sprintf("a sum of at most 32767; this is %d", sum)}
	}
	return topology.CheckPorts("dims", c.Dims, switches*(c.Terminals+2*len(c.Dims)))
}

// TwistedTorus is the torus whose wrap-around cables are shifted (Cámara, Moretó, Vallejo,
// Beivide, Miguel-Alonso, Martínez and Navaridas, IEEE TPDS 2010): going up from the last
// switch of dimension d leads to the first one, twist[d] further along dimension 0. The
// rectangular twisted torus of 2a x a switches is dims = [2a, a], twist = [0, a]; the
// prismatic doubly twisted one is dims = [2a, a, a], twist = [0, a, a].
//
//	dims = [4, 2], twist = [0, 2]: the cables out at the bottom come in at the top
//	of the column with the same letter
//
//	 c   d   a   b
//	─0───1───2───3─
//	─4───5───6───7─
//	 a   b   c   d
//
// Numbers and ports are as in [GridNetwork], every dimension being a ring; it is no
// [Grid], as the way round changes two coordinates. Channel classes "terminal" and "grid".
//
// # Closed forms
//
// With N = k_0*...*k_(n-1) switches and c*N terminals there are n*N links. All switches are
// alike (a shift of the coordinates maps the network to itself). The rectangular twisted torus
// has diameter a, where the torus of its size has 3a/2; elsewhere no closed form. None for
// the bisection.
type TwistedTorus struct {
	TwistedTorusConfig
	topology.Built
}

func newTwistedTorus(c TwistedTorusConfig) *TwistedTorus {
	switches := 1
	for _, size := range c.Dims {
		switches *= size
	}
	b := topology.WithTerminals(switches, c.Terminals, topology.Classes("grid")...)
	for s := range switches {
		stride := 1
		for d, size := range c.Dims {
			up, to := c.Terminals+2*d, s+stride
			if s/stride%size == size-1 {
				to -= size * stride
				along := to % c.Dims[0]
				to += (along+c.Twist[d])%c.Dims[0] - along
			}
			b.AddLinkAt(topology.SwitchID(s), up, topology.SwitchID(to), up+1, 1)
			stride *= size
		}
	}
	degree := 2 * len(c.Dims)
	f := topology.Facts{Switches: switches, Terminals: switches * c.Terminals, Links: switches * len(c.Dims), Diameter: -1, Bisection: -1}
	if len(c.Dims) == 2 && c.Dims[0] == 2*c.Dims[1] && c.Twist[1] == c.Dims[1] {
		f.Diameter = c.Dims[1]
	}
	return &TwistedTorus{c, topology.NewBuilt(b.Freeze(), f, topology.Forms{Degree: [2]int{degree, degree}})}
}

// Layout implements [LaidOut]: as a torus.
func (x *TwistedTorus) Layout() *topology.Layout {
	columns, rows := x.Dims[0], 1
	if len(x.Dims) > 1 {
		rows = x.Dims[1]
	}
	l := &topology.Layout{Shape: topology.Rows, Places: make([]topology.Place, x.Graph().Switches()), Longest: 1.5, How: "Switches at their coordinates; cables that close a ring are cut, and enter further along where they are twisted."}
	plane := columns * rows
	if len(l.Places) > plane {
		l.Plane = make([]int, len(l.Places))
		l.How = "The planes of the first two dimensions; cables between planes are not drawn, those that close a ring are cut."
	}
	for s := range l.Places {
		l.Places[s] = topology.Place{X: float64(s%columns + s/plane*(columns+1)), Y: float64(rows - 1 - s/columns%rows)}
		if l.Plane != nil {
			l.Plane[s] = s / plane
		}
	}
	return l
}
