package hardware

import (
	"cmp"
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
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// machine is a system under a library.
type machine struct {
	hca       hca.Config
	protocol  mpi.Protocols
	memory    mpi.Memory
	work      mpi.LocalWork
	ways      systems.Ways
	perLeaf   int  // nodes of a leaf switch; 0: not known
	byAdapter bool // ranks of a node exchange through adapters, as by Open MPI over cxi without LINKx
}

// newMachine is a preset under a library, with the sockets of a system's nodes and its leaf switches.
func newMachine(p *systems.Preset, library, transport string, s *system) (*machine, error) {
	values := p.With(systems.Library(library), transport)
	adapter := cmp.Or(systems.Adapter(values), systems.QDR)
	config, err := hca.Registry.New(adapter, struct{}{})
	if err != nil {
		return nil, err
	}
	m := &machine{hca: config, protocol: mpi.DefaultProtocols, memory: mpi.DefaultMemory, work: mpi.DefaultLocalWork}
	m.work.CopyRate = mpi.CopyRates[adapter]
	set := systems.Machine{HCA: &m.hca, Protocol: &m.protocol, Memory: &m.memory, Workload: &m.work}
	set.Set(values, func(string) bool { return false })
	m.memory.Domains, m.ways, m.perLeaf = max(1, s.Sockets), set.System, s.PerLeaf
	m.byAdapter = strings.HasPrefix(library, "open-mpi") && transport != "linkx"
	return m, nil
}

// run runs a program of so many ranks on a node, far from node to node or not.
func (m *machine) run(s collectives.Schedule, place mpi.Placement, far bool) (*mpi.ScheduleRun, error) {
	network, protocols := mpi.LogGP{Latency: m.ways.Near(), PerLeaf: m.perLeaf, Far: m.ways.Far(), HCA: m.hca}, m.protocol
	if far {
		network.Latency = m.ways.Far()
		protocols.Acknowledge += m.ways.Far() - m.ways.Near()
	}
	w := mpi.RunSchedule(s, m.work.Costs(), sim.Picosecond)
	_, err := mpi.Config{Placement: place, Protocols: protocols, Connections: mpi.DefaultConnections, Memory: m.memory, Adapter: m.hca, Transport: network.New, Seed: 1}.Run(w)
	return w, err
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

// together makes one adapter of all adapters of a node.
func (m *machine) together(adapters int) *machine {
	one := *m
	h, n := &one.hca, sim.Time(adapters)
	h.LinkRate, h.DMARate = h.LinkRate*sim.Rate(n), h.DMARate*sim.Rate(n)
	h.RequestTime, h.PacketTime = h.RequestTime/n, h.PacketTime/n
	return &one
}

// mostTransfers bounds a call, or a window: of more messages, counted once more for every eight quanta of the
// adapter, which are as much work, a row is not judged. So it takes seconds.
const mostTransfers = 1e6

// bounded refuses what takes too long to simulate.
func bounded(transfers float64) error {
	if transfers > mostTransfers {
		return fmt.Errorf("more than %.0f messages a call, or parts of long ones, are too many to simulate here", mostTransfers)
	}
	return nil
}

// calls counts the work of a call, in messages, or copies of ten blocks, until it is out of bounds.
func (m *machine) calls(s collectives.Schedule) (messages float64) {
	var ops []collectives.Op
	for rank := range s.Ranks() {
		for round := range s.Rounds(rank) {
			messages += 0.01
			ops = s.Round(rank, round, ops[:0])
			for i := range ops {
				switch ops[i].Kind {
				case collectives.Send:
					messages += m.parts(ops[i].Bytes)
				case collectives.Copy:
					messages += 0.1
				}
			}
			if messages > mostTransfers {
				return messages
			}
		}
	}
	return messages
}

// parts is how often a message of so many bytes counts.
func (m *machine) parts(bytes int64) float64 { return 1 + float64(bytes)/8/float64(m.hca.Quantum) }

// window is the messages under way at once in the OSU tests of bandwidth and rate.
const window = 64

// measure is what the simulator has for a row.
func (m *machine) measure(b *benchmark) (float64, error) {
	switch b.test {
	case hops:
		return (m.ways.Far() - m.ways.Near()).Microseconds(), nil
	case pingPong:
		if err := bounded(m.parts(b.bytes)); err != nil {
			return 0, err
		}
		ranks := 2
		if b.pairs {
			ranks = b.ranks
		}
		round, err := m.steady(windows(ranks, 1, b.bytes, b.bytes, false), ranks, b)
		return round / 2 * 1e6, err // us one way, by the mean of all round trips but the first
	case bandwidth, messageRate:
		if err := bounded(m.parts(b.bytes) * window * float64(b.ranks/2)); err != nil {
			return 0, err
		}
		return m.stream(b)
	}
	return m.collective(b)
}

// stream is MB/s or messages a second of windows of messages, from the nodes' first half to the other.
func (m *machine) stream(b *benchmark) (float64, error) {
	messages := float64(window * (b.ranks / 2))
	if b.bothWays {
		messages *= 2
	}
	time, err := m.steady(windows(b.ranks, window, b.bytes, skeletons.Acknowledgement, b.bothWays), b.ranks, b)
	if b.test == bandwidth {
		messages *= float64(b.bytes) / 1e6
	}
	return messages / time, err
}

// steady is the time of a round in seconds, by the mean of all but the first.
func (m *machine) steady(round collectives.Schedule, ranks int, b *benchmark) (float64, error) {
	w, err := m.run(mpi.Iterate(round, 4), mpi.Placement{Type: mpi.Block, PerNode: max(1, ranks/b.nodes)}, b.far)
	if err != nil {
		return 0, err
	}
	ends := w.PhaseEnds()
	return float64(ends[3]-ends[0]) / 3 * 1e-12, nil
}

// windows sends so many messages from each rank of the first half to its partner, then an answer, or both ways
// without one, as osu_bibw (osu_bibw.c of OMB 5.3 to 7.5).
func windows(ranks, messages int, bytes, answer int64, bothWays bool) collectives.Schedule {
	half, rounds := ranks/2, 2
	if bothWays {
		rounds = 1
	}
	return collectives.Uniform(ranks, rounds, func(rank, round int, dst []collectives.Op) []collectives.Op {
		peer, n, size := (rank+half)%ranks, messages, bytes
		if round == 1 {
			n, size = 1, answer
		}
		sends := (rank < half) == (round == 0)
		if bothWays || !sends {
			for range n {
				dst = append(dst, collectives.RecvOp(peer, round, size))
			}
		}
		if bothWays || sends {
			for range n {
				dst = append(dst, collectives.SendOp(peer, round, size))
			}
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
	c, err := b.schedule()
	if err != nil {
		return 0, err
	}
	place := mpi.Placement{Type: mpi.Block, PerNode: b.perNode}
	filled := *m
	if m = &filled; b.byCore > 0 {
		m.memory.PerDomain = b.byCore
	}
	if b.cyclic {
		place.Type = mpi.Cyclic
	}
	if err := bounded(m.calls(c)); err != nil {
		return 0, err
	}
	// A rank computes no earlier than its operations are complete.
	end := collectives.Work(b.ranks, sim.Picosecond)
	apart, err := (&benchmark{operation: "barrier", library: b.library, ranks: b.ranks, perNode: b.perNode}).schedule()
	if err != nil {
		return 0, err
	}
	// The first calls load the contexts of queue pairs, and leave the ranks out of step.
	warm, call, calls := []collectives.Schedule{c, apart, c, apart, end}, []collectives.Schedule{c, end}, 1
	if b.inARow {
		warm, call, calls = []collectives.Schedule{c, c, end}, []collectives.Schedule{c, c, c, c, end}, 4
	}
	ready := collectives.Sequence(warm...)
	w, err := m.run(&timed{collectives.Sequence(append(warm, call...)...), ready, calls}, place, b.far)
	if err != nil {
		return 0, err
	}
	return lists.Total(w.OperationTimes()) / float64(b.ranks) * 1e-6, nil
}

// timed is a schedule of which the calls behind its beginning are timed.
type timed struct {
	collectives.Schedule
	warm  collectives.Schedule
	calls int
}

// Phases, Phase, Operations and Timed implement [mpi.Timed].
func (s *timed) Phases() int                { return 0 }
func (s *timed) Phase(rank, round int) int  { return -1 }
func (s *timed) Operations() int            { return s.calls }
func (s *timed) Timed(rank, round int) bool { return round >= s.warm.Rounds(rank) }

// neighbours sends a message to the next rank of a ring, and one to the one before if both ways, and takes
// as many.
func neighbours(ranks int, bytes int64, bothWays bool) collectives.Schedule {
	return collectives.Uniform(ranks, 1, func(rank, _ int, dst []collectives.Op) []collectives.Op {
		next, last := (rank+1)%ranks, (rank+ranks-1)%ranks
		dst = append(dst, collectives.RecvOp(last, 0, bytes), collectives.SendOp(next, 0, bytes))
		if bothWays {
			dst = append(dst, collectives.RecvOp(next, 1, bytes), collectives.SendOp(last, 1, bytes))
		}
		return dst
	})
}

// schedule is the operation of a benchmark by the algorithm that it names, or its library's.
func (b *benchmark) schedule() (collectives.Schedule, error) {
	if b.operation == sendRecv || b.operation == exchange {
		return neighbours(b.ranks, b.bytes, b.operation == exchange), nil
	}
	env := collectives.Env{Ranks: b.ranks, PerNode: b.perNode, Bytes: sim.Bytes(b.bytes)}
	if b.algorithm == "" {
		library := cmp.Or(b.library, "open-mpi")
		if b.operation == "alltoall" {
			return param.Make(collectives.Registry, "alltoall-library", env, func(c *collectives.LibrarySwitch) { c.Library = library })
		}
		if slices.Contains(collectives.Operations, b.operation) {
			return param.Make(collectives.Registry, b.operation+"-library", env, func(c *collectives.LibraryChoice) { c.Library = library })
		}
		name, err := collectives.LibraryAlgorithm(library, b.operation, env)
		if err != nil {
			return nil, err
		}
		return collectives.Registry.New(name, env)
	}
	name, known := algorithms[b.operation+" "+b.algorithm]
	if !known {
		return nil, fmt.Errorf("weft has no %s by %q", b.operation, b.algorithm)
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
