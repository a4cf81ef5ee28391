// Package marking holds the policies by which the ports of switches mark packets for
// congestion, as experiment files can name them. A new one is one file. A mark travels with
// its packet, beside the state of the routing: terminals are told of it, and so are routings
// that ask.
package marking

import (
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// Env is the port that a policy is made for.
type Env struct {
	// Port is the number of the port, and Seed the seed of the run: a policy that draws has
	// a stream sim.NewStream(Seed, "its name", Port), which it archives.
	Port int
	Seed uint64
	VCs  int // of the port's channel
	// BufferFlits is what a virtual channel holds behind the channel; 0: at a terminal
	// that takes every flit.
	BufferFlits int
	InputFlits  int       // what a virtual channel holds at the inputs of the switch
	FlitBytes   sim.Bytes // payload of a flit
	Number      int       // of the port in its switch, from 1 on
}

// Leaving is a packet whose head is about to cross its switch to a port.
type Leaving struct {
	Cycle int64
	VC    int // virtual channel that it has been given
	// Waiting is the number of flits in the switch that have been routed to leave by the
	// port, on any virtual channel, and have not left; this packet's flits in the switch
	// are among them.
	Waiting int
	// InLane counts the flits of Waiting that were routed to VC, or to several VCs of which
	// it is the lowest.
	InLane int
	Flits  int // of the packet
	// Credits is the number of flit slots behind virtual channel VC that are free as far as is
	// known, or promised to flits that wait behind the crossbar for the channel: those that the
	// far end, if it stood still, could not be the cause of. This packet has taken none yet. Very
	// many at a terminal that takes every flit.
	Credits int
	Level   uint8 // of the packet
}

// Policy marks the packets that leave by one port.
type Policy interface {
	// Mark is asked once for each unicast packet, in the order in which heads cross.
	Mark(p *Leaving) bool
	// Archive writes what it remembers, or reads it into a policy of the same Env.
	Archive(a *snapshot.Archive)
}

// Registry holds every policy that experiment files can name. One that makes nil marks
// nothing.
var Registry = param.NewRegistry[Env, Policy]("marking policy")

// Choice is a setting that names a policy, whose settings stand beside it.
type Choice = param.Choice[Env, Policy]

// None is the name of the policy that marks nothing.
const None = "none"

func init() {
	param.Register(Registry, None, "no packet is marked", struct{}{}, func(struct{}, Env) (Policy, error) { return nil, nil })
}

// Named is the choice of a policy with its defaults.
func Named(name string) Choice { return param.Choose(Registry, name) }
