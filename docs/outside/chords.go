package main

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// Chords holds the settings of topology "chords".
type Chords struct {
	Switches int `toml:"switches" doc:"switches on the ring, an even number" min:"4" max:"4096"`
}

func init() {
	param.Register(topology.Registry, "chords", "a ring of switches, each with a chord to the one opposite and a terminal", Chords{16}, newChords)
}

// Ports of a switch.
const (
	own = iota // its terminal
	up
	down
	across
)

type chords struct {
	graph *topology.Graph
	size  int
}

func newChords(c Chords, _ struct{}) (topology.Topology, error) {
	if c.Switches%2 != 0 {
		return nil, &param.ParamError{Key: "switches", Value: c.Switches, Want: "an even number"}
	}
	b := topology.NewBuilder(c.Switches,
		topology.Class{Name: "terminal", Latency: 1}, topology.Class{Name: "ring", Latency: 1}, topology.Class{Name: "chord", Latency: 10})
	for s := range c.Switches {
		b.AddTerminalAt(topology.SwitchID(s), own, 0)
		b.AddLinkAt(topology.SwitchID(s), up, topology.SwitchID((s+1)%c.Switches), down, 1)
		if s < c.Switches/2 {
			b.AddLinkAt(topology.SwitchID(s), across, topology.SwitchID(s+c.Switches/2), across, 2)
		}
	}
	return &chords{b.Freeze(), c.Switches}, nil
}

func (t *chords) Graph() *topology.Graph { return t.graph }

// Facts: a chord and the ring behind it lead as far as half the ring, a quarter of it at most
// from one end of a chord. The bisection has no closed form here.
func (t *chords) Facts() topology.Facts {
	return topology.Facts{Switches: t.size, Terminals: t.size, Links: t.size + t.size/2, Diameter: (t.size/2 + 1) / 2, Bisection: -1}
}
