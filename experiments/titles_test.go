package experiments

import (
	"strings"
	"testing"
)

const titled = `title = "Torus {topology.dims}, {traffic.pattern} traffic, {terminals} terminals"
[topology]
type = "torus"
dims = [4, 4]
[routing]
type = "dor"
[traffic]
pattern = "uniform"
[sweep]
"traffic.load" = [0.1, 0.2, 0.3, 0.4]
[[plot]]
x = "offered_load"
y = "latency_mean_ns"
[[plot]]
title = "Throughput of a {PK}, from load {traffic.load}"
x = "offered_load"
y = "accepted_load"
`

// TestTitlesFollowSettings: a title says what the settings have come to, those
// of --set, too, and so does that of the resolved file, which another --set may
// change again.
func TestTitlesFollowSettings(t *testing.T) {
	for _, c := range []struct {
		set   []string
		want  string
		other string // of the second figure
	}{
		{nil, "Torus 4x4, uniform traffic, 16 terminals", "Throughput of a {PK}, from load 0.1 to 0.4"},
		{
			[]string{"topology.dims=[2,4]", "traffic.pattern=tornado", "switch.vcs=4"},
			"Torus 2x4, tornado traffic, 8 terminals, switch.vcs = 4",
			"Throughput of a {PK}, from load 0.1 to 0.4, topology.dims = 2x4, traffic.pattern = tornado, switch.vcs = 4",
		},
		{[]string{"traffic.load=0.3", "seed=7"}, "Torus 4x4, uniform traffic, 16 terminals, traffic.load = 0.3, seed = 7", "Throughput of a {PK}, from load 0.3, seed = 7"},
		{[]string{"title=Mine", "switch.vcs=4"}, "Mine", "Throughput of a {PK}, from load 0.1 to 0.4, switch.vcs = 4"},
		// What only asks for more output changes no figure.
		{[]string{"measure.links=true", "measure.series=5", "trace.packets=9", "switch.vcs=4"}, "Torus 4x4, uniform traffic, 16 terminals, switch.vcs = 4", "Throughput of a {PK}, from load 0.1 to 0.4, switch.vcs = 4"},
		// What is swept is on an axis or in the legend.
		{[]string{"sweep.switch.vcs=[2,4]", "sweep.seed=[1,2]"}, "Torus 4x4, uniform traffic, 16 terminals", "Throughput of a {PK}, from load 0.1 to 0.4"},
		{[]string{"sweep.switch.vcs=[4]"}, "Torus 4x4, uniform traffic, 16 terminals, switch.vcs = 4", "Throughput of a {PK}, from load 0.1 to 0.4, switch.vcs = 4"},
	} {
		f := load(t, titled, Options{Set: c.set})
		if f.Title != c.want || f.Plots[0].Title != c.want || f.Plots[1].Title != c.other {
			t.Errorf("%q:\n%s\n%s", c.set, f.Title, f.Plots[1].Title)
		}
		again := load(t, f.Resolved(), Options{})
		if again.Title != c.want || again.Plots[0].Title != c.want || again.Plots[1].Title != c.other {
			t.Errorf("%q, resolved:\n%s\n%s", c.set, again.Title, again.Plots[1].Title)
		}
	}
	f := load(t, load(t, titled, Options{Set: []string{"switch.vcs=4"}}).Resolved(), Options{Set: []string{"switch.vcs=8"}})
	if want := "Torus 4x4, uniform traffic, 16 terminals, switch.vcs = 8"; f.Title != want {
		t.Errorf("set twice: %s", f.Title)
	}
	_, err := Load("x.toml", strings.Replace(titled, "{traffic.pattern}", "{trafic.pattern}", 1), Options{})
	if err == nil || !strings.Contains(err.Error(), `x.toml:1:1: title = "Torus {topology.dims}, {trafic.pattern} traffic, {terminals} terminals": {trafic.pattern} is not a setting of this experiment (did you mean "traffic.pattern"?)`) {
		t.Error(err)
	}
}
