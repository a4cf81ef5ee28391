// Package core simulates a network of input-queued virtual-channel switches
// flit by flit: buffers, virtual channels, credits, allocators, channels and
// terminals. docs/model.md has the timing diagram, [fabric.Config] the settings.
//
// [Fabric] is the handle. Behind it are the network, which does not change while it runs
// (network.go), the state of its hardware (hardware.go, records.go), and domains, each the part
// that a thread simulates at a time (domain.go). [Fabric.open] fills these in, and chooses the
// forms of their loops (open.go). A cycle of a domain, and in it of a switch, is in cycle.go, from
// top to bottom, a terminal's part of it in terminal.go. docs/architecture.md follows a flit
// through the files, docs/rooms.csv orders them. Package measure takes a network through the phases
// of a measured run.
//
// Observers ([Observer]) look on and change nothing; package observe has some that divide latencies
// and record packets. What they may read of a [Domain] is exported.
package core

import (
	"sync"
	"sync/atomic"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Fabric is a network in simulation. It advances cycle by cycle with
// [Fabric.Advance], or as a clocked component of a kernel. Memory grows with
// ports*vcs and with the flits in flight, not with the depth of buffers.
//
// It is made of a network, which does not change while it runs, the hardware's state, and domains,
// the parts that threads simulate: one, unless divided ([Fabric.Divide], [Fabric.DivideFor]).
type Fabric struct {
	hardware
	observer  Observer    // is told what happens; nil if nobody looks
	Faults    *faults     // says what fails; nil if nothing does
	multicast *multicast  // replicates packets; nil if there are no multicast packets
	hold      *holds      // has what the holds of domains share; nil if packets hold no ports
	unit      *packetUnit // likewise; nil if flits are simulated
	domains   []*Domain
	workers
	cycle     int64      // has been simulated by all domains; -1: none
	checkAt   int64      // is the cycle of the next check of all, in the checked build
	attached  bool       // is true if the network is, to a host
	hostModel HostModel  // is that host, if it is one
	probes    []*sampler // are among the observers, too
	Counters
}

// Routing is the network's routing.
func (f *Fabric) Routing() fabric.Routing { return f.routing }

// Seed is what its streams of random numbers are derived from.
func (f *Fabric) Seed() uint64 { return f.seed }

// Learns tells whether its switches do.
func (f *Fabric) Learns() bool { return f.memory != nil }

// Cycle is the number of cycles simulated so far.
func (f *Fabric) Cycle() int64 { return f.cycle + 1 }

// Clock is the length of a cycle.
func (f *Fabric) Clock() sim.Time { return f.Config.Fabric.Clock }

// InjectionCycles is the time from a packet's birth until it can enter the channel.
func (f *Fabric) InjectionCycles() int64 { return int64(f.Config.Terminal.InjectionCycles) }

// workers are the threads that simulate the domains of a network.
type workers struct {
	threads   int            // is how many there are
	others    sync.WaitGroup // waits for threads but the caller's; here so that Advance allocates nothing
	lookahead int64          // is the number of cycles of a window
	barrier   *sim.Barrier
	tasks     []task  // says, by domain, how far it has got
	window    int64   // is the number of the present window
	domainOf  []uint8 // is, by switch, its domain
	from      int64   // is the cycle behind which the present window begins
	until     int64   // is its last cycle
	end       int64   // is the last of the cycles to be simulated
	opened    bool    // is true if there is a window
	onOne     string  // is what [Fabric.OnOneThread] tells

	kernel  *sim.Kernel // is the only one of [Fabric.RunKernels]; nil if there are several, or none
	ticks   int64       // counts the ticks of kernel
	written bool        // is true if [Fabric.Archive] has been called in the present gap between windows
}

// task is how far a domain has got: the number of its next task, in a cache line of its own.
type task struct {
	next atomic.Int64
	_    [56]byte
}

// HostModel is a [fabric.Host] with a model of the terminals' owners that no thread shares: packets
// are born because others have arrived. It works between windows, while nothing is simulated.
type HostModel interface {
	fabric.Host
	// Window is the least number of cycles (at least 1) from a packet's arrival to the birth of
	// another because of it. [Fabric.DivideFor] may have divided the fabric for it.
	Window() int64
	// Before is called before the cycles from first up to end at most are simulated; the sinks know
	// all up to the cycle before. It has packets born ([Fabric.WakeAt]): all that are born in the
	// window of cycles that begins with first. It returns the first cycle, from first on, in which
	// it has something to do again if nothing arrives; [fabric.Never] if there is none.
	Before(first, end int64) int64
	// Over is called every so many cycles, the same for any number of threads, when all up to cycle
	// is simulated. The model does its work up to there, behind which its state may be written, and
	// tells whether nothing more is to come if nothing arrives.
	Over(cycle int64) bool
}

// Archiver writes or reads the state of a network.
type Archiver struct {
	*snapshot.Archive
	Fabric        *Fabric
	Packets       numbers  // those that there are
	sourcePackets numbers  // those that are in use
	sent          Packets  // nil: tags are archived as they are
	flits         []Queued // of a queue
}

// Packets is what a source knows of packets that it has handed over, if tags name its records.
type Packets interface {
	// ArchiveTag archives the tag of a packet, once for each.
	ArchiveTag(a *snapshot.Archive, tag *uint64)
}

// numbers gives records that a state names, as packets and source packets, numbers in the order in
// which they are named. Ids depend on the division among threads, numbers do not; in a state that
// was read, ids are the numbers.
type numbers struct {
	what   string
	number []int32 // by id, + 1; where a state is written
	ids    []int32 // by number; likewise
	Count  int
}

// domainAt is the domain that simulates a switch.
func (f *Fabric) domainAt(s int32) *Domain { return f.domains[f.domainOf[s]] }

// ofQueue is the domain that simulates the switch of a queue.
func (f *Fabric) ofQueue(queue int32) *Domain { return f.domainAt(f.WordSwitch[queue>>6]) }

// ofEnd is the domain that simulates the sending end of a channel, numbered as state.out.
func (f *Fabric) ofEnd(port int32) *Domain {
	if port >= f.TerminalOut0 {
		return f.owner(topology.TerminalID(port - f.TerminalOut0))
	}
	return f.domainAt(int32(f.graph.PortSwitch[port]))
}

// owner is the domain that simulates a terminal.
func (f *Fabric) owner(t topology.TerminalID) *Domain {
	return f.domains[f.domainOf[f.graph.TerminalSwitch(t)]]
}

// Domains is the number of parts that f is simulated in.
func (f *Fabric) Domains() int { return len(f.domains) }

// DomainOf is the domain of a terminal.
func (f *Fabric) DomainOf(t topology.TerminalID) int {
	return int(f.domainOf[f.graph.TerminalSwitch(t)])
}

// Threads is the number of threads that simulate f once it runs.
func (f *Fabric) Threads() int { return f.threads }

// OnOneThread is why one thread simulates f, once it runs; "" if more do.
func (f *Fabric) OnOneThread() string { return f.onOne }

// Present is the cycle in which terminal t is simulated.
func (f *Fabric) Present(t topology.TerminalID) int64 { return f.owner(t).Cycle }

// faults is the state of a network with faults. It stands in for the routing, to see where packets
// go. Domains share it; it changes, and discards, while they stand still.
type faults struct {
	fabric.Routing                   // that switches go by
	fabric         *Fabric           //
	plan           *fabric.FaultPlan //
	down           *topology.Down    // now
	whole          bool              // nothing was down at first
	origin         int64             // cycle that the periods count from; Never: it has not come
	now            int               // period
	known          int               // period that the routing goes by
	part           []int32           // components of known, by switch
	senders        []sender          // by terminal
	doomed         []int32           // packets to be discarded at the beginning of this cycle
}

// sampler observes the ports of a [fabric.Probe]; every domain samples its own, at the same cycles.
type sampler struct {
	Unobserved
	parts  []*sampler // of the domains, with the network's first; in that only
	f      *Fabric
	plan   *fabric.Probe
	window func() (from, to int64) // samples are taken in these cycles; nil: in none
	own    []topology.PortID       // the plan's ports that are the domain's
	rows   Rows                    // the samples: own for each quantity
}

// Rows are numbers that domains note at the same times, each of its own places.
type Rows struct {
	Places []int32    // of a row's numbers in the rows of all domains
	Before []uint32   // what has been counted until the last row
	All    [][]uint32 // the rows
}
