package core

import (
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// DivideAlways lets networks of any size be divided among threads while a test
// runs.
func DivideAlways(cleanup func(func())) {
	before := worthThreads
	worthThreads = 0
	cleanup(func() { worthThreads = before })
}

// PrefetchAlways lets networks of any size ask for memory ahead while a test
// runs.
func PrefetchAlways(cleanup func(func())) {
	before := largeState
	largeState = 0
	cleanup(func() { largeState = before })
}

// PlainNever lets no network use the loops for the usual case while a test runs.
func PlainNever(cleanup func(func())) {
	neverPlain = true
	cleanup(func() { neverPlain = false })
}

// TunedNever lets registered allocators match in place of the loops for iSLIP and
// input-first while a test runs.
func TunedNever(cleanup func(func())) {
	neverTuned = true
	cleanup(func() { neverTuned = false })
}

// Divide divides f among threads, and AttachMeter is Attach with a meter that gets a part
// for each domain.
func (f *Fabric) Divide(threads int) { f.split(threads, fabric.Never, worthThreads, nil) }

func (f *Fabric) AttachMeter(source fabric.Source, m *Meter) error {
	if err := f.ready(source); err != nil {
		return err
	}
	f.start(source, func(*domain) fabric.Sink { return m.part() })
	return nil
}

// Partition is partition by the latencies of f's channels.
func (f *Fabric) Partition(n int, weights []int32) []int {
	return partition(f.graph, func(p topology.PortID) int32 { return int32(f.latency(&f.out[p])) }, n, weights)
}

// Granted has f's credit sensing note a flit, and CreditBack a credit, as a
// switch does.
func (f *Fabric) Granted(in topology.PortID, ov, outstanding int32, cycle int64) (late int64) {
	port0 := f.switches[f.graph.PortSwitch[in]].port0
	p := &f.sensing.probes[ov]
	p.time(outstanding, cycle)
	if late = f.sensing.late(p, int32(in)); f.sensing.allCongested(port0) {
		late = max(0, late-f.sensing.findLeast(&f.network, port0))
	}
	return late
}

func (f *Fabric) CreditBack(ov int32, cycle int64) {
	f.sensing.returned(&f.network, []int32{ov}, cycle)
}

// EmptyEvery lets accounts be emptied after so many cycles, and then again.
func (b *Blame) EmptyEvery(cycles int64) { b.emptyIn, b.emptyAt = cycles, cycles }

// FoldEvery lets the sums of channels be added after so many cycles, and then
// again.
func (b *Blame) FoldEvery(cycles int64) { b.foldIn, b.foldAt = cycles, cycles }

// TaskOrders are the domains out of 8 that the first of two threads simulates if the
// second does not come, and what is left for the second then.
func TaskOrders() (first, second []int) {
	c := &workers{threads: 2, tasks: make([]task, 8)}
	c.each(0, 0, func(domain int) { first = append(first, domain) })
	c.each(1, 0, func(domain int) { second = append(second, domain) })
	return first, second
}

// MatchPair draws the state of the round robins of switch 0 and two requests there
// that share their output, their input or both, and returns what matchPair and match
// choose, as queue, input and output.
func (f *Fabric) MatchPair(draw func(n int) int) (pair, plain [3]uint32) {
	sw := &f.switches[0]
	ports, vcs := int(sw.ports), f.vcs
	for p := range uint32(ports) {
		sw.outPort(p).grant = uint16(draw(ports + 1))
		sw.inPort(p).accept, sw.inPort(p).vc = uint16(draw(ports+1)), uint16(draw(vcs+1))
	}
	ask := func(port, vc, output int) request {
		return newRequest(uint32(port*vcs+vc), uint32(port<<16|output))
	}
	port, vc, output := draw(ports), draw(vcs), draw(ports)
	a, b := ask(port, vc, output), ask(draw(ports), draw(vcs), output)
	if draw(2) == 0 {
		b = ask(port, draw(vcs), draw(ports))
	}
	if a.local() == b.local() {
		b = ask((port+1)%ports, vc, output)
	}
	unpack := func(r request) [3]uint32 { return [3]uint32{r.local(), r.port(), r.output()} }
	d := f.domains[0]
	return unpack(d.matcher.matchPair(sw, a, b)), unpack(d.matcher.match(sw, []request{a, b}, nil)[0])
}

// CreditsBack are the credits that have come back to virtual channel vc of the end
// of a channel that feeds an input, plus a constant.
func (f *Fabric) CreditsBack(in topology.PortID, vc int) int64 {
	o := &f.outVC[f.in[in].upstream+int32(vc)]
	return int64(o.credits) + int64(o.flits)
}

// SendCredit and HoldCredit have an input return a credit, of a slot that was taken, as
// the crossbar does that may leave in a cycle or, held back, so many cycles later.
func (f *Fabric) SendCredit(in topology.PortID, vc int, cycle int64) {
	p := &f.in[in]
	f.outVC[p.upstream+int32(vc)].credits--
	f.domains[0].sendCredit(p, p.upstream+int32(vc), cycle<<intervalShift)
}

func (f *Fabric) HoldCredit(in topology.PortID, vc int, cycle, late int64) {
	f.outVC[f.in[in].upstream+int32(vc)].credits--
	f.domains[0].holdCredit(int32(in), f.in[in].upstream+int32(vc), cycle<<intervalShift, late)
}

// Moments counts what observers are told of.
type Moments struct {
	unobserved
	Injects, Injected, Arrived, GrantedVC, GrantedSwitch, Delivered, Cycles int64
}

// Count makes f count.
func (f *Fabric) Count() *Moments {
	m := &Moments{}
	f.observe(m)
	return m
}

func (m *Moments) part(*domain) observer                      { return m }
func (m *Moments) archive(*archiver)                          {}
func (m *Moments) injects(*domain, int32)                     { m.Injects++ }
func (m *Moments) injected(*domain, int32)                    { m.Injected++ }
func (m *Moments) arrived(_ *domain, flits []flit)            { m.Arrived += int64(len(flits)) }
func (m *Moments) endCycle(*domain)                           { m.Cycles++ }
func (m *Moments) delivered(*domain, int32, *fabric.Delivery) { m.Delivered++ }
func (m *Moments) grantedVC(_ *domain, _ *switchState, matches []request, _ uint32) {
	m.GrantedVC += int64(len(matches))
}
func (m *Moments) grantedSwitch(_ *domain, _ *switchState, matches []request, _ *stepTime) {
	m.GrantedSwitch += int64(len(matches))
}

// CheckAll checks everything that the checked build does between cycles.
func (f *Fabric) CheckAll() {
	f.checkAt = 0
	f.checkAll()
	for s := range f.switches {
		f.domains[0].checkSwitch(&f.switches[s])
	}
}

// Damages breaks an invariant each, in a network of one domain with traffic.
var Damages = map[string]func(f *Fabric){
	"a credit is lost":            func(f *Fabric) { f.outVC[f.boundedOV()].credits-- },
	"a credit comes twice":        func(f *Fabric) { f.outVC[f.boundedOV()].credits++ },
	"credits below none":          func(f *Fabric) { f.outVC[f.boundedOV()].credits = -1 },
	"credits of a terminal":       func(f *Fabric) { f.outVC[f.terminalOV0].credits++ },
	"a flit is gone":              func(f *Fabric) { f.InjectedFlits++ },
	"a flit of the pool is lost":  func(f *Fabric) { f.domains[0].pool = append(f.domains[0].pool, buffered{}) },
	"an empty queue wants":        func(f *Fabric) { f.masks[f.emptyQueue()>>6].sa |= 1 << (f.emptyQueue() & 63) },
	"a packet is not routed":      func(f *Fabric) { f.masks[0].route = 1 },
	"a switch with work is idle":  func(f *Fabric) { f.masks[f.busyQueue()>>6].va |= 1 << (f.busyQueue() & 63); clear(f.domains[0].active) },
	"a free channel has an owner": func(f *Fabric) { f.outVC[f.freeOV()].owner = 0 },
	"a count of waiting flits":    func(f *Fabric) { f.outVC[f.boundedOV()].waiting = -1 },
}

// boundedOV is an output virtual channel of the first switch that leads to another.
func (f *Fabric) boundedOV() int32 {
	for p := range f.graph.NumPorts() {
		if f.graph.Peer[p] >= 0 {
			return f.ov(topology.PortID(p), 0)
		}
	}
	return -1
}

// freeOV is an output virtual channel of a switch that no packet holds.
func (f *Fabric) freeOV() int {
	return slices.IndexFunc(f.outVC[:f.terminalOV0], func(o outVC) bool { return o.owner < 0 })
}

func (f *Fabric) emptyQueue() int {
	return slices.IndexFunc(f.queues, func(v inVC) bool { return v.count == 0 })
}

func (f *Fabric) busyQueue() int {
	return slices.IndexFunc(f.queues, func(v inVC) bool { return v.count > 0 })
}

// MostWaiting bounds the packets that a terminal looks ahead, for a test.
func MostWaiting(cleanup func(func()), packets int) {
	before := mostWaiting
	mostWaiting = packets
	cleanup(func() { mostWaiting = before })
}

// Split divides a network that has not been attached among threads.
func (f *Fabric) Split(threads int) { f.split(threads, fabric.Never, worthThreads, nil) }

// WithoutFlitRuns attaches a fabric that has no runs of flits.
func (f *Fabric) WithoutFlitRuns(source fabric.Source, sink fabric.Sink) error {
	neverFlitRuns = true
	defer func() { neverFlitRuns = false }()
	return f.Attach(source, sink)
}

// Passing is the number of runs of flits that pass a switch now, and of those that reach a
// terminal.
func (f *Fabric) Passing() (passing, reaching int64) {
	for _, d := range f.domains {
		if d.flitRuns != nil {
			passing += d.flitRuns.passing
			reaching += d.flitRuns.reaching
		}
	}
	return passing, reaching
}

// Learned tells whether a warm-up of switches that learn is over, from the mean latency and
// hops in its slices.
func Learned(latency, hops []float64) bool {
	r := &runner{course: course{slices: latency, hops: hops}}
	return r.hasSettled(true)
}
