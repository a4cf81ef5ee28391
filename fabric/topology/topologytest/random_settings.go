package topologytest

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/metrics"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// Network is a topology with a name for messages.
type Network struct {
	Name     string
	Topology topology.Topology
}

// Size bounds networks.
type Size struct{ Switches, Terminals int }

// Small is a size at which all paths of all routings can be walked.
var Small = Size{Switches: 40, Terminals: 80}

func (s Size) fits(g *topology.Graph) bool {
	return g.Switches() <= s.Switches && g.Terminals() <= s.Terminals
}

// Families lists the registered topologies that can be built without a file.
func Families() []string {
	return slices.DeleteFunc(topology.Registry.Names(), func(name string) bool {
		config, err := topology.Registry.Config(name)
		return err != nil || readsFile(config)
	})
}

// readsFile tells whether a topology has no default because it reads a file.
func readsFile(config any) bool {
	return slices.ContainsFunc(param.DescribeParams(config), func(p param.Param) bool { return p.Key == "path" })
}

// Networks lists a network of each of the [Families], of no more than a size, the
// same on every call: of some draws the one with the most switches and terminals,
// whichever there are fewer of. Families that none was found of are left out.
func Networks(most Size) []Network {
	var all []Network
	for _, name := range Families() {
		stream := sim.NewStream(1, "topologytest networks "+name, 0)
		var best Network
		for range 4 {
			n, ok := Draw(name, &stream, most)
			if ok && (best.Topology == nil || n.less() > best.less()) {
				best = n
			}
		}
		if best.Topology != nil {
			all = append(all, best)
		}
	}
	return all
}

// less is the number of switches or of terminals, whichever is less.
func (n Network) less() int {
	return min(n.Topology.Graph().Switches(), n.Topology.Graph().Terminals())
}

// Draw draws a network of a registered family of no more than a size, with settings changed from
// the defaults at random; false if it comes upon none so small. Nothing but the tags of the
// settings has to be known: the draw goes in small steps, of which it takes back those that the
// family refuses or that make the network too large.
func Draw(family string, stream *sim.Stream, most Size) (Network, bool) {
	config, topo, ok := draw(family, stream, most)
	if !ok {
		return Network{}, false
	}
	return Network{family + " " + describe(config), topo}, true
}

// describe lists the settings of a configuration.
func describe(config any) string {
	return lists.Join(param.DescribeParams(config), ",", func(p param.Param) string { return p.Key + "=" + strings.ReplaceAll(p.Default, " ", "") })
}

// steps is the number of changes that a draw tries.
const steps = 48

func draw(family string, stream *sim.Stream, most Size) (config any, topo topology.Topology, ok bool) {
	config, err := topology.Registry.Config(family)
	if err != nil {
		return nil, nil, false
	}
	if topo, err = topology.Registry.Build(family, config, struct{}{}); err != nil {
		return nil, nil, false
	}
	for range steps {
		trial := clone(family, config)
		first := change(trial, stream, !most.fits(topo.Graph()), -1)
		if stream.IntN(2) == 0 { // some settings go together
			change(trial, stream, !most.fits(topo.Graph()), first)
		}
		next, err := topology.Registry.Build(family, trial, struct{}{})
		if err == nil && (most.fits(next.Graph()) || next.Graph().NumPorts() <= topo.Graph().NumPorts()) {
			config, topo = trial, next
		}
	}
	return config, topo, most.fits(topo.Graph())
}

// clone copies a configuration.
func clone(family string, config any) any {
	c, err := topology.Registry.Config(family)
	if err != nil {
		panic("topologytest: " + err.Error())
	}
	var values []reflect.Value
	param.EachSetting(config, func(_ *param.Field, v reflect.Value) { values = append(values, v) })
	i := 0
	param.EachSetting(c, func(_ *param.Field, v reflect.Value) {
		v.Set(values[i])
		if v.Kind() == reflect.Slice {
			v.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), values[i]))
		}
		i++
	})
	return c
}

// change changes one setting, or now and then the lengths of all lists that are
// equally long; shrink halves numbers, the larger ones rather than the smaller. It
// returns the place of the setting, and lets that at except be.
func change(config any, stream *sim.Stream, shrink bool, except int) (place int) {
	var fields []*param.Field
	var values []reflect.Value
	param.EachSetting(config, func(f *param.Field, v reflect.Value) {
		fields, values = append(fields, f), append(values, v)
	})
	if len(values) == 0 {
		return -1
	}
	i := stream.IntN(len(values))
	if j := stream.IntN(len(values)); shrink && magnitude(values[j]) > magnitude(values[i]) {
		i = j
	}
	if i == except {
		return i
	}
	v := values[i]
	switch choices := fields[i].Tag.Get("choices"); {
	case choices != "" && v.Kind() == reflect.String:
		all := strings.Split(choices, "|")
		v.SetString(all[stream.IntN(len(all))])
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.Kind() != reflect.Slice:
		step(v, stream, shrink)
	case v.Len() > 0 && stream.IntN(8) > 0:
		step(v.Index(stream.IntN(v.Len())), stream, shrink)
	case v.Len() > 0:
		longer, n := !shrink && stream.IntN(3) > 0, v.Len()
		for _, list := range values {
			switch {
			case list.Kind() != reflect.Slice || list.Len() != n:
			case longer:
				element := reflect.New(list.Type().Elem()).Elem()
				step(element, nil, true)
				list.Set(reflect.Append(list, element))
			default:
				list.Set(list.Slice(0, n-1))
			}
		}
	default: // as long as another list
		other := values[stream.IntN(len(values))]
		if other.Type() == v.Type() {
			v.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, other.Len()), other))
			for k := range v.Len() {
				step(v.Index(k), stream, true)
			}
		}
	}
	return i
}

// magnitude is the size of a number, or of the largest of a list.
func magnitude(v reflect.Value) int64 {
	switch {
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return int64(min(v.Uint(), math.MaxInt64))
	case v.Kind() != reflect.Slice:
		return 0
	}
	most := int64(0)
	for i := range v.Len() {
		most = max(most, magnitude(v.Index(i)))
	}
	return most
}

// step moves a number by 1 or 2 (1 and 3, perhaps exponents, by 1), or halves it, and makes 2 of 0.
func step(v reflect.Value, stream *sim.Stream, shrink bool) {
	switch {
	case v.CanInt() && shrink && v.Int() == 0:
		v.SetInt(2)
		return
	case v.CanInt() && shrink:
		v.SetInt((v.Int() + 1) / 2)
		return
	case v.CanUint() && shrink:
		v.SetUint((v.Uint() + 1) / 2)
		return
	}
	by := []int64{-2, -1, 1, 2}[stream.IntN(4)]
	if n := magnitude(v); n == 1 || n == 3 {
		by /= max(by, -by)
	}
	switch {
	case v.CanInt():
		v.SetInt(v.Int() + by)
	case v.CanUint() && (by > 0 || v.Uint() >= uint64(-by)):
		v.SetUint(v.Uint() + uint64(by))
	}
}

// Sets lists settings of a family.
func Sets[C any](configs ...C) (list []any) {
	for i := range configs {
		list = append(list, &configs[i])
	}
	return list
}

// To sets all settings of a family.
func To[C any](config C) func(any) { return func(c any) { *c.(*C) = config } }

// But changes settings of a family from the defaults.
func But[C any](set func(*C)) func(any) { return func(c any) { set(c.(*C)) } }

// Make builds a family's network of the defaults as set changes them.
func Make(family string, set func(any)) (topology.Topology, error) {
	config, err := topology.Registry.Config(family)
	if err != nil {
		return nil, err
	}
	set(config)
	return topology.Registry.Build(family, config, struct{}{})
}

// Build is Make, which has to succeed.
func Build[C any](t testing.TB, family string, set func(*C)) topology.Topology {
	t.Helper()
	return simtest.Must(Make(family, But(set)))(t)
}

// Refuses checks that settings are refused, by the key of the problem.
func Refuses(t *testing.T, family, key string, set func(any)) {
	t.Helper()
	_, err := Make(family, set)
	var problem *param.ParamError
	simtest.ErrorIf(t, !errors.As(err, &problem) || problem.Key != key, "%s: %v, want a problem of %s", family, err, key)
}

// CheckFacts checks a network against closed forms that were counted by hand, or elsewhere.
func CheckFacts(t *testing.T, family string, set func(any), want topology.Facts) {
	t.Helper()
	x := simtest.Must(Make(family, set))(t)
	g := x.Graph()
	if got := x.Facts(); got != want || g.Switches() != got.Switches || g.Terminals() != got.Terminals || g.SwitchLinks() != got.Links {
		t.Errorf("%s: %+v, want %+v; the graph has %d switches, %d terminals, %d links", family, got, want, g.Switches(), g.Terminals(), g.SwitchLinks())
	}
	CheckGraph(t, g)
	d := metrics.Measure(g).Diameter()
	simtest.ErrorIf(t, g.Switches() < 2000 && d != want.Diameter, "%s: diameter %d, want %d", family, d, want.Diameter)
}

// CheckShape is [CheckLayout] of a family's network, which has a shape and a number of frames.
func CheckShape(t *testing.T, family string, set func(any), shape topology.Shape, frames int) {
	t.Helper()
	l := CheckLayout(t, simtest.Must(Make(family, set))(t), 0.99)
	simtest.ErrorIf(t, l.Shape != shape || len(l.Frames) != frames,
		"%s: shape %v with %d frames: %s", family, l.Shape, len(l.Frames), l.How)
}

// LeadsTo lists the switches at the other ends of a switch's ports to switches.
func LeadsTo(g *topology.Graph, s topology.SwitchID) (list []topology.SwitchID) {
	for _, to := range g.Links(s) {
		list = append(list, to)
	}
	return list
}

// Special are small networks with what random ones seldom have.
func Special(t testing.TB) []Network {
	t.Helper()
	grid := func(family string, terminals int, dims ...int) topology.Topology {
		return Build(t, family, func(c *topology.GridConfig) { c.Dims, c.Terminals = dims, terminals })
	}
	dragonfly := func(p, a, h, g int) topology.Topology {
		return Build(t, "dragonfly", func(c *topology.DragonflyConfig) { c.P, c.A, c.H, c.G = p, a, h, g })
	}
	return []Network{
		{"dragonfly", dragonfly(2, 4, 2, 0)},
		{"dragonfly with several channels between groups", dragonfly(2, 4, 2, 4)},
		{"dragonfly of two groups", dragonfly(1, 3, 1, 2)},
		{"dragonfly of one-switch groups", dragonfly(2, 1, 4, 0)},
		{"torus", grid("torus", 2, 4, 6)},
		{"torus of odd and short rings", grid("torus", 1, 5, 3, 2)},
		{"mesh", grid("mesh", 1, 4, 3)},
		{"hypercube", grid("mesh", 1, 2, 2, 2, 2)},
		{"HyperX with parallel cables", Build(t, "hyperx", func(c *topology.HyperXConfig) {
			c.Dims, c.Trunks, c.Terminals = []int{4, 3}, []int{1, 2}, 2
		})},
		{"HyperX of three dimensions", Build(t, "hyperx", func(c *topology.HyperXConfig) { c.Dims, c.Terminals = []int{3, 3, 2}, 1 })},
		{"fat tree", Build(t, "fat-tree", func(c *topology.FatTreeConfig) { c.K, c.N = 4, 3 })},
		{"tapered tree with parallel cables", Build(t, "xgft", func(c *topology.XGFTConfig) {
			c.M, c.W, c.Parallel = []int{4, 3, 2}, []int{1, 2, 1}, []int{1, 2, 3}
		})},
		{"random", Build(t, "random-regular", func(c *topology.RandomRegularConfig) { c.Switches, c.Degree, c.Terminals = 24, 4, 2 })},
		{"single switch", Build(t, "single-switch", func(c *topology.SingleSwitchConfig) { c.Terminals = 5 })},
	}
}
