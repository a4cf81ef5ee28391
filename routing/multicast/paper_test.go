package multicast

import (
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// paperCase is a network and pattern of Chen et al. 2021, section 4.2, at full size. The Sunway
// machines are modelled as trimmed trees that fit the figures that the paper prints.
type paperCase struct {
	name    string
	graph   func() *topology.Graph
	ranks   int
	dims    []int
	entries int // recommended, table 4
}

var paperCases = []paperCase{
	{"bluelight-256x34", blueLight, 1, []int{256, 34}, 128},
	{"bluelight-90x90", blueLight, 1, []int{90, 90}, 128},
	{"bluelight-64x16x34", blueLight, 4, []int{64, 16, 34}, 128},
	{"taihulight-34x34x34", taihuLight, 1, []int{34, 34, 34}, 128},
	{"taihulight-128x32x40", taihuLight, 4, []int{128, 32, 40}, 128},
	{"fat-tree-25x25x25", func() *topology.Graph { return fatTreeNet(40) }, 1, []int{25, 25, 25}, 128},
	{"torus-60x20x20", paperTorus, 1, []int{60, 20, 20}, 256},
	{"torus-28x28x28", paperTorus, 1, []int{28, 28, 28}, 256},
	{"dragonfly-29x29x29", func() *topology.Graph { return dragonflyNet(18, 9, 9) }, 1, []int{29, 29, 29}, 256},
	{"random-256x160", paperRandom, 1, []int{256, 160}, 256},
	{"random-32x32x40", paperRandom, 1, []int{32, 32, 40}, 256},
	{"random-128x32x40", paperRandom, 4, []int{128, 32, 40}, 256},
}

func blueLight() *topology.Graph {
	return family("trimmed-tree", param.Set("groups", 34), param.Set("group_terminals", 256), param.Set("leaf_terminals", 18),
		param.Set("middles", 16), param.Set("tops", 32), param.Set("top_cables", 8), param.Set("top_wiring", "blocks"))
}
func taihuLight() *topology.Graph {
	return family("trimmed-tree", param.Set("groups", 160), param.Set("group_terminals", 256), param.Set("leaf_terminals", 32),
		param.Set("middles", 8), param.Set("tops", 40), param.Set("top_cables", 2), param.Set("top_wiring", "blocks"))
}
func paperTorus() *topology.Graph  { return gridNet(true, 2, 30, 20, 20) }
func paperRandom() *topology.Graph { return randomNet(2048, 20, 20, 1) }

func (c *paperCase) env(t testing.TB) (Env, []Group) {
	t.Helper()
	g := c.graph()
	env := newEnv(t, g)
	return env, gridPattern(t, g, c.ranks, c.dims...)
}

// TestPaper holds MR4LMS and mr4lms-plus against what the paper prints
// (figures 6, 9 and 10) where it fits, and against lower bounds and each other.
func TestPaper(t *testing.T) {
	if testing.Short() {
		t.Skip("full-size networks")
	}
	type want struct {
		engine          string
		limited         bool
		colours, maxEFI [2]int // least and most
		maxTFI          int
	}
	whatever := [2]int{0, 1 << 30}
	for name, wants := range map[string][]want{
		"bluelight-256x34": { // printed: 29 colours; a leaf of 18 needs 19
			{engine: "mr4lms", colours: [2]int{24, 34}, maxEFI: whatever},
			{engine: "mr4lms-plus", colours: [2]int{19, 19}, maxEFI: whatever},
		},
		"bluelight-90x90": { // printed: 50 colours, within a fifth
			{engine: "mr4lms", colours: [2]int{40, 60}, maxEFI: whatever},
		},
		"bluelight-64x16x34": { // printed: EFI 24, within a fifth
			{engine: "mr4lms", colours: whatever, maxEFI: [2]int{20, 28}},
		},
		"taihulight-128x32x40": { // printed: 269 colours, EFI 37, TFI 66; a leaf needs 257
			{engine: "mr4lms", colours: [2]int{257, 296}, maxEFI: [2]int{30, 44}},
			{engine: "mr4lms", limited: true, colours: [2]int{128, 128}, maxEFI: whatever, maxTFI: 86},
			{engine: "mr4lms-plus", colours: [2]int{257, 257}, maxEFI: [2]int{0, 38}}, // as mr4lms
		},
		"dragonfly-29x29x29": {
			{engine: "mr4lms", colours: [2]int{220, 260}, maxEFI: whatever},
			{engine: "mr4lms-plus", colours: [2]int{20, 172}, maxEFI: whatever},
		},
		"random-256x160": { // printed: EFI 20 without limit, 34 with 256 entries
			{engine: "mr4lms", colours: whatever, maxEFI: [2]int{13, 27}},
			{engine: "mr4lms", limited: true, colours: [2]int{256, 256}, maxEFI: [2]int{13, 46}},
		},
		"random-32x32x40": { // printed: TFI at most 10 with one rank a terminal
			{engine: "mr4lms", limited: true, colours: [2]int{256, 256}, maxEFI: whatever, maxTFI: 13},
		},
		"random-128x32x40": { // printed: 2,852 colours, EFI 139
			{engine: "mr4lms", colours: [2]int{2567, 3137}, maxEFI: [2]int{111, 167}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, c := range paperCases {
				if c.name != name {
					continue
				}
				env, groups := c.env(t)
				for _, w := range wants {
					env.Entries = Unlimited
					if w.limited {
						env.Entries = c.entries
					}
					r := run(t, env, w.engine, groups, true)
					inside := func(what string, got int, bounds [2]int) {
						if got < bounds[0] || got > bounds[1] {
							t.Errorf("%s with %d entries: %s %d, want %d to %d", w.engine, env.Entries, what, got, bounds[0], bounds[1])
						}
					}
					inside("colours", r.Colours, w.colours)
					inside("largest EFI", r.MaxEFI, w.maxEFI)
					if w.maxTFI > 0 {
						inside("largest TFI", r.MaxTFI, [2]int{2, w.maxTFI})
					}
					simtest.ErrorIf(t, !w.limited && r.Colours < r.ColourBound,
						"%s: %d colours, fewer than the bound %d", w.engine, r.Colours, r.ColourBound)
				}
			}
		})
	}
}

// BenchmarkRoute routes all groups of the paper's cases. The metrics beside the
// time are what the paper's figures show.
func BenchmarkRoute(b *testing.B) {
	for _, c := range paperCases {
		env, groups := Env{}, []Group(nil)
		for _, engine := range []string{"mr4lms", "gw-sssp", "mr4lms-plus", "mr4lms-plus-offline"} {
			for _, limited := range []bool{false, true} {
				if limited && engine == "gw-sssp" {
					continue
				}
				name := "case=" + c.name + "/engine=" + engine + "/entries=unlimited"
				if limited {
					name = "case=" + c.name + "/engine=" + engine + "/entries=recommended"
				}
				b.Run(name, func(b *testing.B) {
					if env.Graph == nil {
						env, groups = c.env(b)
					}
					env.Entries = Unlimited
					if limited {
						env.Entries = c.entries
					}
					var r *Result
					for b.Loop() {
						r = run(b, env, engine, groups, false)
					}
					b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(groups)), "µs/group")
					b.ReportMetric(float64(r.Colours), "colours")
					b.ReportMetric(float64(r.MaxEFI), "max-EFI")
				})
			}
		}
	}
}

func BenchmarkMinHop(b *testing.B) {
	for _, c := range []struct {
		name  string
		graph func() *topology.Graph
	}{{"torus", paperTorus}, {"random", paperRandom}, {"taihulight", taihuLight}} {
		b.Run("net="+c.name, func(b *testing.B) {
			g := c.graph()
			for b.Loop() {
				_, err := NewMinHop(g, 1)
				simtest.FatalIf(b, err != nil, "%v", err)
			}
		})
	}
}
