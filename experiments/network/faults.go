package network

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// FaultTable is a [fault.NAME] table.
type FaultTable struct {
	Links    []string `toml:"links" doc:"cables between switches that fail: \"switch 0 port 3\", the one at that port, or \"switch 0 - switch 1\", all between the two; of an imported fabric by name or GUID"`
	Switches []string `toml:"switches" doc:"switches that fail, with all of their cables"`
	Fraction float64  `toml:"fraction" doc:"share of all cables between switches that fails, drawn at random" min:"0" max:"1"`
	Seed     int64    `toml:"seed" doc:"of the draw; with the same seed, a larger fraction contains the cables of a smaller one" min:"0"`
	Since    string   `toml:"since" doc:"warmup: at and until count from the end of the warm-up in place of the start of the run" choices:"|warmup"`
	At       int64    `toml:"at" doc:"first cycle of the fault; 0: down from the start" unit:"cycles" min:"0" max:"1000000000000000"`
	Until    int64    `toml:"until" doc:"cycle in which what has failed comes back; 0: never" unit:"cycles" min:"0" max:"1000000000000000"`
}

// RecoveryTable is the [recovery] table.
type RecoveryTable struct {
	Unreachable string   `toml:"unreachable" doc:"terminals that no path joins at some time: refuse to run, or count the packets between them" choices:"refuse|count"`
	Reroute     int64    `toml:"reroute" doc:"from a fault, or its end, during the run until the routing goes by it; until then packets that meet the fault are dropped" unit:"cycles" min:"0" max:"1000000000"`
	Retries     int      `toml:"retries" doc:"how often a terminal sends a packet again that has not been acknowledged; 0: dropped packets are lost" min:"0" max:"1000"`
	Timeout     sim.Time `toml:"timeout" doc:"from the departure of a packet until it is sent again" min:"0ns"`
}

// DefaultRecovery is [recovery] where a file has none: networks that faults divide are refused,
// nothing is sent again.
func DefaultRecovery() RecoveryTable {
	return RecoveryTable{Unreachable: "refuse", Timeout: 10 * sim.Microsecond}
}

// Faults are the tables of a kind about faults: things that fail, and what is done about it.
type Faults struct {
	Tables   map[string]FaultTable
	Recovery RecoveryTable
	NoWarmup bool // the kind has no warm-up to count from
}

// afterWarmup lists the tables of what fails after the warm-up, in order.
func (x *Faults) afterWarmup() []string {
	return slices.DeleteFunc(x.names(), func(name string) bool { return x.Tables[name].Since != sinceWarmup })
}

const sinceWarmup = "warmup"

// names lists the tables in order.
func (x *Faults) names() []string { return slices.Sorted(maps.Keys(x.Tables)) }

// Periods divides time by the faults; none without faults. Where something fails after the
// warm-up, all periods but the first count from the end of that. All that is wrong with
// the tables is returned together.
func (x *Faults) Periods(g *topology.Graph) ([]topology.Period, error) {
	var before, all []topology.Failure
	var problems []error
	directory, later := topology.NewDirectory(g), x.afterWarmup()
	for _, name := range x.names() {
		t, key := x.Tables[name], "fault."+name
		failure := topology.Failure{At: t.At, Until: t.Until, Links: g.RandomLinks(t.Fraction, uint64(t.Seed))}
		for _, s := range t.Switches {
			id, err := directory.Switch(s)
			problems = append(problems, document.At(key+".switches", err))
			failure.Switches = append(failure.Switches, id)
		}
		for _, link := range t.Links {
			ports, err := directory.Links(link)
			problems = append(problems, document.At(key+".links", err))
			failure.Links = append(failure.Links, ports...)
		}
		if t.Until != 0 && t.Until <= t.At {
			problems = append(problems, &param.ParamError{Key: key + ".until", Value: t.Until, Want: fmt.Sprintf("a cycle after at = %d, or 0", t.At)})
		}
		all = append(all, failure)
		switch {
		case t.Since == sinceWarmup && x.NoWarmup:
			problems = append(problems, &param.ParamError{Key: key + ".since", Value: t.Since, Want: `"": this kind has no warm-up`})
		case t.Since == sinceWarmup:
		case len(later) > 0 && t.At+t.Until > 0:
			problems = append(problems, document.At(key, fmt.Errorf("comes or goes at a cycle of the run, and fault.%s at one after the warm-up, whose end is not known before: let both count from there, or this one last for the whole run", later[0])))
		default:
			before = append(before, failure)
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	periods := topology.Periods(g, all)
	if len(later) == 0 {
		return periods, nil
	}
	first := topology.Period{Down: topology.NewDown(g)}
	if len(before) > 0 {
		first = topology.Periods(g, before)[0]
	}
	return append([]topology.Period{first}, periods...), nil
}

// checkReach refuses periods in which terminals cannot reach each other, unless
// packets between them are to be counted.
func (x *Faults) checkReach(periods []topology.Period, g *topology.Graph) error {
	if x.Recovery.Unreachable == "count" {
		return nil
	}
	for i, period := range periods {
		pairs, src, dst := period.Down.Cut()
		if pairs == 0 {
			continue
		}
		key := "fault"
		if len(x.Tables) == 1 {
			key = "fault." + x.names()[0]
		}
		return document.At(key, fmt.Errorf("leaves %d pairs of terminals without a path %s, such as %s at %s to %s at %s (%s); recovery.unreachable = \"count\" runs it and counts the packets between them",
			pairs, x.from(periods, i), g.TerminalName(src), g.SwitchName(g.TerminalSwitch(src)), g.TerminalName(dst), g.SwitchName(g.TerminalSwitch(dst)), period.Down.Describe()))
	}
	return nil
}

// around builds a routing around faults: for every period the routing of its own,
// and all of them together; nil without faults.
func (r *RoutingTable) around(periods []topology.Period, env routing.Env) (*routing.Periods, error) {
	if name := r.Type.Name(); len(periods) > 0 && !slices.Contains(routing.AroundFaults(), name) {
		worst := slices.MaxFunc(periods, func(a, b topology.Period) int { return a.Down.Links() - b.Down.Links() })
		return nil, document.At("routing.type", fmt.Errorf("= %q does not route around faults (%s); routings that do: %s",
			name, worst.Down.Describe(), strings.Join(routing.AroundFaults(), ", ")))
	}
	return routing.BuildPeriods(env, periods, r.Type.Build)
}

// plan is what the fabric is told about faults; nil if there is nothing to tell: the routing alone
// goes around faults that last for the whole run and cut nobody off.
func (x *Faults) plan(periods []topology.Period, routings *routing.Periods, clock sim.Time) *fabric.FaultPlan {
	if len(periods) == 0 {
		return nil
	}
	if pairs, _, _ := periods[0].Down.Cut(); len(periods) == 1 && pairs == 0 {
		return nil
	}
	plan := &fabric.FaultPlan{Periods: periods, AfterWarmup: len(x.afterWarmup()) > 0, Reroute: x.Recovery.Reroute, Retries: x.Recovery.Retries, Timeout: CyclesOf(x.Recovery.Timeout, clock)}
	for i := range periods {
		plan.Routing = append(plan.Routing, routings.During(i))
	}
	return plan
}

// from says when a period begins.
func (x *Faults) from(periods []topology.Period, i int) string {
	since := ""
	if i > 0 && len(x.afterWarmup()) > 0 {
		since = " after the warm-up"
	}
	return fmt.Sprintf("from cycle %d%s on", periods[i].From, since)
}

// Describe says what is down in each period.
func (x *Faults) Describe(periods []topology.Period) (lines []string) {
	for i, period := range periods {
		text := x.from(periods, i) + " " + period.Down.Describe()
		if links := period.Down.Links(); links > 0 {
			text += fmt.Sprintf("; %d links in all", links)
		}
		if pairs, _, _ := period.Down.Cut(); pairs > 0 {
			text += fmt.Sprintf("; %d pairs of terminals have no path", pairs)
		}
		lines = append(lines, text)
	}
	return lines
}

// Routed is a routing of a network that may have faults.
type Routed struct {
	Routing fabric.Routing    // of all times, as the certificate needs it
	first   fabric.Routing    // from cycle 0 on
	Periods []topology.Period // none without faults
	faults  *fabric.FaultPlan // nil: nothing for the fabric to know of
}

// Build builds the routing on the network's topology, around the faults if there are any, for a
// fabric of some settings. It refuses settings that do not go with the faults, with dotted keys.
func (n *Spec) Build(t topology.Topology, config *fabric.Config) (b Routed, err error) {
	x, g := n.faults, t.Graph()
	if x == nil {
		b.Routing, err = n.Route(t)
		b.first = b.Routing
		return b, err
	}
	if b.Periods, err = x.Periods(g); err != nil {
		return b, err
	}
	if err := x.checkReach(b.Periods, g); err != nil {
		return b, err
	}
	routings, err := n.routing.around(b.Periods, n.env(t))
	if err != nil {
		return b, err
	}
	b.Routing, b.first = routings, routings.During(0)
	b.faults = x.plan(b.Periods, routings, config.Fabric.Clock)
	s := &config.Switch
	switch {
	case b.faults != nil && config.Fabric.Unit == fabric.UnitPacket:
		return b, document.At("fabric.unit", fmt.Errorf("= %q does not go with faults that come or go during the run, or cut terminals off: \"flit\" does", config.Fabric.Unit))
	case len(b.Periods) > 1 && s.SensesCredits(b.first):
		return b, document.At("switch.credit_sensing", fmt.Errorf("= %q does not go with faults that come or go during the run: packets that are dropped leave round trips open; \"off\" does", s.CreditSensing))
	case len(b.Periods) > 1 && s.VLArbHigh+s.VLArbLow != "":
		return b, document.At("switch.vlarb_low", errors.New("does not go with faults that come or go during the run: packets may be dropped while they cross a switch"))
	case x.Recovery.Retries > 0 && x.Recovery.Timeout <= 0:
		return b, &param.ParamError{Key: "recovery.timeout", Value: x.Recovery.Timeout, Want: "more than nothing, where there are retries"}
	}
	return b, nil
}

// Fabric builds the fabric of a routing, with its faults.
func (b *Routed) Fabric(g *topology.Graph, config fabric.Config, seed uint64) (*core.Fabric, error) {
	f, err := core.New(g, config, b.first, seed)
	if err == nil && b.faults != nil {
		err = f.SetFaults(b.faults)
	}
	return f, err
}

// joined is a traffic matrix without the pairs of terminals that have no path.
type joined struct {
	traffic.Matrix
	graph *topology.Graph
	part  []int32
}

// Joined is the traffic matrix m without the pairs of terminals that have no path while down lasts.
func Joined(m traffic.Matrix, down *topology.Down, g *topology.Graph) traffic.Matrix {
	return &joined{m, g, down.Components()}
}

func (j *joined) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	from := j.part[j.graph.TerminalSwitch(src)]
	j.Matrix.Weights(src, func(dst topology.TerminalID, weight float64) {
		if from >= 0 && j.part[j.graph.TerminalSwitch(dst)] == from {
			yield(dst, weight)
		}
	})
}
