package experiments

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestWhere: findings name the points that they are about by the swept settings in which these
// do not have all values; a set that is no product of such values is counted. Points are 0 to
// 11: two routings, and of each six loads.
func TestWhere(t *testing.T) {
	f := load(t, `
topology = { type = "dragonfly", p = 2, a = 4, h = 2 }
[sweep]
"routing.type" = ["min", "val"]
"traffic.load" = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
`)
	for _, c := range []struct {
		points []int
		want   string
	}{
		{[]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, ""},
		{[]int{6, 7, 8, 9, 10, 11}, "routing.type = val"},
		{[]int{2, 8}, "traffic.load = 0.3"},
		{[]int{9}, "routing.type = val, traffic.load = 0.4"},
		{[]int{0, 1, 2, 6, 7, 8}, "traffic.load = 0.1, 0.2 or 0.3"},
		{[]int{1, 2, 3, 4, 5}, "routing.type = min, traffic.load = 0.2 to 0.6 (5 values)"},
		{[]int{0, 7}, "traffic.load = 0.1 or 0.2, 2 of 4 points, the first with routing.type = min, traffic.load = 0.1"},
		{[]int{0, 1, 2, 3, 4, 5, 11}, "7 of 12 points, the first with routing.type = min, traffic.load = 0.1"},
	} {
		var points []*Point
		for _, i := range c.points {
			points = append(points, f.Points[i])
		}
		simtest.Equal(t, f.where(points, f.byValue()), c.want, "points %v:", c.points)
	}
}

// TestWarningsOnce: what the check of a file and its preflight warn of is said once, with the
// points that it is about. The two loads of "val" are above its bound, below 0.6, those of
// "min" below the 1 of the terminals' own channels.
func TestWarningsOnce(t *testing.T) {
	f := load(t, `
topology = { type = "dragonfly", p = 2, a = 4, h = 2 }
channel = { global = { latency = "40ns" } }
measure = { warmup = 1000, window = 4000 }
[sweep]
"switch.buffer_flits" = [8, 200]
"routing.type" = ["min", "val"]
"traffic.load" = [0.8, 0.9]
`)
	said := func(warnings []Warning) (all []string) {
		for _, w := range warnings {
			all = append(all, w.Key+" for "+w.Where)
		}
		return all
	}
	simtest.Equal(t, fmt.Sprint(said(f.Warnings)), "[switch.buffer_flits for switch.buffer_flits = 8]", "the file:")
	report, err := f.Preflight(true)
	simtest.Check(t, err)
	simtest.Equal(t, strings.Join(said(report.Warnings), "; "), "traffic.load for routing.type = val", "preflight:")
}

// TestIdleKeys: of settings that change nothing those are named that the file, its sweep or an
// option gives, each once with the first reason; a whole table stands for those of its settings.
// Other warnings stay.
func TestIdleKeys(t *testing.T) {
	d := &document.Tree{
		Origins: map[string]document.Origin{"a.x": {}, "a.y": {}, "ab.x": {}, "b.x": {}},
		Swept:   map[string]document.Origin{"a.w": {}},
	}
	got := ""
	for _, w := range idleKeys([]Warning{
		{Key: "b.x", Message: "1", Idle: true}, {Key: "b.y", Message: "2", Idle: true}, {Key: "c.x", Message: "3"},
		{Key: "a.*", Message: "4", Idle: true}, {Key: "a.x", Message: "5", Idle: true}, {Key: "b.x", Message: "6"},
	}, d) {
		got += fmt.Sprintf("%s %s, ", w.Key, w.Message)
	}
	want := "b.x changes nothing: 1, c.x 3, a.w changes nothing: 4, a.x changes nothing: 4, a.y changes nothing: 4, b.x 6, "
	simtest.ErrorIf(t, got != want, "%s\nwant %s", got, want)
}
