package shared

import "github.com/weft-sim/weft/fabric/topology"

// Alone is the time that a message takes in the empty network, in ps: from its start until the
// answer to its last packet is back. It is of packets full packets but the last, of last bytes on
// the wire; the answer is of header bytes. All packets take the same path.
func (n *Network) Alone(src, dst topology.TerminalID, packets int64, last, header int64) int64 {
	path := []*output{&n.out[n.graph.NumPorts()+int(src)]}
	for at := path[0].to; at >= 0; {
		s := n.graph.PortSwitch[at]
		port := n.graph.TerminalPort[dst]
		if to := n.graph.TerminalSwitch(dst); to != s {
			port = n.routes.sets[n.routes.set[int(s)*n.routes.width+int(n.routes.leaf[to])]].ports[0]
		}
		o := &n.out[port]
		path = append(path, o)
		at = o.to
	}
	// Of n equal packets the last leaves output i when the first does, and n-1 of the slowest
	// outputs up to it take later.
	first, slowest, end, back := int64(0), int64(0), int64(0), int64(0)
	for _, o := range path {
		first += n.timing.Packet * o.psPerByte
		slowest = max(slowest, n.timing.Packet*o.psPerByte)
		if packets > 1 {
			end = max(end, first+(packets-2)*slowest)
		}
		end += last * o.psPerByte
		first, end = first+o.latency, end+o.latency
		back += header*o.psPerByte + o.latency
	}
	return end + back
}
