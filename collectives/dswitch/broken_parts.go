package dswitch

import "github.com/weft-sim/weft/fabric/topology"

// Fault names one failed part of a distributed full switch.
type Fault struct {
	Kind FaultKind
	// Stage is 1..k for units and channels (1: next to the processors); it
	// means nothing for spine switches. A unit of stage 1 is a processor.
	Stage int
	// Index is the unit of the stage, the spine switch, or for a channel the
	// unit that it leads away from.
	Index int
	// Port is the port 0..m-1 of the unit at which the channel starts. A
	// channel fails in both directions.
	Port int
}

// FaultKind tells what failed.
type FaultKind uint8

const (
	UnitFault    FaultKind = iota // a splitter/joiner pair, or a processor
	SwitchFault                   // a spine switch
	ChannelFault                  // the cable away from a unit's port
)

// Faults lists every part of s that can fail, in a fixed order: units, spine
// switches, channels.
func Faults(s *topology.DistributedSwitch) []Fault {
	var all []Fault
	for stage := 1; stage <= s.Cascades(); stage++ {
		for u := range s.Units(stage) {
			all = append(all, Fault{Kind: UnitFault, Stage: stage, Index: u})
		}
	}
	for b := range s.Copies(0) {
		all = append(all, Fault{Kind: SwitchFault, Index: b})
	}
	for stage := 1; stage <= s.Cascades(); stage++ {
		for u := range s.Units(stage) {
			for j := range s.Radix() {
				all = append(all, Fault{Kind: ChannelFault, Stage: stage, Index: u, Port: j})
			}
		}
	}
	return all
}

// sessionFaults marks failed parts; nil means none.
type sessionFaults struct {
	unit, cable [][]bool // by stage from 0: per unit; per unit*m+j
	spine       []bool   // per switch
}

func (f *sessionFaults) unitDead(stage, unit int) bool { return f != nil && f.unit[stage][unit] }
func (f *sessionFaults) switchDead(b int) bool         { return f != nil && f.spine[b] }
func (f *sessionFaults) cableDead(stage, port int) bool {
	return f != nil && f.cable[stage][port]
}

// Fail switches off exactly the given parts; none repairs everything.
func (n *SessionNetwork) Fail(faults ...Fault) {
	n.faults = nil
	if len(faults) == 0 {
		return
	}
	f := &sessionFaults{unit: make([][]bool, n.k), cable: make([][]bool, n.k), spine: make([]bool, n.sw.Copies(0))}
	for s := range n.k {
		f.cable[s] = make([]bool, len(n.up[s]))
		f.unit[s] = make([]bool, len(n.up[s])/n.m)
	}
	for _, x := range faults {
		switch x.Kind {
		case UnitFault:
			f.unit[x.Stage-1][x.Index] = true
		case SwitchFault:
			f.spine[x.Index] = true
		case ChannelFault:
			f.cable[x.Stage-1][x.Index*n.m+x.Port] = true
		}
	}
	n.faults = f
}
