package mpi

import (
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/mpi/systems"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// SystemTable names a machine.
type SystemTable struct {
	Preset    experiments.Choice[struct{}, *systems.Preset] `toml:"preset" doc:"machine whose adapter, protocols, memory, cables and switches are taken where the file does not say otherwise; docs/hardware.md says how far each is from measurements"`
	Library   string                                        `toml:"library" doc:"message-passing library on it: what it adds to these values, and workload.library of a -library algorithm" choices:"|open-mpi|open-mpi-4.0|mpich|mvapich|intel-mpi"`
	Transport string                                        `toml:"transport" doc:"what the library sends over; left out: that of the preset" choices:"|ucx|cxi|verbs"`
	systems.Ways
}

// DefaultSystem is the system of files that name none.
func DefaultSystem() SystemTable {
	return SystemTable{Preset: experiments.Choose(systems.Registry, systems.QDR)}
}

// values are the settings of the machine that the table names.
func (t *SystemTable) values() []systems.Value {
	return t.preset().With(systems.Library(t.Library), t.Transport)
}

func (t *SystemTable) preset() *systems.Preset {
	preset, err := t.Preset.Choice.Build(struct{}{})
	if err != nil { // the name is checked as it is read
		panic("kinds: " + err.Error())
	}
	return preset
}

// byTransport tells whether a value of the machine depends on the transport.
func (t *SystemTable) byTransport() bool {
	values := t.preset().Value
	if library := systems.Library(t.Library); library != nil {
		values = slices.Concat(values, library.Value)
	}
	return slices.ContainsFunc(values, func(v systems.Value) bool { return v.Transport != "" })
}

// ignoresLibrary tells whether the library that the file names, if any, makes no difference to programs
// of such settings.
func (c *Config) ignoresLibrary(programs []any) bool {
	asks := func(config any) bool { return FollowLibrary(config, c.System.Library, true) }
	without := c.System.preset().With(nil, c.System.Transport)
	return c.System.Library != "" && slices.Equal(c.System.values(), without) && !slices.ContainsFunc(programs, asks)
}

// FollowSystem sets what the machine has and the file does not give. It returns a given that holds for
// both.
func (c *Config) FollowSystem(given func(string) bool) func(string) bool {
	values := c.System.values()
	c.takeAdapter(systems.Adapter(values), given)
	adapter, known := c.HCA.Preset.Config().(*hca.Config)
	if !known {
		return given
	}
	m := systems.Machine{System: c.System.Ways, HCA: adapter, Protocol: &c.Protocol, Memory: &c.Memory, Workload: &c.Workload}
	m.Set(values, given)
	c.System.Ways = m.System
	if c.System.Library != "" {
		FollowLibrary(c.Workload.Type.Config(), c.System.Library, given("workload.library"))
	}
	if ways := c.System.Ways; ways.Near() > 0 {
		if !given("loggp.latency") {
			c.LogGP.Latency = ways.Near()
		}
		if !given("loggp.far_latency") {
			c.LogGP.Far = ways.Far()
		}
		if !given("switch.buffer_flits") { // for the way of credits
			c.Switch.BufferFlits = systemBuffer + int(2*ways.SpineLatency/fabric.FlitTime(adapter.LinkRate, c.Fabric.FlitBytes))
		}
		if !given("terminal.injection_cycles") { // it is in the latency of a cable
			c.Terminal.InjectionCycles = 0
		}
	}
	set := lists.Set(values, func(v systems.Value) string { return v.Key })
	return func(key string) bool { return given(key) || set[key] }
}

// systemBuffer is the buffer of a virtual channel of a switch, in flits: assumed, 16 KiB of 64 B, as much
// as a channel carries while a credit comes back; over a long cable there is more on the way.
const systemBuffer = 256

// takeAdapter lays the settings that are given over the adapter of the machine.
func (c *Config) takeAdapter(name string, given func(string) bool) {
	if name == "" || given("hca.preset") {
		return
	}
	old, known := c.HCA.Preset.Config().(*hca.Config)
	if err := c.HCA.Preset.Choose(name); err != nil {
		panic("kinds: " + err.Error()) // a test chooses all
	}
	if !known {
		return
	}
	fresh := reflect.ValueOf(c.HCA.Preset.Config()).Elem()
	param.EachSetting(old, func(f *param.Field, v reflect.Value) {
		if given("hca." + f.Key) {
			fresh.FieldByIndex(f.Index).Set(v)
		}
	})
}

// FollowLibrary makes a library the one whose algorithms are taken, wherever settings of a program have
// one, unless the file gives one, and tells whether they have.
func FollowLibrary(config any, library string, given bool) (asked bool) {
	param.EachSetting(config, func(f *param.Field, v reflect.Value) {
		if chosen, ok := v.Addr().Interface().(param.Chooser); ok {
			if chosen.Config() == nil && strings.HasSuffix(chosen.Name(), "-library") {
				if err := chosen.Choose(chosen.Name()); err != nil {
					panic("kinds: " + err.Error())
				}
			}
			if chosen.Config() != nil {
				asked = FollowLibrary(chosen.Config(), library, given) || asked
			}
			return
		}
		if f.Key != "library" {
			return
		}
		if asked = true; !given {
			v.SetString(library)
		}
	})
	return asked
}

// ways gives the channels and switches of a fabric the latencies of the machine, in whole cycles: a switch
// with a cable between switches the nearest, divided so that ways over one to four switches are off by the
// least. Latencies that the file or the topology gives stay.
func (c *Config) ways(config *fabric.Config, g *topology.Graph) {
	clock := c.Fabric.Clock
	if c.System.CableLatency+c.System.SwitchLatency == 0 || clock <= 0 {
		return
	}
	inCycles := func(t sim.Time) float64 { return float64(t) / float64(clock) }
	hop := inCycles(c.System.Spine() + c.System.SwitchLatency)
	cable := math.Max(1, math.Round(inCycles(c.System.CableLatency)))
	over := math.Round(hop) - hop // by what each further switch is off
	crossbar := math.Max(0, math.Round(inCycles(c.System.Near())-2*cable-1.5*over))
	spine := math.Max(1, math.Round(hop)-crossbar)
	toTerminals := make([]bool, len(g.Classes))
	for _, p := range g.TerminalPort {
		toTerminals[g.PortClass[p]] = true
	}
	for i, class := range g.Classes {
		if channel := config.Channels[class.Name]; channel.Latency == 0 && class.Latency <= 1 {
			channel.Latency = sim.Time(spine) * clock
			if toTerminals[i] {
				channel.Latency = sim.Time(cable) * clock
			}
			config.Channels[class.Name] = channel
		}
	}
	crossing := int(crossbar*config.Switch.Speedup) - config.Switch.RouteCycles - config.Switch.VCAllocCycles - config.Switch.SwitchAllocCycles
	config.Switch.CrossbarCycles = max(config.Switch.CrossbarCycles, crossing)
}
