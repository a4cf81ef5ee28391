package shared

import (
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// holdUp counts a packet that has come in by a port, and pauses the sender if there are too
// many bytes of it in the switch (priority flow control, IEEE 802.1Qbb, with one priority).
func (n *Network) holdUp(in int32, p *Packet) {
	p.in = in
	n.held[in] += int64(p.Size)
	o := &n.out[in]
	o.DeepestInPort = max(o.DeepestInPort, n.held[in])
	if n.held[in] > int64(n.config.XOff) && !n.pausing[in] {
		n.pausing[in] = true
		n.tell(in, 1)
	}
}

// letGo counts a packet that has left its switch.
func (n *Network) letGo(p *Packet) {
	in := p.in
	p.in = -1
	n.held[in] -= int64(p.Size)
	if n.pausing[in] && n.held[in] < int64(n.config.XOn) {
		n.pausing[in] = false
		n.tell(in, 0)
	}
}

// tell sends the sender of a channel a pause frame, which takes the time of flight and no
// bandwidth.
func (n *Network) tell(in int32, stop int64) {
	sender := int32(n.graph.NumPorts())
	if t, ok := n.graph.PeerTerminal(topology.PortID(in)); ok {
		sender += int32(t)
	} else {
		peer, _ := n.graph.PeerPort(topology.PortID(in))
		sender = int32(peer)
	}
	n.kernel.After(sim.Time(n.out[sender].flight), n.id, paused, sender, stop)
}

// pause stops an output behind the packet in service, or lets it go on.
func (n *Network) pause(at int32, stop bool) {
	o := &n.out[at]
	if o.paused = stop; stop {
		o.Paused++
		o.pausedAt = int64(n.kernel.Now())
		return
	}
	o.PausedFor += int64(n.kernel.Now()) - o.pausedAt
	if o.sending == idle {
		n.begin(at, o)
	}
}
