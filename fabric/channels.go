package fabric

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// ChannelTiming is a channel class in cycles.
type ChannelTiming struct {
	Latency       int64
	CyclesPerFlit float64
}

// ChannelTimings resolves the channel classes of g, by class; problems as of
// [New].
func (c *Config) ChannelTimings(g *topology.Graph) ([]ChannelTiming, error) {
	timings, err := c.resolveChannels(g)
	all := make([]ChannelTiming, len(timings))
	for i, t := range timings {
		all[i] = ChannelTiming{int64(t.latency), float64(t.interval) / (1 << intervalShift)}
	}
	return all, err
}

// channelTiming is a channel class resolved to cycles.
type channelTiming struct {
	latency  int32 // cycles, at least 1
	interval int64 // time a flit occupies the channel, in cycles << intervalShift
}

// intervalShift is the fixed-point precision of departure times: rates that
// do not divide the clock keep their mean to one part in a million.
const intervalShift = 20

// wholeCycle is the first cycle that begins at a fixed-point time or later.
func wholeCycle(t int64) int64 { return (t + 1<<intervalShift - 1) >> intervalShift }

// resolveChannels turns the classes of g and their overrides into cycles. All
// problems are returned together, as *param.ParamError with keys such as
// "channel.local.latency".
func (c *Config) resolveChannels(g *topology.Graph) ([]channelTiming, error) {
	var problems []error
	timings := make([]channelTiming, len(g.Classes))
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
	return timings, errors.Join(problems...)
}

func (c *Config) resolveChannel(class topology.Class, over ChannelConfig) (channelTiming, []error) {
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
	switch {
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
		problems = append(problems, &param.ParamError{Key: key + name, Value: fmt.Sprintf("%g cycles a flit", cycles), Want: "1 to 1,000,000 cycles a flit: choose fabric.clock and fabric.flit_bytes so that the fastest channel takes at least a cycle for a flit"})
		cycles = 1
	}
	return channelTiming{int32(min(latency, math.MaxInt32/4)), int64(math.Round(cycles * (1 << intervalShift)))}, problems
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func classNames(g *topology.Graph) string {
	names := make([]string, len(g.Classes))
	for i, c := range g.Classes {
		names[i] = c.Name
	}
	return strings.Join(names, ", ")
}
