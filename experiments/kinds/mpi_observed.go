package kinds

import (
	"errors"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/fabric/topology"
)

// What is written of the network that a program's messages take: the same tables as of
// kind traffic. The window is the whole run, from the first cycle to the end of the last rank
// and of what is then still under way.

// checkObserved finds what is asked for of a machine without channels.
func (c *mpiConfig) checkObserved() error {
	if c.Measure.Timeline && c.Job.Machine == "loggops" && c.LogGOPS.Compatible {
		return experiments.At("measure.timeline", errors.New("needs loggops.loggopsim = false: LogGOPSim's times do not add up"))
	}
	if c.Job.Machine == "fabric" {
		return nil
	}
	var problems []error
	for key, asked := range map[string]bool{"measure.links": c.Measure.Links, "measure.series": c.Measure.Series > 0, "measure.blame": c.Measure.Blame, "trace.packets": c.Trace.Packets > 0} {
		if asked {
			problems = append(problems, experiments.At(key, errors.New(`needs job.machine = "fabric": `+c.Job.Machine+" has no channels")))
		}
	}
	return errors.Join(problems...)
}

// networkWatch is what looks at the network of a replication.
type networkWatch struct {
	fabric *core.Fabric
	blame  *observe.Blame
	trace  *observe.Tracer
	all    *observe.Tracer // of all packets, for the timeline
	series *observe.ChannelSeries
}

// observe has f observed as the file asks for, from its first cycle on.
func (c *mpiConfig) observe(f *core.Fabric, timeline bool) (*networkWatch, error) {
	w := &networkWatch{fabric: f}
	all := measure.NewMeter(1)
	all.Open(0)
	if c.Measure.Blame {
		w.blame = observe.StartBlame(f, all)
	}
	if c.Trace.Packets > 0 {
		plan, err := c.Trace.plan(f.Graph().Terminals())
		if err != nil {
			return nil, err
		}
		w.trace = observe.StartTrace(f, all, plan)
	}
	if timeline {
		w.all = observe.StartTrace(f, all, observe.TracePlan{})
	}
	if c.Measure.Series > 0 {
		w.series = observe.StartSeries(f, c.Measure.Series)
	}
	return w, nil
}

// mpiObserved is what has been seen of the networks of all replications; of the first where
// they cannot be summed up.
type mpiObserved struct {
	graph    *topology.Graph
	timeline *timelineWriter // of the first
	carried  carried
	blame    *observe.Blame
	traces   []*observe.PacketTrace
	series   *observe.Series
}

// add enters a replication whose last packet was delivered before cycle end.
func (o *mpiObserved) add(w *networkWatch, end int64) {
	o.carried.add(w.fabric.ChannelFlits(), end)
	if o.blame == nil {
		o.blame = w.blame
	} else {
		o.blame.Add(w.blame)
	}
	if o.graph != nil {
		return
	}
	o.graph = w.fabric.Graph()
	if w.trace != nil {
		o.traces = w.trace.Packets()
	}
	if w.series != nil {
		o.series = w.series.Series(end)
	}
}

// writeObserved writes what the file asks for.
func (c *mpiConfig) writeObserved(run *experiments.Run, o *mpiObserved) {
	clock := c.Fabric.Clock
	if o.timeline != nil {
		o.timeline.graph = o.graph
		o.timeline.write(run)
	}
	if c.Measure.Links {
		writeLinks(run, o.graph, &o.carried)
	}
	if c.Measure.Blame {
		writeBlame(run, o.graph, o.blame, clock.Nanoseconds())
	}
	if c.Measure.Series > 0 {
		writeSeries(run, o.graph, o.series)
	}
	if c.Trace.Packets > 0 {
		writeTraces(run, o.graph, o.traces, clock)
		writePackets(run, o.graph, o.traces, clock)
	}
}
