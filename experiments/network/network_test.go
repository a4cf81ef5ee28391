package network

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// torus builds a torus with a terminal on each switch.
func torus(t *testing.T, dims ...int) topology.Topology {
	t.Helper()
	net := simtest.Must(topology.Registry.New("torus", struct{}{}, param.Set("dims", dims)))(t)
	return net
}

// A network that is written and read again is the same network; a ring that has grown from
// 5 switches to 6 has one switch, one host and two cables more, and one cable less (the one
// that closed the ring). The 20 ordered pairs of the 5 old hosts keep their paths but those
// that went by the closing cable, between switches 0 and 4: with shortest paths these are the
// pairs 0-4, 0-3 and 1-4 in both directions, 6 pairs. On the ring of 6 the distance of 0-4 is
// 2 (1 before), of 0-3 and 1-4 it is 3 (2 before): all 6 are longer.
func TestDiff(t *testing.T) {
	n := &Network{Topology: torus(t, 5)}
	for _, c := range []struct {
		name string
		dims int
		want []string
	}{
		{"written and read", 5, []string{"switches   0 gone, 0 new, 0 changed", "cables     0 gone, 0 new, 0 changed", "hosts      0 gone, 0 new, 0 changed",
			"pairs      20 of hosts that both have: 20 had a path, 20 have one", "paths      20 the same, 0 by other cables, 0 shorter, 0 longer"}},
		{"grown by a switch", 6, []string{"switches   0 gone, 1 new, 0 changed", "cables     1 gone, 2 new, 0 changed", "hosts      0 gone, 1 new, 0 changed",
			"paths      14 the same, 0 by other cables, 0 shorter, 6 longer"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var text bytes.Buffer
			simtest.Check(t, (&Network{Topology: torus(t, c.dims)}).Write(&text, "json"))
			path := filepath.Join(t.TempDir(), "net.json")
			simtest.Check(t, os.WriteFile(path, text.Bytes(), 0o600))
			later := simtest.Must(Import(path))(t)
			change := simtest.Must(n.Diff(later, nil, "table"))(t)
			var out strings.Builder
			change.Write(&out)
			for _, line := range c.want {
				simtest.ErrorIf(t, !strings.Contains(out.String(), line), "no %q in\n%s", line, out.String())
			}
		})
	}
}

// A packet has to fit into the MTU, and under cut-through into a buffer of the switch.
func TestCheckFit(t *testing.T) {
	for _, c := range []struct {
		mtu          sim.Bytes
		control      string
		buffer, most int
		key          string
	}{
		{0, "wormhole", 4, 100, ""},
		{256, "wormhole", 4, 4, ""},           // 4 flits of 64 B
		{255, "wormhole", 4, 4, "fabric.mtu"}, // one byte short
		{0, "cut-through", 8, 8, ""},          // fits exactly
		{0, "cut-through", 8, 9, "switch.buffer_flits"},
	} {
		p, s := fabric.DefaultConfig().Fabric, fabric.DefaultConfig().Switch
		p.FlitBytes, p.MTU = 64, c.mtu
		s.FlowControl, s.BufferFlits = c.control, c.buffer
		var problem *param.ParamError
		errors.As(CheckFit(&p, &s, c.most), &problem)
		got := ""
		if problem != nil {
			got = problem.Key
		}
		simtest.Equal(t, got, c.key, "%+v: %v: key", c, problem)
	}
}

// All that is wrong with the tables of faults is said at once, each by its key.
func TestPeriodsNameEveryProblem(t *testing.T) {
	x := &Faults{Tables: map[string]FaultTable{
		"a": {Switches: []string{"switch 9"}},
		"b": {Links: []string{"switch 0 port 77"}},
		"c": {Fraction: 0.2, At: 10, Until: 10},
	}}
	_, err := x.Periods(torus(t, 5).Graph())
	simtest.FatalIf(t, err == nil, "accepted")
	for _, key := range []string{"fault.a.switches", "fault.b.links", "fault.c.until"} {
		simtest.ErrorIf(t, !strings.Contains(err.Error(), key), "%q does not name %s", err, key)
	}
}

// A fault from cycle 10 to 20 divides time in three; the ring without two of its cables has
// two parts, switch 1 with switch 2 and the other three: 2*2*3 = 12 pairs have no path.
// Traffic between joined terminals leaves each terminal of the first part one destination,
// each of the second part two.
func TestPeriodsAndJoinedTraffic(t *testing.T) {
	ring := torus(t, 5)
	g := ring.Graph()
	x := &Faults{Tables: map[string]FaultTable{"cut": {Links: []string{"switch 0 - switch 1", "switch 2 - switch 3"}, At: 10, Until: 20}}}
	periods, err := x.Periods(g)
	simtest.FatalIf(t, err != nil || len(periods) != 3, "%d eras, %v", len(periods), err)
	pairs, _, _ := periods[1].Down.Cut()
	simtest.Alike(t, "from, to, pairs, links", periods[1].From, 10, periods[2].From, 20, pairs, 12, periods[1].Down.Links(), 2)
	simtest.Says(t, x.Describe(periods)[1], "from cycle 10 on", "12 pairs of terminals have no path")
	uniform := simtest.Must(traffic.Patterns.New("uniform", traffic.Env{Topology: ring}))(t)
	joined := Joined(uniform.(traffic.Matrix), periods[1].Down, g)
	for src, want := range []float64{2, 1, 1, 2, 2} {
		total, count := 0.0, 0
		joined.Weights(topology.TerminalID(src), func(_ topology.TerminalID, w float64) { total, count = total+w, count+1 })
		simtest.ErrorIf(t, float64(count) != want || math.Abs(total-want/4) > 1e-12, // uniform: a quarter to each of 4 others
			"terminal %d: %d destinations of weight %g, want %g", src, count, total, want)
	}
}
