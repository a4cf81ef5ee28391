package mpi

import (
	"errors"
	"fmt"
	"iter"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/mem"
	"github.com/weft-sim/weft/sim/param"
)

// begin makes the parts of a run.
func (c Config) begin(w Workload) (*meeting, error) {
	if err := c.check(w); err != nil {
		return nil, err
	}
	nodeOf, nodes, err := c.Placement.Place(w.Ranks(), c.Seed)
	if err != nil {
		return nil, err
	}
	var network Division = undivided{c.Transport, nodes}
	if c.Divide != nil {
		alone, why := c.alone(w)
		if network, err = c.Divide(nodes, alone, why); err != nil {
			return nil, err
		}
	}
	s := shared{
		Config: c, parts: make([]*runtime, network.Parts()), partOf: make([]uint8, nodes), nodeOf: nodeOf, places: c.Memory.places(nodeOf, nodes),
		ranks: mem.HugePages(make([]rank, w.Ranks())), messages: &mem.Records[message]{},
		queues: mem.HugePages(make([]Op, shortQueue*w.Ranks())), noise: newNoise(&c.Noise, c.Seed, w.Ranks()),
	}
	for node := range s.partOf {
		s.partOf[node] = uint8(network.PartOf(int32(node)))
	}
	_, s.inOrder = w.(*ScheduleRun)
	if s.jobs, _ = w.(*JobsRun); s.jobs != nil {
		s.inOrder = s.jobs.order
	}
	if len(s.parts) == 1 && (c.Progress != nil || c.Checkpoint.Save != nil) {
		s.pauseEvery = pauseEvery
	}
	if c.Timeline != nil {
		c.Timeline.open(w.Ranks(), 1)
	}
	for part := range s.parts {
		s.parts[part] = &runtime{shared: s, number: part, work: w, nextSent: sim.MaxTime, pause: s.pauseEvery, sent: [2][][]acknowledgement{make([][]acknowledgement, len(s.parts)), make([][]acknowledgement, len(s.parts))}}
		if len(s.parts) > 1 {
			s.parts[part].work = w.(Divisible).Part()
		}
		if err := s.parts[part].open(network, nodes); err != nil {
			return nil, err
		}
	}
	return &meeting{network: network, work: w, parts: s.parts, progress: c.Progress, checkpoint: c.Checkpoint}, nil
}

// check finds what is wrong with a configuration for a workload.
func (c *Config) check(w Workload) error {
	if err := param.Validate(&c.Protocols); err != nil {
		return err
	}
	if err := errors.Join(param.Validate(&c.Connections), c.Noise.Check(), c.Memory.check()); err != nil {
		return err
	}
	if c.Timeline != nil && (c.Checkpoint.From != nil || c.Checkpoint.Save != nil) {
		return errors.New("mpi: a run with a timeline keeps no state")
	}
	if w.CPUs() > 1 || w.NICs() > 1 {
		return fmt.Errorf("the program uses %d CPUs and %d NICs a rank; the runtime has one of each (the LogGOPS machine has them all)", w.CPUs(), w.NICs())
	}
	return nil
}

// open makes what a part has for itself.
func (rt *runtime) open(network Division, nodes int) (err error) {
	rt.kernel = sim.NewKernel()
	rt.handler = rt.kernel.Register(rt)
	if rt.transport, err = network.Transport(rt.number, rt.kernel, rt); err != nil {
		return err
	}
	rt.copies = newCopies(rt, nodes)
	rt.connect = newConnector(rt, nodes)
	if rt.jobs != nil {
		rt.costs = rt.jobs.costs
	}
	if s, ok := rt.work.(*ScheduleRun); ok {
		rt.costs = s.costs
		if rt.Connections.TearDown {
			s.phaseOver = func(rank int32, now int64) { rt.connect.tearDown(rank, sim.Time(now)) }
		}
	}
	for r := range rt.own() {
		q := &rt.ranks[r]
		q.posting = -1
		q.cpu = rt.Noise.skew(rt.Seed, int(r))
		if rt.Timeline != nil {
			rt.books(r, 0, q.cpu, Pausing, -1)
		}
		q.queue = rt.queues[shortQueue*r : shortQueue*r : shortQueue*(r+1)]
	}
	return nil
}

// own are the ranks of the part, in ascending order.
func (rt *runtime) own() iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for r := range int32(len(rt.ranks)) {
			if int(rt.partOf[rt.nodeOf[r]]) == rt.number && !yield(r) {
				return
			}
		}
	}
}

// start starts the programs of the own ranks.
func (rt *runtime) start() {
	for r := range rt.own() {
		rt.ready = rt.work.Start(r, rt.ready[:0])
		rt.release(r)
	}
}
