package multicast

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// stateFile is a file of messages on a network.
func stateFile(network, messages string) string {
	return "kind = \"multicast-latency\"\n[switch]\nbuffer_flits = 80\n[groups]\npattern = \"random\"\ngroups = 8\njoins = 3\n" + network + "[messages]\ncount = 2\nwarmup = 1\nspread = \"2us\"\n" + messages
}

// latencyAt builds the simulation of the first point of a file on threads.
func latencyAt(t testing.TB, text string, threads int) (*latencySimulation, *latencyConfig) {
	t.Helper()
	f := enginetest.Load(t, text)
	c := f.Points[0].Config().(*latencyConfig)
	p := simtest.Must(c.build(f.Points[0].Seed))(t)
	s := simtest.Must(c.simulation(p, &experiments.Run{Seed: f.Points[0].Seed, Threads: threads}))(t)
	return s, c
}

// latencyThrough runs the first point of a file on threads, and tells what has come of it.
func latencyThrough(t testing.TB, text string, threads int, plan measure.ToEnd) string {
	t.Helper()
	s, c := latencyAt(t, text, threads)
	simtest.Check(t, s.run(t.Context(), c.Messages.Spread, plan))
	all := fmt.Sprintf("%+v %v", s.row(), s.fabric.ChannelFlits())
	for i := range s.loop.groups {
		all += fmt.Sprintln(s.loop.groups[i].latency)
	}
	return all
}

// TestMulticastGoesOn: from a state of any moment, written and read by any number of threads, messages take the times
// that they take without a break; and who writes one is not disturbed. With flits and with packets as the unit.
func TestMulticastGoesOn(t *testing.T) {
	enginetest.DivideAlways(t)
	for m, messages := range groupMessages {
		for n, network := range simtest.Some(t, m, groupNetworks...) {
			for _, unit := range simtest.Some(t, m, "", "hold = true\n[fabric]\nunit = \"packet\"\n") {
				text := strings.Replace(stateFile(network.text, messages.text), "buffer_flits = 80\n", "buffer_flits = 80\n"+unit, 1)
				enginetest.CheckGoesOn(t, messages.name+" on "+network.name+" "+unit, 10*n+m, func(threads int, plan measure.ToEnd) string {
					return latencyThrough(t, text, threads, plan)
				})
			}
		}
	}
}

// TestMulticastStatesAreWhole: no field is forgotten of what archives itself.
func TestMulticastStatesAreWhole(t *testing.T) {
	snapshottest.Names[hardwareCarrier](t, "routes", "hosts", "loop", "bytes", "packets")
	snapshottest.Names[softwareCarrier](t, "groups", "flows", "free", "ops", // the last counts within a call
		"kernel", "name", "heard", "hosts", "loop", "ends", "first") // made before
	snapshottest.Names[multicastAllreduce](t, "hardwareCarrier", "up")
	snapshottest.Names[softwareGroup](t, "schedule", "sender", "run", "met")
	snapshottest.Names[hosts](t, "nodes", "background", "sinks", "before", "hostTable", "fabric", "clock", "flit", "incoming", "carrier") // what follows before is made before
	snapshottest.Names[hostSink](t, "tally", "hosts", "arrivals")                                                                         // arrivals have been taken over
	snapshottest.Names[latencySimulation](t, "kernel", "fabric", "hosts", "loop", "hardware", "plan", "timings")
}

// groupNetworks and groupMessages are groups on networks that fall into parts in different ways,
// and what they send: by the network or by their members, one after the other and with pauses, with
// overheads that allow long windows and without any, alone and beside unicast packets.
var groupNetworks = []struct{ name, text string }{
	{"torus", "[topology]\ntype = \"torus\"\ndims = [4, 4]\nterminals = 2\n[routing]\ntype = \"dor\"\n"},
	{"tree", "[topology]\ntype = \"fat-tree\"\nk = 4\nn = 3\n[routing]\ntype = \"nca\"\n[channel.level1]\nlatency = \"160ns\"\n"},
	{"dragonfly", "[topology]\ntype = \"dragonfly\"\np = 1\na = 4\nh = 2\n[routing]\ntype = \"min\"\n[channel.global]\nlatency = \"80ns\"\n"},
}

var groupMessages = []struct{ name, text string }{
	{"multicast", "bytes = \"4KiB\"\nrotate = true\nthink = \"0us\"\n"},
	{"multicast among unicast", "bytes = \"9KiB\"\nthink = \"1us\"\nunicast_load = 0.2\nunicast_flits = 4\n"},
	{"multicast without overheads", "bytes = \"2KiB\"\nthink = \"0us\"\nunicast_load = 0.1\n[host]\nsend_overhead = \"0ns\"\nreceive_overhead = \"0ns\"\n"},
	{"multicast from slow terminals", "bytes = \"256B\"\nthink = \"0us\"\nrotate = true\nunicast_load = 0.012\nunicast_flits = 4\n[host]\ndma_rate = \"10Tb/s\"\nsend_overhead = \"0ns\"\nreceive_overhead = \"200ns\"\n[channel.terminal]\ncycles_per_flit = 50\n"},
	{"tree of sends", "bytes = \"5KiB\"\ncarrier = \"broadcast-binomial\"\nrotate = true\n"},
	{"sums by multicast", "bytes = \"5KiB\"\ncarrier = \"allreduce-multicast\"\nrotate = true\nunicast_load = 0.1\n"},
	{"sums", "bytes = \"5KiB\"\ncarrier = \"allreduce-recursive-halving\"\n"},
	{"scattered", "bytes = \"5KiB\"\ncarrier = \"broadcast-scatter-allgather\"\nunicast_load = 0.1\n[host]\nreceive_overhead = \"10ns\"\nsend_overhead = \"0ns\"\n"},
}

// TestAllreduceIdle: on an idle switch a message of 640 B takes 200 ns at the sender, 100 ns at 51.2 Gb/s, then with
// a cycle of 10 ns for each of injection, two channels and the switch and 9 for the flits behind the head 130 ns, 10
// ns until the last flit is written, and 300 ns: T = 740 ns. Multicast takes T for any group, a reduction of 2^k
// members k T before it, and a cycle more from 4 members on: outputs that have served unicast packets last take their
// copy before the others. Recursive doubling takes k T, a ring of 2 members two messages of 320 B, T - 100 ns each
// (50 ns less to read, 5 flits fewer).
func TestAllreduceIdle(t *testing.T) {
	const message, cycle = 740 * sim.Nanosecond, 10 * sim.Nanosecond
	for _, c := range []struct {
		carrier string
		members int
		want    sim.Time
	}{
		{"multicast", 8, message},
		{"allreduce-multicast", 2, 2 * message},
		{"allreduce-multicast", 4, 3*message + cycle},
		{"broadcast-binomial", 8, 3 * message},
		{"allreduce-multicast", 8, 4*message + cycle},
		{"allreduce-multicast", 16, 5*message + cycle},
		{"allreduce-recursive-doubling", 8, 3 * message},
		{"allreduce-ring", 2, 2 * (message - 100*sim.Nanosecond)},
	} {
		s, config := latencyAt(t, fmt.Sprintf(`
kind = "multicast-latency"
topology = { type = "single-switch", terminals = 16 }
fabric = { clock = "10ns" }
groups = { pattern = "blocks", count = 1, size = %d }
host = { send_overhead = "200ns", receive_overhead = "300ns", dma_rate = "51.2Gb/s" }
messages = { carrier = %q, bytes = "640B", count = 3, warmup = 0, spread = "0ns", rotate = true }
`, c.members, c.carrier), 1)
		simtest.Check(t, s.run(t.Context(), config.Messages.Spread, measure.ToEnd{}))
		simtest.EqualSlices(t, s.loop.groups[0].latency, slices.Repeat([]sim.Time{c.want}, 3), "%s of %d members:", c.carrier, c.members)
	}
}

// TestMulticastThreads: the number of threads does not change a digit: the times of every
// group, the flits of every channel, deliveries, packets beside the messages, cycles.
func TestMulticastThreads(t *testing.T) {
	enginetest.DivideAlways(t)
	for j, messages := range groupMessages {
		for _, network := range simtest.Some(t, j, groupNetworks...) {
			text := "kind = \"multicast-latency\"\n[switch]\nbuffer_flits = 64\n[groups]\npattern = \"random\"\ngroups = 8\njoins = 3\n[measure]\ngroups = true\nlinks = true\n" +
				network.text + "[messages]\ncount = 2\nwarmup = 1\nspread = \"2us\"\n" + messages.text
			enginetest.SameOnThreads(t, messages.name+" on "+network.name, enginetest.Load(t, text), simtest.Threads(t, j), true, "groups", "links")
		}
	}
}

// Random groups of a fixed size on a ring of eight switches with a terminal each. Of five terminals out of eight, any
// two groups share one, so that two groups take two colours; no terminal is in more than two, and the bound says so
// by volume too: 5 + 5 switches, of 8. Groups of all eight are all alike.
func TestMulticastRoutingFixedSize(t *testing.T) {
	f := enginetest.Load(t, `
kind = "multicast-routing"
topology = { type = "torus", dims = [8], terminals = 1 }
groups = { pattern = "random-fixed-size" }
multicast = { engine = "mr4lms" }
measure = { check = true }
sweep.lockstep = { "groups.count" = [2, 3], "groups.size" = [5, 8] }
`)
	rows := enginetest.ResultCells(t, enginetest.Execute(t, f, engine.Execution{Jobs: 1}))
	for i, want := range []map[string]string{
		{"groups": "2", "trees": "2", "colours": "2", "colours_at_least": "2"},
		{"groups": "3", "trees": "3", "colours": "3", "colours_at_least": "3", "tree_links": "21"},
	} {
		enginetest.CheckCells(t, "row "+fmt.Sprint(i), rows[i], want)
	}
}

// TestMulticastIdleSettings: without a limit of entries no groups are merged, and settings of merging
// change nothing, which is said; of 3 entries for 30 groups they change the trees.
func TestMulticastIdleSettings(t *testing.T) {
	const text = `
kind = "multicast-routing"
topology = { type = "torus", dims = [4, 4], terminals = 1 }
groups = { pattern = "random-fixed-size", count = 30, size = 5 }
multicast = { engine = "mr4lms" }
`
	one := func(entries string) *experiments.File {
		return enginetest.Load(t, text, "multicast.engine=one-tree", "multicast.entries="+entries)
	}
	said := one("3").Warnings
	with, without := enginetest.Execute(t, one("3"), engine.Execution{}), enginetest.Execute(t, one("unlimited"), engine.Execution{})
	simtest.ErrorIf(t, len(said) != 1 || said[0].Key != "multicast.entries" || !slices.Equal(with.Results.Rows[0], without.Results.Rows[0]),
		"one tree has its entries limited: %v, %v, %v", said, with.Results.Rows, without.Results.Rows)
	for _, c := range []struct{ entries, set string }{{"3", "merge=nearest"}, {"3", "old_trees=extend"}, {"unlimited", "merge=nearest"}, {"unlimited", "old_trees=extend"}, {"unlimited", "successes=1"}} {
		limit, set := "multicast.entries="+c.entries, "multicast."+c.set
		f := enginetest.Load(t, text, limit, set)
		said := len(f.Warnings) == 1 && f.Warnings[0].Idle && strings.HasPrefix(set, f.Warnings[0].Key+"=")
		row := func(f *experiments.File) []string {
			return enginetest.Execute(t, f, engine.Execution{}).Results.Rows[0]
		}
		same := slices.Equal(row(f), row(enginetest.Load(t, text, limit)))
		simtest.ErrorIf(t, same != (c.entries == "unlimited") || same != said, "%s beside %s: the same %v, said %v", set, limit, same, f.Warnings)
	}
}

// TestLatencyIdleSettings: settings of a single group's messages that change nothing are told, and
// change nothing; beside unicast packets, several groups or another carrier they may, and nothing is said. In a
// tree of 16 terminals with a random tie a unicast packet takes other ways; the second of two groups sends
// unless active leaves it out; of trees no message by unicast makes use.
func TestLatencyIdleSettings(t *testing.T) {
	const text = "kind = \"multicast-latency\"\nmessages = { count = 3, spread = \"0ns\" }\nswitch = { buffer_flits = 64, vcs = 4 }\n" +
		"topology = { type = \"torus\", dims = [4, 4], terminals = 1 }\ngroups = { pattern = \"blocks\", count = 1, size = 8 }\nmulticast = { engine = \"mr4lms\" }\n"
	for _, c := range []struct {
		beside, set string
		said        bool
	}{
		{"", "routing.ties=one", true},
		{"messages.unicast_load=0.3", "routing.ties=one", false},
		{"messages.carrier=broadcast-binomial", "routing.hop_vcs=any", false},
		{"", "switch.vcs=5", true},
		{"measure.links=true", "switch.vcs=5", false},
		{"", "messages.active=1", true},
		{"groups.count=2", "messages.active=1", false},
		{"", "multicast.layers=2", true},
		{"", "multicast.build=fctb", false},
		{"messages.carrier=broadcast-binomial", "multicast.build=fctb", true},
		{"", "multicast.merge=nearest", true},
	} {
		load := func(sets string) *experiments.File {
			return enginetest.Load(t, text, append([]string{"fabric.allow_deadlock=true"}, strings.Fields(sets)...)...)
		}
		key, _, _ := strings.Cut(c.set, "=")
		said := slices.ContainsFunc(load(c.beside+" "+c.set).Warnings, func(w experiments.Warning) bool { return w.Idle && w.Key == key })
		simtest.ErrorIf(t, said != c.said, "%s beside %q: said %v", c.set, c.beside, said)
		row := func(f *experiments.File) []string {
			return enginetest.Execute(t, f, engine.Execution{}).Results.Rows[0]
		}
		same := slices.Equal(row(load(c.beside+" "+c.set)), row(load(c.beside)))
		simtest.ErrorIf(t, said && !same, "%s beside %q changes the results", c.set, c.beside)
	}
}

// TestLatencyRow: of 100 messages in 20 us those of the first group take 2, 2, 2 and 3 us, the 96 of the second 1: 2.25 and
// 1 in the mean, 1.05 together; the 50th takes 1, the 99th 2 (the 95th 1). Percentiles are within half a bucket, 0.2 %.
func TestLatencyRow(t *testing.T) {
	const us = sim.Microsecond
	s, _ := latencyAt(t, "kind = \"multicast-latency\"\ntopology = { type = \"single-switch\", terminals = 8 }\ngroups = { pattern = \"blocks\", size = 4 }\n", 1)
	s.loop.groups[0].latency = []sim.Time{2 * us, 2 * us, 2 * us, 3 * us}
	s.loop.groups[1].latency = slices.Repeat([]sim.Time{us}, 96)
	s.loop.first, s.loop.last = 5*us, 25*us
	row := s.row()
	for _, c := range []struct {
		name            string
		got, want, part float64
	}{
		{"messages", float64(row.Messages), 100, 0}, {"mean", row.LatencyMean, 1050, 1e-9}, {"largest", row.LatencyMax, 3000, 0},
		{"median", row.LatencyP50, 1000, 0.002}, {"99th percentile", row.LatencyP99, 2000, 0.002},
		{"fastest group", row.GroupMin, 1000, 1e-9}, {"slowest group", row.GroupMax, 2250, 1e-9}, {"messages a microsecond", row.Rate, 5, 1e-9},
	} {
		simtest.ErrorIf(t, !(math.Abs(c.got-c.want) <= c.part*c.want), "%s: %v, want %v", c.name, c.got, c.want)
	}
}

// TestLatencyRefusals: what does not go with multicast packets is refused before a run, all of it together, and
// no software carrier is kept from it: of a group of four three get each of five messages of a packet, three of
// which are not measured. Times are bounded so that their sums do not overflow: 2^63 ps are 107 days.
func TestLatencyRefusals(t *testing.T) {
	const text = "kind = \"multicast-latency\"\ntopology = { type = \"single-switch\", terminals = 8 }\nswitch = { buffer_flits = 64, output_buffer_flits = 64 }\n" +
		"messages = { bytes = \"640B\", count = 2, warmup = 3 }\ngroups = { pattern = \"blocks\", count = 1 }\n"
	refused := func(set ...string) func(testing.TB, ...string) {
		return simtest.Refuse(experiments.Load("x.toml", text, experiments.Options{Set: set}))
	}
	for _, set := range []string{"switch.flow_control=wormhole", "switch.forwarding=store-and-forward", "switch.vc_reuse=credits-back", "switch.input_speedup=2", "terminal.buffer_flits=64",
		"switch.vlarb_low=0:1", "switch.vlarb_high=0:1", "terminal.vlarb_low=0:1", "terminal.vlarb_high=0:1"} {
		key, value, _ := strings.Cut(set, "=")
		refused(set)(t, key+" = "+value, "multicast packets")
		o := enginetest.OutcomeOf(t, text, set, "messages.carrier=broadcast-binomial")
		messages, taken := enginetest.Single(t, o, "messages"), enginetest.Single(t, o, "deliveries")
		simtest.ErrorIf(t, messages != 2 || taken != 5*3, "%s by software: %v messages measured, %v packets taken", set, messages, taken)
	}
	refused("switch.vc_reuse=credits-back", "switch.input_speedup=2", "terminal.vlarb_low=0:1")(t, "switch.vc_reuse", "switch.input_speedup", "terminal.vlarb_low")
	for _, set := range []string{"fabric.clock=2ms", "messages.think=2s", "messages.spread=2s", "host.send_overhead=2s", "host.receive_overhead=2s"} {
		refused(set)(t, strings.Replace(set, "=", ` = "`, 1)+`"`, " to 1")
	}
	refused("host.dma_rate=1kb/s")(t, "at least 1Mb/s")
}

// TestUnicastFills: a terminal's channel that takes two cycles for a flit is full at half a flit a cycle. The cable up from
// three terminals of nine carries 3*6/8 of what one sends: it is full at 4/9.
func TestUnicastFills(t *testing.T) {
	for i, network := range []string{"{ type = \"single-switch\", terminals = 8 }\nchannel = { terminal = { cycles_per_flit = 2 } }\n", "{ type = \"xgft\", m = [3, 3], w = [1, 1] }\nrouting = { type = \"nca\" }\n"} {
		bound := []float64{0.5, 4.0 / 9}[i]
		for j, load := range []float64{bound - 0.01, bound + 0.01} {
			f := enginetest.Load(t, "kind = \"multicast-latency\"\ntopology = "+network, "messages.carrier="+[]string{"multicast", "broadcast-binomial"}[i], fmt.Sprintf("messages.unicast_load=%v", load))
			warned := strings.Contains(fmt.Sprint(simtest.Must(f.Preflight(false))(t).Warnings), fmt.Sprintf("fill the first channel at %.4g:", bound))
			simtest.Equal(t, warned, j == 1, "%s at %v is warned of:", network, load)
		}
	}
}
