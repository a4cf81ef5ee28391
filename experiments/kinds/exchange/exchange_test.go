package exchange

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// exchangeRows runs an exchange of the given tables.
func exchangeRows(t *testing.T, text string) []map[string]string {
	t.Helper()
	return enginetest.ResultCells(t, enginetest.Execute(t, enginetest.Load(t, "kind = \"exchange\"\n"+text), engine.Execution{Jobs: 1}))
}

// By hand: a switch takes a cycle, as does every channel, injection too.
//
// Three terminals on one switch, packets of 2 flits: 2*2 flits leave each terminal back to back without meeting another
// (ring order), the first after a way of injection 1 + channel 1 + switch 1 + channel 1: 4 + 4 - 1 = 7 cycles. 6 packets of
// 2 flits cross 2 channels each, of 3 channels in 2 directions.
//
// PCC(7, 3, 1), 2 sessions of 2 flits: way of 1 + 3 stages + 2 channels = 6, 6 + 4 - 1 = 9; emptied
// after each session 2*(6 + 2 - 1) = 14. Cyclic: 6 sessions, terminal channels at both ends: way of
// 8, 8 + 12 - 1 = 19; 7 channels of terminals more. With channels of 10 cycles 4*9 more.
func TestExchangeByHand(t *testing.T) {
	for _, c := range []struct {
		text string
		want map[string]string
	}{
		{"[topology]\ntype = \"single-switch\"\nterminals = 3\n[routing]\ntype = \"table\"\n", map[string]string{
			"network": "single-switch table", "terminals": "3", "packets": "6", "sessions": "", "cycles": "7", "time_ns": "7",
			"port_limit_cycles": "4", "hops_mean": "1", "terminal_ports": "1", "switches": "1", "channels": "3",
			"channel_utilisation": "0.5714285714285714", "network_latency_mean_ns": "4", "network_latency_max_ns": "4"}},
		{"[topology]\ntype = \"pcc\"\n[exchange]\nthrough = \"sessions\"\n", map[string]string{
			"network": "pcc accelerated", "terminals": "7", "packets": "42", "sessions": "2", "cycles": "9", "terminal_ports": "3", "channels": "21", "hops_mean": "3",
			"network_latency_mean_ns": "6"}},
		{"[topology]\ntype = \"pcc\"\n[exchange]\nthrough = \"sessions\"\ndrain = true\n", map[string]string{"cycles": "14"}},
		{"[topology]\ntype = \"pk\"\ncascades = 1\n[exchange]\nthrough = \"sessions\"\nschedule = \"cyclic\"\n", map[string]string{
			"cycles": "19", "terminal_ports": "1", "channels": "28", "channel_cycles_per_flit": "6.333333333333333"}}, // 28*19 / (42*2)
		{"[topology]\ntype = \"pk\"\ncascades = 1\n[fabric]\nclock = \"2ns\"\n[exchange]\nthrough = \"sessions\"\nschedule = \"cyclic\"\nchannel_latency = \"20ns\"\n", map[string]string{
			"cycles": "55", "time_ns": "110"}},
		{"[topology]\ntype = \"pcc\"\nm = 4\nsigma = 2\n[exchange]\nthrough = \"sessions\"\nschedule = \"sigma\"\naddressing = \"direct\"\n", map[string]string{"sessions": "2", "packets": "42"}},
	} {
		rows := exchangeRows(t, c.text+map[bool]string{true: "packet_flits = 2\n", false: "[exchange]\npacket_flits = 2\n"}[strings.Contains(c.text, "[exchange]")])
		enginetest.CheckCells(t, c.text, rows[0], c.want)
	}
}

// Every family delivers everything in both orders, never faster than a terminal's port allows, and two runs agree.
func TestExchangeFamilies(t *testing.T) {
	for _, family := range []string{
		"type = \"fat-tree\"\nk = 4\nn = 2\n[routing]\ntype = \"nca\"\n",
		"type = \"dragonfly\"\np = 2\na = 4\nh = 2\n[routing]\ntype = \"min\"\n",
		"type = \"torus\"\ndims = [4, 3]\n[routing]\ntype = \"dor\"\n",
		"type = \"pk\"\n[routing]\ntype = \"table\"\n", // buffered, as any other graph
	} {
		text := "[topology]\n" + family + "[exchange]\npacket_flits = 3\n[sweep]\n\"exchange.order\" = [\"ring\", \"random\"]\n"
		rows, again := exchangeRows(t, text), exchangeRows(t, text)
		for i, row := range rows {
			n, cycles := results.Number(row["terminals"]), results.Number(row["cycles"])
			simtest.ErrorIf(t, results.Number(row["packets"]) != n*(n-1) || cycles < 3*(n-1), "%q: %v", family, row)
			simtest.ErrorIf(t, results.Number(row["efficiency"]) > 1 || results.Number(row["channel_utilisation"]) > 1, "%q: %v", family, row)
			simtest.Equal(t, row["cycles"], again[i]["cycles"], "%q: cycles", family)
		}
		same := rows[0]["cycles"] == rows[1]["cycles"] && rows[0]["network_latency_mean_ns"] == rows[1]["network_latency_mean_ns"]
		simtest.ErrorIf(t, same, "%q: the order makes no difference", family)
	}
}

// An exchange that lacks a packet says so.
func TestExchangeIncomplete(t *testing.T) {
	x := newExchange(2, 1, "ring", 1)
	sink := x.Part(0).Sink
	sink.Deliver(&fabric.Delivery{Src: 0, Dst: 1})
	simtest.Fail(t, x.complete(0), "still lacked 1 packets, of which 0 were given up")
	sink.Deliver(&fabric.Delivery{Src: 1, Dst: 0})
	simtest.Check(t, x.complete(0))
	f := enginetest.Load(t, "kind = \"exchange\"\n[topology]\ntype = \"pk\"\ncascades = 3\n[exchange]\nthrough = \"sessions\"\nschedule = \"digits\"\n")
	simtest.ErrorIf(t, len(f.Warnings) != 1 || f.Warnings[0].Key != "exchange.schedule", "warnings: %v", f.Warnings)
	o := simtest.Must(engine.Execute(t.Context(), f, engine.Execution{}))(t)
	simtest.ErrorIf(t, len(o.Failures) != 1 || !strings.Contains(o.Failures[0].Reason, "left 84 pairs of PK_3(35, 3, 1|9)"), "failures: %v", o.Failures)
}

func TestExchangeRefusals(t *testing.T) {
	enginetest.Refusals(t, "kind = \"exchange\"\n", map[string]string{
		"[topology]\ntype = \"torus\"\n[exchange]\nthrough = \"sessions\"\n":                                        "needs a distributed full switch, pcc or pk",
		"[topology]\ntype = \"single-switch\"\nterminals = 1\n":                                                     "an exchange needs two",
		"[topology]\ntype = \"pcc\"\n[channel.internal]\ncycles_per_flit = 2\n[exchange]\nthrough = \"sessions\"\n": "channel.internal.cycles_per_flit = 2: want 1",
		"[topology]\ntype = \"pcc\"\n[exchange]\nthrough = \"sessions\"\nschedule = \"sigma\"\n":                    "exchange.schedule = sigma",
		"[topology]\ntype = \"torus\"\n[routing]\ntype = \"nca\"\n":                                                 "routing.type",
		"[topology]\ntype = \"fat-tree\"\n[exchange]\nchannel_latency = \"1500ps\"\n":                               "whole cycles",
	})
}

// TestExchangeAroundFaults: a cable of a switch down from the start makes the exchange longer, and
// all of its 16*15 packets arrive; one that fails in the middle takes packets with it, which
// retries bring in the end; without retries they are given up and counted.
func TestExchangeAroundFaults(t *testing.T) {
	const torus = "[topology]\ntype = \"torus\"\ndims = [4, 4]\n[routing]\ntype = \"table\"\n[exchange]\npacket_flits = 8\n"
	run := func(text string) (cycles, arrived, retransmitted, givenUp int) {
		cells := exchangeRows(t, torus+text)[0]
		for column, x := range map[string]*int{"cycles": &cycles, "packets": &arrived, "packets_retransmitted": &retransmitted, "packets_given_up": &givenUp} {
			*x = simtest.Must(strconv.Atoi(cells[column]))(t)
		}
		return cycles, arrived, retransmitted, givenUp
	}
	whole, arrived, retransmitted, givenUp := run("")
	simtest.Alike(t, "without faults", arrived, 240, retransmitted+givenUp, 0)
	cycles, arrived, retransmitted, givenUp := run("[fault.a]\nfraction = 0.2\n")
	simtest.Alike(t, "a fifth of the cables down", cycles > whole, true, arrived, 240, retransmitted+givenUp, 0)
	const fails = "[fault.a]\nlinks = [\"switch 0 - switch 1\"]\nat = 50\n[recovery]\nreroute = 20\ntimeout = \"5us\"\n"
	_, arrived, _, givenUp = run(fails)
	simtest.ErrorIf(t, givenUp == 0 || arrived+givenUp != 240, "without retries: %d arrived, %d given up", arrived, givenUp)
	cycles, arrived, retransmitted, givenUp = run(fails + "retries = 3\n")
	simtest.ErrorIf(t, arrived != 240 || givenUp != 0 || retransmitted == 0 || cycles < 5000,
		"with retries: %d cycles, %d arrived, %d sent again, %d given up", cycles, arrived, retransmitted, givenUp)
}

// Exchanges give the same bytes on any number of threads, with faults and without.
func TestExchangeThreads(t *testing.T) {
	enginetest.DivideAlways(t)
	for i, network := range []string{
		"[topology]\ntype = \"dragonfly\"\np = 2\na = 4\nh = 2\n[routing]\ntype = \"ugal-l\"\n",
		"[topology]\ntype = \"torus\"\ndims = [4, 4]\n[routing]\ntype = \"dor\"\n[exchange]\norder = \"random\"\npacket_flits = 4\n",
		"[topology]\ntype = \"fat-tree\"\nk = 4\nn = 3\n[routing]\ntype = \"nca\"\n[fault.cable]\nfraction = 0.03\nat = 50\nuntil = 300\n",
	} {
		enginetest.SameOnThreads(t, network, enginetest.Load(t, "kind = \"exchange\"\n"+network), simtest.Threads(t, i), true)
	}
}

// TestExchangeGoesOn: an exchange that goes on from a snapshot of any moment, on any number
// of threads, is the exchange itself, in both orders, with packets as the unit, and while
// cables fail, when something is sent again. Half of a snapshot is refused.
func TestExchangeGoesOn(t *testing.T) {
	for i, text := range []string{
		"[topology]\ntype = \"torus\"\ndims = [4, 4]\n[routing]\ntype = \"dor\"\n[exchange]\npacket_flits = 40\n",
		enginetest.Dragonfly + "[routing]\ntype = \"ugal-l\"\n[fabric]\nunit = \"packet\"\n[switch]\nhold = true\nflow_control = \"cut-through\"\nbuffer_flits = 16\n[exchange]\npacket_flits = 9\norder = \"random\"\n",
		enginetest.Random16 + "[switch]\nvcs = 9\n[fault.cables]\nfraction = 0.1\nat = 200\n[recovery]\nreroute = 100\nretries = 5\ntimeout = \"400ns\"\n[exchange]\npacket_flits = 16\n",
	} {
		c := enginetest.Load(t, "kind = \"exchange\"\n"+text).Points[0].Config().(*exchangeConfig)
		run := func(threads int, plan measure.ToEnd) (*exchange, *core.Fabric, error) {
			p := simtest.Must(c.build(1))(t)
			g := p.topology.Graph()
			f := simtest.Must(p.Routed.Fabric(g, p.fabric, 1))(t)
			x := newExchange(g.Terminals(), c.Exchange.PacketFlits, c.Exchange.Order, 1)
			f.DivideFor(threads, fabric.Never, 1, nil)
			return x, f, measure.RunToEnd(t.Context(), f, x, plan)
		}
		var last []byte
		for _, trial := range simtest.Some(t, i, 0, 1, 2) {
			enginetest.CheckGoesOn(t, text, 3*i+trial, func(threads int, plan measure.ToEnd) string {
				if save := plan.Snapshot; save != nil {
					plan.Snapshot = func(done bool, state func(*snapshot.Archive) error) (err error) {
						last, err = snapshottest.Encode(state)
						return errors.Join(err, save(done, state))
					}
				}
				x, f := simtest.Must2(run(threads, plan))(t)
				simtest.ErrorIf(t, i == 2 && f.FaultTally().Retransmitted == 0, "nothing is sent again")
				return fmt.Sprintf("%+v %d %+v %+v", x.all(), f.Cycle(), f.Counters, f.FaultTally())
			})
		}
		simtest.Refuse2(run(1, measure.ToEnd{From: snapshot.Reader(last[:len(last)/2])}))(t, "")
	}
}

// TestExchangeIdleSettings: sessions use neither buffers nor a routing, nor what a switch does with
// credits, lanes and allocators: that is said, and the row is the same. Stages take the switch's
// time, of which nothing is said; neither is anything of a fabric.
func TestExchangeIdleSettings(t *testing.T) {
	const text = "kind = \"exchange\"\ntopology = { type = \"pcc\" }\nexchange = { packet_flits = 5 }\n"
	row := func(f *experiments.File) []string {
		return enginetest.Execute(t, f, engine.Execution{}).Results.Rows[0]
	}
	same := strings.Join(row(enginetest.Load(t, text, "exchange.through=sessions")), ",")
	for _, set := range []string{
		"exchange.order=random", "routing.up=hashed", "recovery.retries=2", "fabric.unit=packet", "terminal.buffer_flits=4", "switch.vcs=5", "switch.buffer_flits=7",
		"switch.credit_cycles=9", "switch.credits_per_cycle=2", "switch.input_speedup=2", "switch.allocator=age", "switch.iterations=3", "switch.vc_allocator=input-first",
		"switch.vc_reuse=credits-back", "switch.output_buffer_flits=6", "switch.marking=threshold", "switch.credit_sensing=on", "switch.vl_high_limit=3",
		"switch.flow_control=cut-through", "switch.hold=true", "switch.pipeline=serial", "switch.forwarding=store-and-forward", "channel.terminal.latency=9ns", "channel.terminal.credit_latency=9ns", "channel.internal.credit_latency=9ns",
	} {
		key, _, _ := strings.Cut(set, "=")
		f := enginetest.Load(t, text, "exchange.through=sessions", set)
		simtest.ErrorIf(t, len(f.Warnings) != 1 || !strings.HasPrefix(enginetest.Idle(f.Warnings), key+" "), "%s: %v", set, f.Warnings)
		simtest.Equal(t, strings.Join(row(f), ","), same, "%s:", set)
	}
	for _, set := range []string{"switch.crossbar_cycles=3 exchange.through=sessions", "routing.type=table switch.credit_cycles=9", "routing.type=table exchange.order=random",
		"channel.internal.latency=9ns exchange.through=sessions", "channel.terminal.latency=9ns exchange.through=sessions exchange.schedule=cyclic", "channel.terminal.latency=9ns exchange.channel_latency=3ns routing.type=table"} {
		f := enginetest.Load(t, text, strings.Fields(set)...)
		simtest.ErrorIf(t, len(f.Warnings) != 0 || strings.Join(row(f), ",") == same, "%s: %v", set, f.Warnings)
	}
	simtest.Says(t, enginetest.Idle(enginetest.Load(t, text, "routing.type=table", "channel.terminal.latency=9ns", "channel.internal.latency=9ns", "exchange.channel_latency=3ns").Warnings), "exchange.channel_latency ")
}
