package transport

import (
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/shared"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

type run struct {
	*System
	net    *shared.Network
	kernel *sim.Kernel
}

// pods is the three-level tree of switches with k ports.
func pods(t *testing.T, k int) topology.Topology {
	return simtest.Must(topology.Registry.New("xgft", struct{}{}, param.Set("m", []int{k / 2, k / 2, k}), param.Set("w", []int{1, k / 2, k / 2})))(t)
}

// star is a switch with so many terminals.
func star(t *testing.T, terminals int) topology.Topology {
	return simtest.Must(topology.Registry.New("single-switch", struct{}{}, param.Set("terminals", terminals)))(t)
}

// controlled are end points as by default under a control.
func controlled(control string) Config {
	config := DefaultConfig()
	config.Control = control
	return config
}

// queued are switches as by default with queues of so many bytes.
func queued(bytes sim.Bytes) shared.Config {
	of := shared.DefaultConfig()
	of.Queue = bytes
	return of
}

// prepare makes a network of 100 Gb/s, before anything has happened.
func prepare(t *testing.T, topo topology.Topology, config Config, of shared.Config, latency sim.Time, flows []Flow, triggers ...Trigger) *run {
	t.Helper()
	g, kernel := topo.Graph(), sim.NewKernel()
	tree, _ := topo.(topology.Tree)
	s := simtest.Must(New(kernel, g, config, flows, triggers))(t)
	timing := shared.NewTiming(g, tree, nil, &of, nil, shared.Channel{Rate: 100e9, Latency: latency}, config.Packet, config.Header)
	timing.HostsUnmarked = config.hasCredit()
	net := simtest.Must(shared.New(kernel, g, of, timing, s, 1))(t)
	s.Over(net, &timing, of.Full == "trim", 1)
	return &run{s, net, kernel}
}

// finish has all flows end.
func (r *run) finish(t *testing.T) {
	t.Helper()
	r.kernel.Run(sim.MaxTime - 1)
	simtest.FatalIf(t, r.Left() > 0, "%d flows have not ended at %v; %+v", r.Left(), r.kernel.Now(), r.Counts)
}

func simulate(t *testing.T, topo topology.Topology, config Config, of shared.Config, flows []Flow, triggers ...Trigger) *run {
	t.Helper()
	r := prepare(t, topo, config, of, sim.Microsecond, flows, triggers...)
	r.finish(t)
	return r
}

func (r *run) tail() float64 {
	_, ends := r.Ends()
	last := 0.0
	for _, e := range ends {
		last = max(last, e.Microseconds())
	}
	return last
}

// TestOneFlow: 490 packets through five switches: 489 full ones leave in 0.332 us each, the last full one is stored five times more, the short one
// (64 + 2,000,000 - 489*4086 = 2,010 B) follows it; six flights there and back, and six times 64 B: 176.20 us.
func TestOneFlow(t *testing.T) {
	r := simulate(t, pods(t, 4), DefaultConfig(), shared.DefaultConfig(), []Flow{{ID: 1, Src: 0, Dst: 13, Bytes: 2_000_000}})
	want := 489*0.332 + 5*0.332 + 2010*80e-6 + 12 + 6*0.00512
	simtest.ErrorIf(t, math.Abs(r.tail()-want) > 0.001 || r.Counts.Acknowledged != 124, "%v us, want %v; %+v", r.tail(), want, r.Counts)
}

// TestFlowBytes: 65,280 flows that wait for each other take what FlowBytes says at least, and less than half more.
func TestFlowBytes(t *testing.T) {
	var before, after runtime.MemStats
	topo, config := star(t, 256), DefaultConfig()
	config.Control = "both"
	runtime.GC()
	runtime.ReadMemStats(&before)
	flows, triggers := AllToAll(256, 1000)
	r := prepare(t, topo, config, shared.DefaultConfig(), sim.Microsecond, flows, triggers...)
	runtime.GC()
	runtime.ReadMemStats(&after)
	taken, said := float64(after.HeapAlloc)-float64(before.HeapAlloc), config.FlowBytes(float64(len(flows)))
	simtest.ErrorIf(t, taken < said || taken > 1.5*said, "%.0f bytes taken, %.0f said", taken, said)
	runtime.KeepAlive(r)
	runtime.KeepAlive(flows)
}

// TestIncast: 15 flows of 489 full packets and one of 2,010 B into one link take 2,437.632 us of it; what each is short of, at most 1.5 %, is the
// first way, headers of trimmed packets and the 1 % that receivers leave free. What was trimmed was refused and sent again, and nothing else.
func TestIncast(t *testing.T) {
	for _, control := range []string{"nscc", "rccc", "both"} {
		flows := simtest.Must(Incast(16, 15, 0, 2_000_000))(t)
		r := simulate(t, pods(t, 4), controlled(control), shared.DefaultConfig(), flows)
		n, ideal := r.Counts, 15*(489*4150+2010)*80e-6
		simtest.ErrorIf(t, r.tail() < ideal || r.tail() > 1.015*ideal, "%s: %v us, want %v", control, r.tail(), ideal)
		simtest.ErrorIf(t, n.Trimmed == 0 || n.Refused != n.Trimmed || n.Again != n.Trimmed || n.Sent != 15*490+n.Again || n.Timeouts != 0 || n.Duplicates != 0, "%s: %+v", control, n)
	}
}

const oneMatrix = `Nodes 16
Connections 3
Triggers 2
2->11 id 1 start 7 size 2000000 send_done_trigger 1
2->4 id 2 trigger 1 size 100 send_done_trigger 2
2->8 id 3 trigger 2 size 4086
trigger id 1 oneshot
trigger id 2 barrier 1
`

func TestMatrix(t *testing.T) {
	m := simtest.Must(ReadMatrix("x.cm", []byte(oneMatrix)))(t)
	simtest.Alike(t, "matrix", m.Nodes, 16, len(m.Flows), 3, m.Flows[0].Start, 7*sim.Microsecond, m.Flows[1].After, 1, m.Flows[1].Fires, 2, m.Triggers[1], Trigger{2, 1})
	for text, want := range map[string]int{"barrier count 3": 3, "count 3 barrier": 3, "barrier 3": 3, "barrier": 1} {
		m = simtest.Must(ReadMatrix("x.cm", []byte("Failures 0\nNodes 2\n0->1 msg 7 start 0 size 9 send_done_trigger 2\ntrigger id 2 "+text+"\n")))(t)
		simtest.Alike(t, text, m.Triggers[0], Trigger{2, want})
	}
	for _, c := range []struct{ old, new, want string }{
		{"oneshot", "oneshot count 2", "x.cm:7: want trigger id"},
		{"barrier 1", "multishot", `x.cm:8: "multishot": want trigger id`},
		{"Triggers 2", "Failures 1", `x.cm:3: "Failures": links that fail`},
		{"Nodes 16", "Nodes 8", "x.cm:4: leads from 2 to 11, and there are 8 nodes"},
		{"Connections 3", "Connections 4", "x.cm:9: Connections announces 4 flows, and 3 follow: is the file cut?"},
		{"2->8 id 3 trigger 2", "2->8 id 3 trigger 5", "x.cm:6: trigger 5 is not in the file"},
		{"start 7", "trigger 2", "never starts"},
		{"2->11", "2->2", "x.cm:4: leads from terminal 2 to itself"},
		{"start 7", "start 500000000", `x.cm:4: start "500000000": without a unit it is in us, and later than a second: write the unit, as 500000000ps`},
		{"start 7", "start -1", `x.cm:4: start "-1": want a time`},
		{"size 100", "size x", `x.cm:5: size "x"`},
		{"size 100", "bytes 100", `x.cm:5: "bytes"`},
		{"oneshot", "twice", `x.cm:7: "twice": want trigger id`},
		{"Triggers 2", "Trigers 2", `x.cm:3: "Trigers"`}, {"Triggers 2", "Nodes 16", "x.cm:3: Nodes stands twice"},
	} {
		simtest.Refuse(ReadMatrix("x.cm", []byte(strings.Replace(oneMatrix, c.old, c.new, 1))))(t, c.want)
	}
	simtest.Refuse(ReadMatrix("x.cm", []byte("Nodes 4\nConnections 0\n")))(t, "x.cm:3: has no flow")
}

// TestTriggers: on a star of 100 Gb/s cables of a microsecond, a packet takes 332 ns twice and two flights to be at the receiver, at 2,664 ns; its
// answer of 64 B twice 5.12 ns and two flights, so that the sender knows at 4,674.24 ns. What a trigger starts begins then.
func TestTriggers(t *testing.T) {
	for key, want := range map[string]float64{"recv_done_trigger": 2664, "send_done_trigger": 4674.24} {
		m := simtest.Must(ReadMatrix("x.cm", []byte("Nodes 4\n1->0 id 1 start 0 size 4086 prio 3 "+key+" 1\n0->2 id 2 trigger 1 size 4086\ntrigger id 1 oneshot\n")))(t)
		began, _ := simulate(t, star(t, 4), controlled("none"), queued(1<<20), m.Flows, m.Triggers...).Ends()
		simtest.Near(t, began[1].Nanoseconds(), want, 0.001, "%s: begins at ns", key)
		simtest.Refuse(ReadMatrix("x.cm", []byte("Nodes 4\n1->0 id 1 start 0 size 4086 "+key+" 2\n")))(t, "x.cm:2: "+key+" 2 is not in the file")
	}
}

// TestMatrixTimes: times have decimals, in us as older trees of htsim write them, or a unit.
func TestMatrixTimes(t *testing.T) {
	for text, want := range map[string]sim.Time{"0.000000": 0, "0.500000": 500 * sim.Nanosecond, "2e1": 20 * sim.Microsecond, "500000000ps": 500 * sim.Microsecond, "1.5ms": 1500 * sim.Microsecond} {
		m := simtest.Must(ReadMatrix("x.cm", []byte("Nodes 4\nConnections 1\n1->3 start "+text+" size 4096\n")))(t)
		simtest.Alike(t, "start "+text, m.Flows[0].Start, want, m.Flows[0].ID, 1)
	}
}

func FuzzMatrix(f *testing.F) {
	f.Add([]byte(oneMatrix))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = ReadMatrix("x", data) })
}
