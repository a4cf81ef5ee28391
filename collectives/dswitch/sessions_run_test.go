package dswitch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/simtest"
)

// column is a number of a row.
func column(t *testing.T, r *SessionsResult, name string) float64 {
	t.Helper()
	row := reflect.ValueOf(*r.Row)
	for i := range row.NumField() {
		switch v := row.Field(i); {
		case row.Type().Field(i).Tag.Get("column") != name:
		case v.CanInt():
			return float64(v.Int())
		default:
			return v.Float()
		}
	}
	t.Fatalf("no column %q", name)
	return 0
}

// The published numbers, and the overhead remark of section 2: m^k sessions against R_k/m. The
// paper bounds the difference by m^(k-1), a 1/m-th of the time; its inequality takes m - 1 + 1/m
// for at least m. One cascade: m - N/m = 1 - 1/m, within the bound. Two: m*m - (N(m-1) + 1)/m = 2m
// - 2, which is above m for m > 2: 4/9 of the time for PK_2(15, 3, 1|3), not 1/3.
func TestRunSessionsPaper(t *testing.T) {
	for _, c := range []struct {
		topology.PKConfig
		want map[string]float64
	}{
		{topology.PKConfig{M: 3, Cascades: 1}, map[string]float64{
			"processors": 7, "sessions": 3, "sessions_to_complete": 3, "nonempty_sessions": 2, "overhead_over_bound": 3 - 7.0/3, "channels_over_complete": 1, "packets_received": 6, "overhead_sessions": 3 - 7.0/3,
			"processor_channels": 21, "complete_graph_channels": 21, "channels": 21, "switches": 7, "cycles": 5}},
		{topology.PKConfig{M: 3, Cascades: 2}, map[string]float64{
			"processors": 15, "sessions": 9, "sessions_to_complete": 9, "packets_received": 14, "overhead_sessions": 4, "overhead_over_bound": 4.0 / 3, "overhead_fraction": 4.0 / 9,
			"conflicts": 0, "access_lost_pairs": 0, "missing_pairs": 0, "direct_pairs": 105, "switches": 49,
			"processor_channels": 45, "channels": 45 + 3*49, "complete_graph_channels": 105}},
		// The complete graph needs (m-1)/2 times as many channels: 1596/456.
		{topology.PKConfig{M: 8, Cascades: 1}, map[string]float64{
			"processors": 57, "sessions": 8, "packets_received": 56, "complete_graph_channels": 1596, "processor_channels": 456}},
	} {
		r := simtest.Must(RunSessions(t.Context(), pkNetwork(t, c.PKConfig).sw, DefaultSessionsConfig(), 1, nil))(t)
		for name, want := range c.want {
			got := column(t, r, name)
			simtest.ErrorIf(t, math.Abs(got-want) > 1e-12, "%s: %s = %g, want %g", r.Row.Name, name, got, want)
		}
	}
}

// Every schedule runs, gives the same numbers twice, and the
// same outcome under direct and indirect addressing.
func TestRunSessionsSchedules(t *testing.T) {
	for _, schedule := range []string{"digits", "digits-printed", "digits-short", "cyclic", "accelerated", "random", "sigma"} {
		c := DefaultSessionsConfig()
		c.Schedule, c.Permutations, c.Addressing, c.FailChannels = schedule, 20, "direct", 2
		n := pkNetwork(t, topology.PKConfig{M: 3, Cascades: 2})
		if schedule == "sigma" {
			n = pccNetwork(t, 5, 2)
		}
		first := simtest.Must(RunSessions(t.Context(), n.sw, c, 7, nil))(t)
		again := simtest.Must(RunSessions(t.Context(), n.sw, c, 7, nil))(t)
		simtest.ErrorIf(t, fmt.Sprint(first.Row) != fmt.Sprint(again.Row) || !slices.Equal(first.Faults, again.Faults),
			"%s: two runs differ", schedule)
		if schedule != "sigma" {
			c.Addressing = "indirect"
			indirect := simtest.Must(RunSessions(t.Context(), n.sw, c, 7, nil))(t)
			simtest.ErrorIf(t, fmt.Sprint(first.Row) != fmt.Sprint(indirect.Row),
				"%s: direct and indirect addressing differ:\n%v\n%v", schedule, first.Row, indirect.Row)
		}
		misrouted := column(t, first, "misrouted")
		simtest.ErrorIf(t, misrouted != 0, "%s: %g packets misrouted", schedule, misrouted)
	}
}

func TestRunSessionsRefusals(t *testing.T) {
	pk, pcc := pkNetwork(t, topology.PKConfig{M: 3, Cascades: 2}).sw, pccNetwork(t, 4, 2).sw
	for _, c := range []struct {
		top  topology.Topology
		set  func(*SessionsConfig)
		want []string
	}{
		{nil, func(*SessionsConfig) {}, []string{"topology pcc or pk"}},
		{pk, func(c *SessionsConfig) { c.Schedule, c.PacketFlits = "ring", 0 }, []string{"schedule = \"ring\"", "packet_flits = 0"}},
		{pk, func(c *SessionsConfig) { c.FirstStage = "single" }, []string{"first_stage = single: want parallel"}},
		{pk, func(c *SessionsConfig) { c.FailSwitches, c.FailProcessors = 50, 16 }, []string{"fail_switches = 50: want at most 49", "fail_processors = 16: want at most 15"}},
		{pk, func(c *SessionsConfig) { c.FirstStage, c.FailSwitches = "single", 50 }, []string{"first_stage = single", "fail_switches = 50"}},
		{pk, func(c *SessionsConfig) { c.Schedule, c.Addressing = "sigma", "direct" }, []string{"schedule = sigma"}},
		{pcc, func(c *SessionsConfig) { c.Schedule = "sigma" }, []string{"addressing \"direct\""}},
	} {
		config := DefaultSessionsConfig()
		c.set(&config)
		_, err := RunSessions(t.Context(), c.top, config, 1, nil)
		for _, want := range c.want {
			simtest.Fail(t, err, want)
		}
		check := CheckSessions(c.top, config, 1)
		simtest.ErrorIf(t, check == nil || check.Error() != fmt.Sprint(err), "CheckSessions says %v, RunSessions %v", check, err)
	}
}

// sessions_to_complete is the last session that brought anything new, and has no value where some
// pair was never served: the printed formula on two cascades, and the counterexample to theorem 2.
func TestRunSessionsToComplete(t *testing.T) {
	for _, c := range []struct {
		topology.PKConfig
		schedule string
		want     float64
	}{
		{topology.PKConfig{M: 8, Cascades: 1}, "digits", 8},
		{topology.PKConfig{M: 8, Cascades: 1}, "digits-short", 7},
		{topology.PKConfig{M: 3, Cascades: 2}, "digits-printed", math.NaN()},
		{topology.PKConfig{M: 3, Cascades: 3, Inner: []int{14}}, "digits", 27},
		{topology.PKConfig{M: 3, Cascades: 3, Inner: []int{15}}, "digits", math.NaN()},
		{topology.PKConfig{M: 3, Cascades: 3, Inner: []int{15}}, "accelerated", 14},
	} {
		config := DefaultSessionsConfig()
		config.Schedule = c.schedule
		r := simtest.Must(RunSessions(t.Context(), pkNetwork(t, c.PKConfig).sw, config, 1, nil))(t)
		got := column(t, r, "sessions_to_complete")
		simtest.ErrorIf(t, got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)),
			"%s, %s: complete after %g sessions, want %g", r.Row.Name, c.schedule, got, c.want)
	}
}

// TestRunSessionsLivingReceive: of 7 processors 2 have failed: each of the 5 others receives 4 packets, at least and at
// most, and those that have failed do not count.
func TestRunSessionsLivingReceive(t *testing.T) {
	config := DefaultSessionsConfig()
	config.FailProcessors = 2
	r := simtest.Must(RunSessions(t.Context(), pkNetwork(t, topology.PKConfig{M: 3, Cascades: 1}).sw, config, 1, nil))(t)
	simtest.ErrorIf(t, r.Row.PacketsReceived != 4 || r.Row.PacketsReceivedMax != 4 || r.Row.LivingProcessors != 5,
		"%d to %d packets at %d processors, want 4 at 5", r.Row.PacketsReceived, r.Row.PacketsReceivedMax, r.Row.LivingProcessors)
}

// A run ends soon after its context.
func TestRunSessionsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := RunSessions(ctx, pkNetwork(t, topology.PKConfig{M: 3, Cascades: 2}).sw, DefaultSessionsConfig(), 1, nil)
	simtest.ErrorIf(t, !errors.Is(err, context.Canceled), "got %v", err)
}
