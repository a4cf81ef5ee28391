package hardware

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/mpi/systems"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// machine is a system under a library.
type machine struct {
	hca      hca.Config
	protocol mpi.Protocols
	memory   mpi.Memory
	work     mpi.LocalWork
	ways     systems.Ways
	perLeaf  int // nodes of a leaf switch; 0: not known
}

// newMachine is a preset under a library, with the sockets of a system's nodes and its leaf switches.
func newMachine(p *systems.Preset, library, transport string, s *system) (*machine, error) {
	values := p.With(systems.Library(library), transport)
	adapter := systems.Adapter(values)
	if adapter == "" {
		adapter = systems.QDR
	}
	config, err := hca.Registry.New(adapter, struct{}{})
	if err != nil {
		return nil, err
	}
	m := &machine{hca: config, protocol: mpi.DefaultProtocols, memory: mpi.DefaultMemory, work: mpi.DefaultLocalWork}
	m.work.CopyRate = mpi.CopyRates[adapter]
	set := systems.Machine{HCA: &m.hca, Protocol: &m.protocol, Memory: &m.memory, Workload: &m.work}
	set.Set(values, func(string) bool { return false })
	m.memory.Domains, m.ways, m.perLeaf = max(1, s.Sockets), set.System, s.PerLeaf
	return m, nil
}

// run runs a program of so many ranks on a node, far from node to node or not.
func (m *machine) run(s collectives.Schedule, place mpi.Placement, far bool) (*mpi.ScheduleRun, mpi.Result, error) {
	network, protocols := mpi.LogGP{Latency: m.ways.Near(), PerLeaf: m.perLeaf, Far: m.ways.Far(), HCA: m.hca}, m.protocol
	if far {
		network.Latency = m.ways.Far()
		protocols.Acknowledge += m.ways.Far() - m.ways.Near()
	}
	w := mpi.RunSchedule(s, m.work.Costs(), sim.Picosecond)
	r, err := mpi.Config{Placement: place, Protocols: protocols, Connections: mpi.DefaultConnections, Memory: m.memory, Adapter: m.hca, Transport: network.New, Seed: 1}.Run(w)
	return w, r, err
}

// perftest takes off what a message-passing library adds to verbs.
func (m *machine) perftest() *machine {
	verbs := *m
	verbs.work.CallTime = 0
	p := &verbs.protocol
	p.EagerCopies, p.EagerLimit, p.ZeroCopy = false, 1<<40, 0
	p.RecvOverhead = p.PollOverhead
	return &verbs
}

// mostTransfers bounds a call, or a window: of more messages, counted once more for every eight quanta of the
// adapter, which are as much work, a row is not judged. So it takes seconds.
const mostTransfers = 1e6

// bounded refuses what takes too long to simulate.
func bounded(transfers float64) error {
	if transfers > mostTransfers {
		return errNotSimulated(fmt.Sprintf("some %.2g messages a call, or parts of long ones, are too many to simulate here", transfers))
	}
	return nil
}

// parts is how often a message of so many bytes counts.
func (m *machine) parts(bytes int64) float64 { return 1 + float64(bytes)/8/float64(m.hca.Quantum) }

// window is that of the OSU tests of bandwidth and rate, in messages.
const window = 64

// errNotSimulated says why a row cannot be judged.
type errNotSimulated string

func (e errNotSimulated) Error() string { return string(e) }

// measure is what the simulator has for a row.
func (m *machine) measure(b *benchmark) (float64, error) {
	switch b.test {
	case pingPong:
		if err := bounded(m.parts(b.bytes)); err != nil {
			return 0, err
		}
		return m.pingPong(b)
	case bandwidth, messageRate, bothWays:
		if err := bounded(m.parts(b.bytes) * window * float64(b.ranks/2)); err != nil {
			return 0, err
		}
		return m.stream(b)
	}
	return m.collective(b)
}

// pingPong is the one-way time in us, by the mean of all round trips but the first.
func (m *machine) pingPong(b *benchmark) (float64, error) {
	program, err := param.Make(skeletons.Registry, "ping-pong", skeletons.Env{Ranks: 2}, func(c *skeletons.Micro) { c.Bytes, c.Iterations = sim.Bytes(b.bytes), 4 })
	if err != nil {
		return 0, err
	}
	per := 1
	if b.nodes == 1 {
		per = 2
	}
	w, _, err := m.run(program.(collectives.Schedule), mpi.Placement{Type: mpi.Block, PerNode: per}, b.far)
	if err != nil {
		return 0, err
	}
	ends := w.PhaseEnds()
	return float64(ends[3]-ends[0]) / 3 / 2 * 1e-6, nil
}

// stream is MB/s or messages a second of windows of messages, from the nodes' first half to the other.
func (m *machine) stream(b *benchmark) (float64, error) {
	pairs := b.ranks / 2
	var s collectives.Schedule
	if b.test == bothWays {
		s = mpi.Iterate(twoWindows(b.ranks, b.bytes), 4)
	} else {
		program, err := param.Make(skeletons.Registry, "osu-bandwidth", skeletons.Env{Ranks: b.ranks}, func(c *skeletons.Micro) {
			c.Bytes, c.Iterations, c.Window = sim.Bytes(b.bytes), 4, window
		})
		if err != nil {
			return 0, err
		}
		s = program.(collectives.Schedule)
	}
	w, _, err := m.run(s, mpi.Placement{Type: mpi.Block, PerNode: max(1, b.ranks/b.nodes)}, b.far)
	if err != nil {
		return 0, err
	}
	ends := w.PhaseEnds()
	rate := float64(window*pairs) / (float64(ends[3]-ends[0]) / 3 * 1e-12)
	switch b.test {
	case messageRate:
		return rate, nil
	case bothWays:
		rate *= 2
	}
	return rate * float64(b.bytes) / 1e6, nil
}

// twoWindows sends a window from either side and an answer back (osu_bibw).
func twoWindows(ranks int, bytes int64) collectives.Schedule {
	half := ranks / 2
	return collectives.Uniform(ranks, 2, func(rank, round int, dst []collectives.Op) []collectives.Op {
		peer := (rank + half) % ranks
		if round == 1 {
			return append(dst, collectives.RecvOp(peer, 1, 4), collectives.SendOp(peer, 1, 4))
		}
		for range window {
			dst = append(dst, collectives.RecvOp(peer, 0, bytes))
		}
		for range window {
			dst = append(dst, collectives.SendOp(peer, 0, bytes))
		}
		return dst
	})
}

// collective is the time of a call in us, mean over ranks: between two barriers of the library, from when a
// rank leaves the first (OSU's tests; IMB's since 2017, whose option sync is on), of a barrier in a row.
func (m *machine) collective(b *benchmark) (float64, error) {
	if err := bounded(float64(b.ranks) * math.Log2(float64(b.ranks))); err != nil {
		return 0, err
	}
	c, err := b.collective()
	if err != nil {
		return 0, err
	}
	place := mpi.Placement{Type: mpi.Block, PerNode: b.perNode}
	if b.byCore > 0 {
		filled := *m
		filled.memory.PerDomain = b.byCore
		m = &filled
	}
	if b.cyclic {
		place.Type = mpi.Cyclic
	}
	transfers := 0.0
	var ops []collectives.Op
	for _, rank := range []int{0, b.ranks / 2} { // as much as any, about
		for round := range c.Rounds(rank) {
			ops = c.Round(rank, round, ops[:0])
			for i := range ops {
				if ops[i].Kind == collectives.Send {
					transfers += m.parts(ops[i].Bytes) / 2 * float64(b.ranks)
				}
			}
		}
	}
	if err := bounded(transfers); err != nil {
		return 0, err
	}
	// A rank computes no earlier than its operations are complete.
	end := collectives.Work(b.ranks, sim.Picosecond)
	// The first calls load the contexts of queue pairs, and leave the ranks out of step.
	apart, err := (&benchmark{operation: "barrier", library: b.library, ranks: b.ranks, perNode: b.perNode}).collective()
	if err != nil {
		return 0, err
	}
	before := []collectives.Schedule{c, apart, c, apart}
	more, calls := []collectives.Schedule{c}, 1
	if b.inARow {
		before, more, calls = []collectives.Schedule{c, c}, []collectives.Schedule{c, c, c, c}, 4
	}
	times := func(parts ...collectives.Schedule) ([]sim.Time, error) {
		_, r, err := m.run(collectives.Sequence(append(parts, end)...), place, b.far)
		return r.Finish, err
	}
	first, err1 := times(slices.Clone(before)...)
	last, err2 := times(slices.Concat(before, more)...)
	if err := errors.Join(err1, err2); err != nil {
		return 0, err
	}
	sum := 0.0
	for r := range first {
		sum += float64(last[r] - first[r])
	}
	return sum / float64(len(first)) / float64(calls) * 1e-6, nil
}

// collective builds the operation of a benchmark by the algorithm that it names, or its library's.
func (b *benchmark) collective() (collectives.Collective, error) {
	env := collectives.Env{Ranks: b.ranks, PerNode: b.perNode, Bytes: sim.Bytes(b.bytes)}
	if b.algorithm == "" {
		library := b.library
		if library == "" {
			library = "open-mpi"
		}
		name := b.operation + "-library"
		if b.operation == "alltoall" {
			return param.Make(collectives.Registry, name, env, func(c *collectives.LibrarySwitch) { c.Library = library })
		}
		return param.Make(collectives.Registry, name, env, func(c *collectives.LibraryChoice) { c.Library = library })
	}
	name, known := algorithms[b.operation+" "+b.algorithm]
	if !known {
		return nil, errNotSimulated(fmt.Sprintf("weft has no %s by %q", b.operation, b.algorithm))
	}
	name, fanout, _ := strings.Cut(name, ":")
	if slices.Contains([]string{"broadcast-chain", "broadcast-tree", "broadcast-knomial", "broadcast-split-binary", "broadcast-doubling"}, name) {
		return param.Make(collectives.Registry, name, env, func(c *collectives.TreeSettings) {
			c.Segment = 0
			if fanout != "" {
				c.Fanout = int(fanout[0] - '0')
			}
		})
	}
	return collectives.Registry.New(name, env)
}

// algorithms are Open MPI's names, as tests of named algorithms have them, without segments.
var algorithms = map[string]string{
	"broadcast binomial": "broadcast-doubling", "broadcast linear": "broadcast-linear", "broadcast basic_linear": "broadcast-linear",
	"broadcast chain": "broadcast-chain:4", "broadcast pipeline": "broadcast-chain:1", "broadcast binary_tree": "broadcast-tree:2", "broadcast binary": "broadcast-tree:2",
	"broadcast split_binary_tree": "broadcast-split-binary", "broadcast split_binary": "broadcast-split-binary", "broadcast knomial": "broadcast-knomial:4",
	"broadcast scatter_allgather": "broadcast-scatter-allgather", "broadcast scatter_allgather_ring": "broadcast-scatter-allgather",
	"alltoall linear": "alltoall-linear", "alltoall linear_sync": "alltoall-linear", "alltoall pairwise": "alltoall-pairwise", "alltoall bruck": "alltoall-bruck", "alltoall modified_bruck": "alltoall-bruck",
	"allreduce recursive_doubling": "allreduce-recursive-doubling", "allreduce ring": "allreduce-ring", "allreduce segmented_ring": "allreduce-ring",
	"allreduce rabenseifner": "allreduce-recursive-halving", "allreduce nonoverlapping": "allreduce-reduce-broadcast",
	"allgather bruck": "allgather-bruck", "allgather recursive_doubling": "allgather-recursive-doubling", "allgather ring": "allgather-ring", "allgather neighbor": "allgather-neighbor-exchange",
	"barrier recursive_doubling": "barrier-recursive-doubling", "barrier bruck": "barrier-dissemination", "barrier tree": "barrier-tree",
}
