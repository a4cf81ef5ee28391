package traffic

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/kinds/telemetry"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/stats"
)

// writeGlobalChannels keeps how much every global channel of a grouped topology carried in the
// window: global_channels.csv. Channels are told apart as figure 9 of the dragonfly paper does for
// worst-case traffic, by where they lead and by their switch: role is minimal for channels to the
// next group, beside for the others of a switch that has such a channel, and other.
func writeGlobalChannels(run *experiments.Run, t topology.Grouped, c *telemetry.Carried) {
	g := t.Graph()
	table := run.Table(tables.Named("global_channels"))
	groups := t.Groups()
	for from := range groups {
		next := map[topology.SwitchID]bool{} // switches with a channel to the next group
		for _, p := range t.Gateways(from, (from+1)%groups) {
			next[g.PortSwitch[p]] = true
		}
		for offset := 1; offset < groups; offset++ {
			for _, p := range t.Gateways(from, (from+offset)%groups) {
				role := "other"
				switch {
				case offset == 1:
					role = "minimal"
				case next[g.PortSwitch[p]]:
					role = "beside"
				}
				table.Add(from, offset, role, c.Rate(int(p), g.NumPorts()+g.Terminals()))
			}
		}
	}
}

// writeFairness keeps how evenly terminals are served: fairness.csv. silent tells of terminals
// that send nothing of their own; nil: all send.
func writeFairness(run *experiments.Run, g *topology.Graph, c *telemetry.Carried, silent func(topology.TerminalID) bool) {
	t := run.Table(tables.Named("fairness"))
	channels := g.NumPorts() + g.Terminals()
	var sent, received []float64
	var senders []topology.TerminalID
	for i := range topology.TerminalID(g.Terminals()) {
		received = append(received, c.Rate(int(g.TerminalPort[i]), channels))
		if silent == nil || !silent(i) {
			sent, senders = append(sent, c.Rate(g.NumPorts()+int(i), channels)), append(senders, i)
		}
	}
	for _, x := range []struct {
		direction string
		rates     []float64
		of        []topology.TerminalID
	}{{"sent", sent, senders}, {"received", received, topology.Numbers[topology.TerminalID](g.Terminals())}} {
		least, most := slices.Min(x.rates), slices.Max(x.rates)
		first := func(rate float64) string { return g.TerminalName(x.of[slices.Index(x.rates, rate)]) }
		t.Add(x.direction, network.JainIndex(x.rates), network.Mean(x.rates), least, first(least), most, first(most))
	}
}

// probe is the probe that the point asks for, in parts whose routing is built; none if it asks
// for none.
func (c *trafficConfig) probe(parts *trafficParts) error {
	m := &c.Measure
	if m.Queues == 0 {
		return nil
	}
	p := fabric.Probe{Interval: network.CyclesOf(m.Queues, c.Fabric.Clock)}
	var problems []error
	for i, name := range m.QueueSamples {
		q, _ := fabric.QuantityOf(name)
		if why := parts.fabric.CannotProbe(q, parts.Routing); why != "" {
			problems = append(problems, document.At(fmt.Sprintf("measure.queue_samples[%d]", i), fmt.Errorf("= %q: want %s", name, why)))
			continue
		}
		p.Quantities = append(p.Quantities, q)
	}
	g := parts.topology.Graph()
	chosen := make([]bool, g.NumPorts())
	for i, pattern := range m.QueuePorts {
		if !choosePorts(g, pattern, chosen) {
			problems = append(problems, document.At(fmt.Sprintf("measure.queue_ports[%d]", i),
				fmt.Errorf("= %q names no port: want all, a class of channels such as %s, a switch such as %q, or a port such as %q, in which * stands for anything",
					pattern, g.Classes[len(g.Classes)-1].Name, g.SwitchName(0), g.PortName(0))))
		}
	}
	for port := range chosen {
		if chosen[port] {
			p.Ports = append(p.Ports, topology.PortID(port))
		}
	}
	cycles := cmp.Or(m.Window, c.budget(0, false))
	const rowBytes = 300 // of queues.csv, with its cells
	rows := math.Ceil(float64(cycles)/float64(p.Interval)) * float64(len(p.Ports))
	problems = append(problems, input.CheckMemory("measure.queues", m.Queues, fmt.Sprintf("%.3g samples of ports", rows), rows*rowBytes))
	parts.fabric.Probes = append(parts.fabric.Probes, p)
	return errors.Join(problems...)
}

func choosePorts(g *topology.Graph, pattern string, chosen []bool) (any bool) {
	for p := range chosen {
		port := topology.PortID(p)
		if pattern == "all" || pattern == g.Classes[g.PortClass[p]].Name || matches(pattern, g.SwitchName(g.PortSwitch[p])) || matches(pattern, g.PortName(port)) {
			chosen[p], any = true, true
		}
	}
	return any
}

// matches tells whether a name fits a pattern, in which * stands for anything. Cost:
// linear in the length of the name for each *.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, parts[0])
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(rest, part)
		rest, ok = after, ok && found
	}
	return ok && strings.HasSuffix(rest, parts[last])
}

// writeQueues keeps what ports were sampled for: queues.csv, all ports of a time, then of the next.
func writeQueues(run *experiments.Run, g *topology.Graph, s *fabric.Samples, clock float64) {
	t := run.Table(tables.Named("queues"))
	for i := range s.Rows {
		for k, port := range s.Ports {
			from, to, class := telemetry.ChannelEnds(g, int(port))
			cells := [4]any{math.NaN(), math.NaN(), math.NaN(), math.NaN()} // by quantity
			for q, quantity := range s.Quantities {
				cells[quantity] = int64(s.At(i, q, k))
			}
			t.Add(append([]any{float64(int64(i)*s.Interval) * clock, from, to, class}, cells[:]...)...)
		}
	}
}

type phaseTable struct {
	At      int64                                            `toml:"at" doc:"first cycle of the phase, from the start of the window" unit:"cycles" min:"0"`
	Pattern experiments.Choice[traffic.Env, traffic.Pattern] `toml:"pattern" doc:"destinations of the packets born from then on, until the next phase"`
	Load    float64                                          `toml:"load" doc:"offered load from then on, until the next phase; -1: traffic.load" unit:"flits per terminal and cycle" min:"-1" max:"1"`
}

func (p *phaseTable) Defaults() {
	p.Pattern, p.Load = experiments.Choose(traffic.Patterns, "uniform"), sameLoad
}

// sameLoad is the load of a phase that has traffic.load's.
const sameLoad = -1

// inOrder are the names of the phases.
func (c *trafficConfig) inOrder() []string {
	return slices.SortedFunc(maps.Keys(c.Phase), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.Phase[a].At, c.Phase[b].At), cmp.Compare(a, b))
	})
}

// offered is the load in the mean of the window.
func (c *trafficConfig) offered() float64 {
	load, from, more := c.Traffic.Load, int64(0), 0.0 // more than traffic.load, in flits
	for _, name := range c.inOrder() {
		phase := c.Phase[name]
		more += (load - c.Traffic.Load) * float64(phase.At-from)
		if load, from = phase.Load, phase.At; load == sameLoad {
			load = c.Traffic.Load
		}
	}
	more += (load - c.Traffic.Load) * float64(c.Measure.Window-from)
	return c.Traffic.Load + more/float64(max(c.Measure.Window, 1))
}

// phases are the tables [phase.NAME], by their cycles in the run.
func (c *trafficConfig) phases(parts *trafficParts, seed uint64) ([]measure.Phase, error) {
	if len(c.Phase) == 0 {
		return nil, nil
	}
	m := &c.Measure
	switch {
	case m.Find != "":
		return nil, document.At("measure.find", errors.New("does not go with [phase.NAME]: the search for a load wants traffic that stays the same"))
	case m.Warmup == 0 || m.Window == 0:
		key, what := "measure.warmup", "the warm-up"
		if m.Warmup > 0 {
			key, what = "measure.window", "the window"
		}
		return nil, document.At(key, fmt.Errorf("= 0: want a number of cycles with [phase.NAME]: what ends %s is that the traffic has settled, and it changes", what))
	case c.Program.Type.Name() != openLoop:
		return nil, document.At("program.type", fmt.Errorf("= %q: want %q with [phase.NAME]", c.Program.Type.Name(), openLoop))
	}
	names := c.inOrder()
	var phases []measure.Phase
	var problems []error
	quiet := func(p traffic.Pattern) bool { _, sparse := p.(traffic.Sparse); return sparse }
	if quiet(parts.pattern) {
		problems = append(problems, document.At("traffic.pattern", errors.New("has silent terminals, which do not go with [phase.NAME]")))
	}
	for i, name := range names {
		phase, key := c.Phase[name], "phase."+document.QuoteName(name)
		if phase.At >= m.Window {
			problems = append(problems, document.At(key+".at", fmt.Errorf("= %d: want at most %d, a cycle of the window", phase.At, m.Window-1)))
		}
		if i > 0 && phase.At == c.Phase[names[i-1]].At {
			problems = append(problems, document.At(key+".at", fmt.Errorf("= %d: phase %s begins then, too", phase.At, names[i-1])))
		}
		pattern, err := phase.Pattern.Build(traffic.Env{Topology: parts.topology, TopologyName: c.Topology.Type.Name(), Seed: param.SeedFor(phase.Pattern.Config(), seed)})
		if quiet(pattern) {
			err = document.At(key+".pattern", errors.New("has silent terminals: want all to send in every phase"))
		}
		problems = append(problems, err)
		next := measure.Phase{From: m.Warmup + phase.At, Pattern: pattern}
		if phase.Load != sameLoad && parts.sizes != nil {
			next.Process, err = c.Traffic.Process.Build(traffic.ProcessEnv{Load: phase.Load, MeanFlits: parts.sizes.Mean()})
			var wrong *param.ParamError
			if errors.As(err, &wrong) && wrong.Key == "traffic.load" {
				err = &param.ParamError{Key: key + ".load", Value: phase.Load, Want: wrong.Want}
			}
			problems = append(problems, err)
		}
		phases = append(phases, next)
	}
	return phases, errors.Join(problems...)
}

// checkLapse refuses more intervals than can be kept.
func (c *trafficConfig) checkLapse() error {
	if c.Measure.Lapse == 0 {
		return nil
	}
	if c.Measure.Window == 0 && c.Measure.Replications > 1 {
		return document.At("measure.time_lapse", errors.New("of several replications needs measure.window: windows that are found differ in length"))
	}
	const rowBytes = 200 // of time_lapse.csv, with its cells
	rows := math.Ceil(float64(cmp.Or(c.Measure.Window, c.budget(0, false))) / float64(network.CyclesOf(c.Measure.Lapse, c.Fabric.Clock)))
	return input.CheckMemory("measure.time_lapse", c.Measure.Lapse, fmt.Sprintf("%.3g intervals", rows), rows*rowBytes)
}

// writeLapse keeps what arrived over time, in all replications: time_lapse.csv.
func writeLapse(run *experiments.Run, c *trafficConfig, o *trafficOutcome) {
	t, clock := run.Table(tables.Named("time_lapse")), c.Fabric.Clock.Nanoseconds()
	every := network.CyclesOf(c.Measure.Lapse, c.Fabric.Clock)
	perCycle := float64(o.topology.Graph().Terminals()) * o.senders * float64(c.Measure.Replications)
	for i := range (o.window + every - 1) / every {
		var s measure.LapseStep
		if int(i) < len(o.lapse) {
			s = o.lapse[i]
		}
		cycles := min(every, o.window-i*every)
		t.Add(float64(i*every)*clock, float64(s.Flits)/float64(cycles)/perCycle,
			float64(s.Latency)/float64(s.Packets)*clock, 1-float64(s.NonMinimal)/float64(s.Packets))
	}
}

// tallyCells are what was measured of some packets, in their columns from packets_measured on.
func tallyCells(l *measure.Tally, window int64, clock float64) []any {
	return []any{l.Packets, float64(l.Flits) / float64(window), stats.Finite(float64(l.Sum)/float64(l.Packets)) * clock,
		l.Latency.Quantile(0.5) * clock, l.Latency.Quantile(0.99) * clock, float64(l.Latency.Max()) * clock}
}

// writeLevels keeps what was measured of the service levels in use: levels.csv.
func writeLevels(run *experiments.Run, levels []measure.Tally, window int64, clock float64) {
	t := run.Table(tables.Named("levels"))
	for i := range levels {
		if l := &levels[i]; l.Packets > 0 || l.Flits > 0 {
			t.Add(append([]any{i}, tallyCells(l, window, clock)...)...)
		}
	}
}

// pairsOf finds the terminals that measure.pairs names.
func pairsOf(g *topology.Graph, names []string) ([]measure.Pair, error) {
	find := topology.Finder{Graph: g}
	var pairs []measure.Pair
	var problems []error
	for i, pair := range names {
		problem := func(err error) { problems = append(problems, document.At(fmt.Sprintf("measure.pairs[%d]", i), err)) }
		end := func(name string) topology.TerminalID {
			if name = strings.TrimSpace(name); name == anyTerminal {
				return measure.AnyTerminal
			}
			t, err := find.Terminal(name)
			if err != nil {
				problem(fmt.Errorf("= %q: %w", pair, err))
			}
			return t
		}
		src, dst, ok := strings.Cut(pair, ",")
		if !ok {
			problem(fmt.Errorf(`= %q: want "SOURCE,DESTINATION"`, pair))
			continue
		}
		pairs = append(pairs, measure.Pair{Src: end(src), Dst: end(dst)})
	}
	return pairs, errors.Join(problems...)
}

// anyTerminal stands for all terminals in a pair.
const anyTerminal = "*"

// writePairs keeps what was measured of pairs of terminals: pairs.csv.
func writePairs(run *experiments.Run, names []string, o *trafficOutcome, clock float64) {
	t, g := run.Table(tables.Named("pairs")), o.topology.Graph()
	pairs, _ := pairsOf(g, names) // as when the point was built
	name := func(t topology.TerminalID) string {
		if t == measure.AnyTerminal {
			return anyTerminal
		}
		return g.TerminalName(t)
	}
	for i, p := range pairs {
		t.Add(append([]any{name(p.Src), name(p.Dst)}, tallyCells(&o.pairs[i], o.Carried.Window, clock)...)...)
	}
}
