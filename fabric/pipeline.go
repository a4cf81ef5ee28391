package fabric

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// Values of SwitchConfig.Pipeline.
const (
	Overlapped = "overlapped"
	Serial     = "serial"
)

// Overlaps tells whether packets behind the front of a queue go through stages.
func (c *SwitchConfig) Overlaps() bool {
	return c.Pipeline == Overlapped && c.RouteCycles+c.VCAllocCycles > 0
}

// Cycles is the longest that a flit spends in an idle switch, its channels not
// included: all stages, in whole cycles.
func (c *SwitchConfig) Cycles() int64 { return int64(math.Ceil(float64(c.steps()) / c.Speedup)) }

// steps is the number of steps of the switch core that a head takes.
func (c *SwitchConfig) steps() int {
	return c.RouteCycles + c.VCAllocCycles + c.SwitchAllocCycles + c.CrossbarCycles
}

// OverlapsBookSim2 tells whether stages overlap in a switch that otherwise has the pipeline of
// most set-ups of BookSim2: stages for virtual channels and for the switch, and an internal
// speedup of 2.
func (c *SwitchConfig) OverlapsBookSim2() bool {
	return c.Pipeline == Overlapped && c.VCAllocCycles >= 1 && c.SwitchAllocCycles >= 1 && c.Speedup == 2 && !c.Hold
}

// CrossingCycles is the longest from a flit's grant to its departure by an idle
// channel, in cycles.
func (c *SwitchConfig) CrossingCycles() int64 {
	return int64(math.Ceil(float64(c.SwitchAllocCycles+c.CrossbarCycles) / c.Speedup))
}

// OutputsHoldUp tells whether so few flits may wait behind the crossbar that no
// channel can be full: they count from their grant.
func (c *SwitchConfig) OutputsHoldUp() bool {
	return c.OutputBufferFlits > 0 && int64(c.OutputBufferFlits) <= c.CrossingCycles()
}

// CyclesVary tells whether the time in an idle switch can be shorter than
// [SwitchConfig.Cycles]: n cycles have between floor(n*speedup) and
// ceil(n*speedup) steps, by the cycle that they begin in.
func (c *SwitchConfig) CyclesVary() bool {
	return math.Ceil(float64(c.Cycles()-1)*c.Speedup) >= float64(c.steps())
}

// RoundTrip is the shortest credit round trip of a channel class in cycles:
// from a flit's grant at one switch until its credit can be used there again,
// if the next switch passes the flit on at once. channel is the class's
// latency.
func (c *SwitchConfig) RoundTrip(channel int64) int64 {
	cycles := func(steps int) int64 { return int64(math.Ceil(float64(steps) / c.Speedup)) }
	out := cycles(c.SwitchAllocCycles + c.CrossbarCycles)
	back := cycles(c.RouteCycles + c.VCAllocCycles + c.SwitchAllocCycles)
	return out + channel + back + channel + int64(c.CreditCycles)
}

// ChannelTiming is a channel class in cycles.
type ChannelTiming struct {
	Latency       int64   // at least 1
	CyclesPerFlit float64 // at least 1: time that a flit occupies the channel, a multiple of 2^-20
}

// timingBits is the precision of the time that a flit occupies a channel: rates that do not
// divide the clock keep their mean to one part in a million.
const timingBits = 20

// parseLink reads the InfiniBand link of a setting.
func parseLink(key, link string) (name string, rate sim.Rate, err error) {
	if name, rate, err = topology.ParseLink(link); err != nil {
		_, want, _ := strings.Cut(err.Error(), "want ")
		err = &param.ParamError{Key: key, Value: link, Want: want}
	}
	return name, rate, err
}

// FlitTime is the longest clock at which a channel of some rate takes at least a cycle
// for a flit, in whole picoseconds.
func FlitTime(rate sim.Rate, flit sim.Bytes) sim.Time {
	return max(1, sim.Time(rate.PicosecondsFor(flit)))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func classNames(g *topology.Graph) string {
	names := make([]string, len(g.Classes))
	for i, c := range g.Classes {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}

// ChannelTimings turns the classes of g and their overrides into cycles. All
// problems are returned together, as *param.ParamError with keys such as
// "channel.local.latency".
func (c *Config) ChannelTimings(g *topology.Graph) ([]ChannelTiming, error) {
	var problems []error
	timings := make([]ChannelTiming, len(g.Classes))
	known := map[string]bool{}
	for i, class := range g.Classes {
		known[class.Name] = true
		t, errs := c.resolveChannel(class, c.Channels[class.Name])
		timings[i] = t
		problems = append(problems, errs...)
	}
	for _, name := range sortedKeys(c.Channels) {
		if !known[name] {
			problems = append(problems, &param.ParamError{Key: "channel." + name, Value: "(a table)", Want: "a channel class of this topology: " + classNames(g)})
		}
	}
	if c.Fabric.Link != "" {
		if clock, err := c.Fabric.LinkTime(); err != nil {
			problems = append(problems, err)
		} else if clock != c.Fabric.Clock {
			problems = append(problems, &param.ParamError{Key: "fabric.clock", Value: c.Fabric.Clock, Want: fmt.Sprintf("%v, the time of a flit on fabric.link = %q, or either of them left out", clock, c.Fabric.Link)})
		}
	}
	return timings, errors.Join(problems...)
}

// LinkTime is the clock that Link stands for.
func (c *PhysicalConfig) LinkTime() (sim.Time, error) {
	_, rate, err := parseLink("fabric.link", c.Link)
	if err != nil {
		return 0, err
	}
	return FlitTime(rate, c.FlitBytes), nil
}

func (c *Config) resolveChannel(class topology.Class, over ChannelConfig) (ChannelTiming, []error) {
	var problems []error
	key := "channel." + class.Name
	clock := c.Fabric.Clock
	latency := int64(max(class.Latency, 1))
	if over.Latency != 0 {
		latency = int64(over.Latency / clock)
		if over.Latency%clock != 0 || latency < 1 {
			problems = append(problems, &param.ParamError{Key: key + ".latency", Value: over.Latency, Want: fmt.Sprintf("whole cycles of %v, at least one", clock)})
		}
	}
	if latency > math.MaxInt32/4 {
		problems = append(problems, &param.ParamError{Key: key + ".latency", Value: over.Latency, Want: "less than 2^29 cycles"})
	}
	cycles := 1.0
	rate := class.Rate
	if over.Rate != 0 {
		rate = over.Rate
	}
	if over.Link != "" {
		var err error
		if _, rate, err = parseLink(key+".link", over.Link); err != nil {
			problems = append(problems, err)
		}
	}
	switch {
	case over.Link != "" && (over.Rate != 0 || over.CyclesPerFlit != 0):
		problems = append(problems, &param.ParamError{Key: key + ".link", Value: over.Link, Want: "it alone, without rate or cycles_per_flit"})
	case over.Rate != 0 && over.CyclesPerFlit != 0:
		problems = append(problems, &param.ParamError{Key: key + ".rate", Value: over.Rate, Want: "either rate or cycles_per_flit, not both"})
	case over.CyclesPerFlit != 0:
		cycles = over.CyclesPerFlit
	case rate != 0:
		cycles = rate.PicosecondsFor(c.Fabric.FlitBytes) / float64(clock)
	}
	if !(cycles >= 1 && cycles <= 1e6) {
		name := ".rate"
		if over.CyclesPerFlit != 0 {
			name = ".cycles_per_flit"
		}
		want := "1 to 1,000,000 cycles a flit"
		if cycles < 1 && over.CyclesPerFlit == 0 {
			want = fmt.Sprintf("at least 1 cycle a flit: fabric.clock = \"%v\" works with flits of %v, and so do larger flits", FlitTime(rate, c.Fabric.FlitBytes), c.Fabric.FlitBytes)
		}
		problems = append(problems, &param.ParamError{Key: key + name, Value: fmt.Sprintf("%g cycles a flit", cycles), Want: want})
		cycles = 1
	}
	return ChannelTiming{min(latency, math.MaxInt32/4), math.Round(cycles*(1<<timingBits)) / (1 << timingBits)}, problems
}
