package core

import (
	"errors"
	"math/bits"
	"slices"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/snapshot"
	"github.com/weft-sim/weft/sim/snapshot/snapshottest"
)

// AppendState appends the state of a network, and RestoreState reads it into one that has not run.
func (f *Fabric) AppendState(b []byte) ([]byte, error) {
	a := snapshot.Writer()
	f.archive(a, nil)
	return append(b, a.Bytes()...), a.Err()
}

func (f *Fabric) RestoreState(b []byte) error {
	if !f.attached || f.cycle >= 0 {
		return errors.New("a state is restored into a fabric that is attached and has not run")
	}
	a := snapshot.Reader(b)
	f.archive(a, nil)
	return a.End()
}

// let gives a variable a value while a test runs.
func let[T any](cleanup func(func()), variable *T, value T) {
	before := *variable
	*variable = value
	cleanup(func() { *variable = before })
}

// DivideAlways lets networks of any size be divided among threads while a test runs.
func DivideAlways(cleanup func(func())) { let(cleanup, &worthThreads, 0) }

// PrefetchAlways lets networks of any size ask for memory ahead while a test runs.
func PrefetchAlways(cleanup func(func())) {
	let(cleanup, &largeState, 0)
	let(cleanup, &deepPool, 0)
	let(cleanup, &manyPackets, 0)
}

// TileFrom lets one thread simulate networks in tiles of so many bytes of state, where
// windows have so many cycles, while a test runs.
func TileFrom(cleanup func(func()), state int, window int64) {
	let(cleanup, &tileState, state)
	let(cleanup, &tileWindow, window)
}

// Tile divides f into tiles as [Fabric.Divide] does.
func (f *Fabric) Tile() { f.tile() }

// PlainNever lets no network use the loops for the usual case while a test runs.
func PlainNever(cleanup func(func())) { let(cleanup, &neverPlain, true) }

// TunedNever lets registered allocators match in place of the loops for iSLIP and input-first while a test runs.
func TunedNever(cleanup func(func())) { let(cleanup, &neverTuned, true) }

// Partition is partition by the latencies of f's channels.
func (f *Fabric) Partition(n int, weights []int32) []int {
	return partition(f.graph, func(p topology.PortID) int32 { return int32(f.Latency(&f.Out[p])) }, n, weights)
}

// Granted has f's credit sensing note a flit, and CreditBack a credit, as a switch does.
func (f *Fabric) Granted(in topology.PortID, ov, outstanding int32, cycle int64) (late int64) {
	port0 := f.Switches[f.graph.PortSwitch[in]].Port0
	return f.sensing.granted(&f.network, port0, int32(in), ov, outstanding, cycle)
}

func (f *Fabric) CreditBack(ov int32, cycle int64) {
	f.sensing.returned(&f.network, []int32{ov}, cycle)
}

// TaskOrders are the domains out of 8 that the first of two threads simulates if the
// second does not come, and what is left for the second then.
func TaskOrders() (first, second []int) {
	c := &workers{threads: 2, tasks: make([]task, 8)}
	c.each(0, 0, func(domain int) { first = append(first, domain) })
	c.each(1, 0, func(domain int) { second = append(second, domain) })
	return first, second
}

// MatchPair draws the state of the round robins of switch 0 and two requests there that share their output, their input
// or both, and returns what matchPair and match choose, as queue, input and output.
func (f *Fabric) MatchPair(draw func(n int) int) (pair, plain [3]uint32) {
	sw := &f.Switches[0]
	ports, vcs := int(sw.Ports), f.vcs
	for p := range uint32(ports) {
		sw.OutPort(p).grant = uint16(draw(ports + 1))
		sw.inPort(p).accept, sw.inPort(p).vc = uint16(draw(ports+1)), uint16(draw(vcs+1))
	}
	ask := func(port, vc, output int) Request {
		return newRequest(uint32(port*vcs+vc), uint32(port<<16|output))
	}
	port, vc, output := draw(ports), draw(vcs), draw(ports)
	a, b := ask(port, vc, output), ask(draw(ports), draw(vcs), output)
	if draw(2) == 0 {
		b = ask(port, draw(vcs), draw(ports))
	}
	if a.Local() == b.Local() {
		b = ask((port+1)%ports, vc, output)
	}
	unpack := func(r Request) [3]uint32 { return [3]uint32{r.Local(), r.Port(), r.Output()} }
	d := f.domains[0]
	return unpack(d.Matcher.matchPair(sw, a, b)), unpack(d.Matcher.match(sw, []Request{a, b}, nil)[0])
}

// VCAllocation is a step of virtual-channel allocation at switch 0: by queue what its packet asks for and which output
// virtual channel it has its round-robin pointer at, by output virtual channel which queue, and what is matched.
type VCAllocation struct {
	Asks     map[uint32]VCRequest
	AcceptOV map[uint32]uint32
	OwnerOV  map[uint32]uint32
	Matched  map[uint32]uint32
}

// VCRequest is the output and the set of its virtual channels that a packet asks for.
type VCRequest struct{ Output, Set uint32 }

// PutVCsForward draws such a step, for allocation with packets first.
func (f *Fabric) PutVCsForward(draw func(n int) int) *VCAllocation {
	d, sw := f.domains[0], &f.Switches[0]
	ports, vcs := int(sw.Ports), f.vcs
	a := &VCAllocation{map[uint32]VCRequest{}, map[uint32]uint32{}, map[uint32]uint32{}, map[uint32]uint32{}}
	var requests []Request
	for i := range uint32(ports * vcs) {
		last := draw(ports * vcs)
		sw.outVC(i).owner = ^(sw.Queue0 + int32(last))
		a.OwnerOV[i] = uint32((last + 1) % (ports * vcs))
		accept := uint32(draw(ports * vcs))
		d.acceptOV[uint32(sw.Queue0)+i], a.AcceptOV[i] = int32(accept), accept
		if draw(3) > 0 {
			r := VCRequest{uint32(draw(ports)), uint32(1 + draw(1<<vcs-1))}
			a.Asks[i] = r
			requests = append(requests, newRequest(i, r.Output<<16|r.Set))
		}
	}
	for _, r := range d.putVCsForward(sw, requests) {
		a.Matched[r.Local()] = r.Port()*uint32(vcs) + uint32(bits.TrailingZeros32(r.free()))
	}
	return a
}

// nothing is a source of no packets.
type nothing struct{}

func (nothing) Next(_ topology.TerminalID, _ int64, spec *fabric.PacketSpec) bool {
	spec.Birth = fabric.Never
	return false
}

// OpenIdle attaches f to a source of no packets.
func (f *Fabric) OpenIdle() {
	f.open(slices.Repeat([]fabric.Ends{{Source: nothing{}}}, len(f.domains)))
}

// CreditsBack are the credits that have come back to virtual channel vc of the end
// of a channel that feeds an input, plus a constant.
func (f *Fabric) CreditsBack(in topology.PortID, vc int) int64 {
	o := &f.OutVC[f.in[in].upstream+int32(vc)]
	return int64(o.credits) + int64(o.Flits)
}

// SendCredit and HoldCredit have an input return a credit, of a slot that was taken, as
// the crossbar does that may leave in a cycle or, held back, so many cycles later.
func (f *Fabric) SendCredit(in topology.PortID, vc int, cycle int64) {
	p := &f.in[in]
	f.OutVC[p.upstream+int32(vc)].credits--
	f.domains[0].sendCredit(p, p.upstream+int32(vc), cycle<<IntervalShift)
}

func (f *Fabric) HoldCredit(in topology.PortID, vc int, cycle, late int64) {
	f.OutVC[f.in[in].upstream+int32(vc)].credits--
	f.domains[0].holdCredit(int32(in), f.in[in].upstream+int32(vc), cycle<<IntervalShift, late)
}

// Moments counts what observers are told of.
type Moments struct {
	Unobserved
	Heads, Tails, Flits, VCs, Crossings, Packets, Cycles int64
}

// Count makes f count.
func (f *Fabric) Count() *Moments {
	m := &Moments{}
	f.Observe(m)
	return m
}

func (m *Moments) Part(*Domain) Observer                      { return m }
func (m *Moments) Archive(*Archiver)                          {}
func (m *Moments) Injects(*Domain, int32)                     { m.Heads++ }
func (m *Moments) Injected(*Domain, int32)                    { m.Tails++ }
func (m *Moments) Arrived(_ *Domain, flits []Flit)            { m.Flits += int64(len(flits)) }
func (m *Moments) EndCycle(*Domain)                           { m.Cycles++ }
func (m *Moments) Delivered(*Domain, int32, *fabric.Delivery) { m.Packets++ }
func (m *Moments) GrantedVC(_ *Domain, _ *SwitchState, matches []Request, _ uint32) {
	m.VCs += int64(len(matches))
}
func (m *Moments) GrantedSwitch(_ *Domain, _ *SwitchState, matches []Request, _ *StepTime) {
	m.Crossings += int64(len(matches))
}

// CheckAll checks everything that the checked build does between cycles.
func (f *Fabric) CheckAll() {
	f.checkAt = 0
	f.checkAll()
	for s := range f.Switches {
		f.domains[0].checkSwitch(&f.Switches[s])
	}
}

// Damages breaks an invariant each, in a network of one domain with traffic.
var Damages = map[string]func(f *Fabric){
	"a credit is lost":            func(f *Fabric) { f.OutVC[f.boundedOV()].credits-- },
	"a credit comes twice":        func(f *Fabric) { f.OutVC[f.boundedOV()].credits++ },
	"credits below none":          func(f *Fabric) { f.OutVC[f.boundedOV()].credits = -1 },
	"credits of a terminal":       func(f *Fabric) { f.OutVC[f.terminalOV0].credits++ },
	"a flit is gone":              func(f *Fabric) { f.InjectedFlits++ },
	"a flit of the pool is lost":  func(f *Fabric) { f.domains[0].Pool.free = 0 },
	"an empty queue wants":        func(f *Fabric) { f.Masks[f.emptyQueue()>>6].sa |= 1 << (f.emptyQueue() & 63) },
	"a packet is not routed":      func(f *Fabric) { f.Masks[0].route = 1 },
	"a switch with work is idle":  func(f *Fabric) { f.Masks[f.busyQueue()>>6].va |= 1 << (f.busyQueue() & 63); clear(f.domains[0].active) },
	"a free channel has an owner": func(f *Fabric) { f.OutVC[f.freeOV()].owner = 0 },
	"a count of waiting flits":    func(f *Fabric) { f.OutVC[f.boundedOV()].waiting = -1 },
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
	return slices.IndexFunc(f.OutVC[:f.terminalOV0], func(o outVC) bool { return o.owner < 0 })
}

func (f *Fabric) emptyQueue() int {
	return slices.IndexFunc(f.Queues, func(v InVC) bool { return v.Count == 0 })
}

func (f *Fabric) busyQueue() int {
	return slices.IndexFunc(f.Queues, func(v InVC) bool { return v.Count > 0 })
}

// MostWaiting bounds the packets that a terminal looks ahead, for a test.
func MostWaiting(cleanup func(func()), packets int) { let(cleanup, &mostWaiting, packets) }

// Split divides a network that has not been attached among threads.
func (f *Fabric) Split(threads int) { f.split(threads, fabric.Never, worthThreads, nil) }

// Bound is by how much threads could at best simulate so many windows faster than one: all flit-hops over those of
// the thread with the most in each window, where threads take over what others have not begun. perWindow are the
// hops of a window.
func (f *Fabric) Bound(windows int) (bound, perWindow float64) {
	all, longest, before := int64(0), int64(0), make([]int64, len(f.domains))
	for i, d := range f.domains {
		before[i] = d.FlitHops
	}
	for range windows {
		f.Advance(f.lookahead)
		sum, most := int64(0), int64(0)
		for i, d := range f.domains {
			hops := d.FlitHops - before[i]
			before[i] += hops
			sum, most = sum+hops, max(most, hops)
		}
		all, longest = all+sum, longest+max(most, (sum-1)/int64(f.threads)+1)
	}
	return float64(all) / float64(longest), float64(all) / float64(windows)
}

// Lookahead is the number of cycles of a window.
func (f *Fabric) Lookahead() int64 { return f.lookahead }

// TestStatesAreWhole: no field is forgotten in snapshots, of types whose state is more than their fields. What is named here is
// no part of the state, for the reason given.
func TestStatesAreWhole(t *testing.T) {
	snapshottest.Names[multicast](t, "under", "work", "turn", "grant", "prefer", "asleep", "tables", "idle", // the last follows from the rest
		"mine", "served", "bids", "wanted", "usedInputs", "usedOutputs", "usedList") // count within a step
	snapshottest.Names[followed](t, "passing", "tails", "seen", "polls")                                                               // the last but one counts within a cycle, the last follows from the settings
	snapshottest.Names[faults](t, "origin", "now", "known", "senders", "doomed", "Routing", "down", "part", "fabric", "plan", "whole") // what follows senders is found again, or made before
	snapshottest.Names[retry](t, "unused", "pending", "tally", "heard", "domain", "x", "source", "sink", "discarding", "lost")         // heard has been taken between cycles
	snapshottest.Names[sender](t, "timers", "first")
	snapshottest.Names[timer](t, "end", "sourcePacket")
	snapshottest.Names[InVC](t, "Queued", "Last", "Count", "Out", "Ready")
	snapshottest.Names[lanePort](t, "arbiter", "holder", "arbitrated", "open", "ok", "choice", "ready") // the last count within a step
	snapshottest.Names[laneQueues](t, "arbiter", "queues", "waiting", "arbitrated")                     // the last follows from the settings
	snapshottest.Names[laneQueue](t, "lanes", "packets", "first")                                       // first: those that have left are left out
	snapshottest.Names[sensing](t, "probes", "witness", "delayed")
	snapshottest.Names[holds](t, "ports", "bodies")
	snapshottest.Names[behind](t, "soon", "until", "slots")
	snapshottest.Names[packetTable](t, "records", "inflows", "recordIDs")
	snapshottest.Names[label](t, "level", "marked", "entropy")
	snapshottest.Names[marker](t, "policies", "leaving", "Unobserved")                          // the last two count within a step
	snapshottest.Names[sampler](t, "rows", "Unobserved", "parts", "f", "plan", "window", "own") // those after rows are made before
	snapshottest.Names[registered](t, "reads", "requests", "matches", "chosen")
	snapshottest.Names[packetUnit](t, "credits", "streams", "flows", "schedules", "events",
		"slopes", "creditRate", "stepRate", "timed", // the last four follow from the settings
		"quiet", // found again
		"swept", // none before the first cycle after
		"Followed",
		"step", "tails") // count within a cycle
	snapshottest.Names[state](t, "Queues", "OutVC", "Out", "in", "Masks", "seconds", "came", "waitNext", "acceptOV", "Upcoming", "Terminals", "packets",
		"labels", "SourcePackets", "streams", "departures", "sensing", "crossed", "marked", "lanes", "laneQueues", "allocators")
	snapshottest.Names[Domain](t, "hardware", "clock", "links", "switches", "terminals", "packetPool", "Counters", "multicast", "hold", "Unit", "retry",
		"sight", "forms", "alone", "observer") // made before
	snapshottest.Names[hardware](t, "network", "state")
	snapshottest.Names[clock](t, "Cycle", "Steps", "worked", "purged") // the last counts at the beginning of a window
	snapshottest.Names[links](t, "Flits", "credits", "held",
		"late", "unfiled", // count within a step
		"handed", "heard", "turn", "sent") // handed over when cycles have been simulated
	snapshottest.Names[switches](t, "behind", "doomed",
		"Mine", "active", "Pool", // follow from the rest
		"Matcher", "registered", "decided", "leaving") // count within a cycle
	snapshottest.Names[terminals](t, "wakes",
		"Ends", "source", "prefetcher", "listens", "sink", "listener", // made before
		"woken", "departing", "spec", "delivery") // count within a cycle
	snapshottest.Names[packetPool](t, "packetFree", "touched") // follow from the rest
	snapshottest.Names[Fabric](t, "cycle", "hardware", "Counters", "Faults", "observer", "multicast", "hold", "unit", "domains", "workers", "attached", "checkAt",
		"hostModel", "probes") // made before
}
