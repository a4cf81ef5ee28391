package observe

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/lists"
)

// Links is what measured packets spent on each channel and waiting for it: by port, then terminal
// (len = ports+terminals). Read only.
func (b *Blame) Links() []core.Parts {
	b.Gather()
	if b.underWay() == 0 {
		b.compare()
	}
	return b.links
}

// underWay is the number of measured packets whose last flit is in the network.
func (b *Blame) underWay() int64 { return lists.Sum(b.parts, func(p *Blame) int64 { return p.under }) }

// compare checks, while no packet is under way, that channels and packets say the same.
func (b *Blame) compare() {
	links, packets := core.Parts{}, b.Classes[0]
	packets.Add(&b.Classes[1])
	for i := range b.links {
		links.Add(&b.links[i])
	}
	if links != packets {
		panic(fmt.Sprintf("core: the channels' parts are %v, the packets' %v", links, packets))
	}
}

// Add adds the sums of another run on the same network.
func (b *Blame) Add(other *Blame) {
	links := b.Links()
	for i, p := range other.Links() {
		links[i].Add(&p)
	}
	for i := range b.Classes {
		b.Packets[i] += other.Packets[i]
		b.Classes[i].Add(&other.Classes[i])
	}
	for i := range other.Levels {
		b.Levels[i].add(&other.Levels[i])
	}
	for i, x := range other.pairs {
		b.pairs[i] += x
	}
	b.under += other.underWay()
}

// row is what measured packets behind an input port waited for, by output, and the sum.
func (b *Blame) row(in topology.PortID) ([]int64, int64) {
	first, end := b.graph.Ports(b.graph.PortSwitch[in])
	start := int(b.pairRow[in])
	row := b.pairs[start : start+int(end-first)]
	return row, lists.Total(row)
}

// farEnd is the input port that channel i, as in Links, leads to.
func (b *Blame) farEnd(i int) (topology.PortID, bool) {
	if ports := b.graph.NumPorts(); i >= ports {
		return b.graph.TerminalPort[i-ports], true
	}
	return b.graph.PeerPort(topology.PortID(i))
}

// rootRounds bounds how far a credit stall is followed; the rest, in a cycle of full buffers,
// stays.
const rootRounds = 64

// Roots divides all waiting in the network, in packet-cycles, among the channels (len = len(Links))
// at which it has its root. A wait for a channel's credit is a wait for flits behind the crossbar,
// on the channel, and in the buffer at its far end, in proportion to the time spent there. The last
// wait for the outputs that their queues' fronts wait for, and so on, to channels that are waited
// for on their own account: contended for, busy, too long for their buffers, or to a destination
// that takes no more.
func (b *Blame) Roots() []float64 {
	links := b.Links()
	roots, stalled := make([]float64, len(links)), make([]float64, len(links))
	for i := range links {
		stalled[i] = float64(links[i][core.PartCredit])
		roots[i] = float64(links[i].Waiting()) - stalled[i]
	}
	for range rootRounds {
		next := make([]float64, len(stalled))
		for i, x := range stalled {
			if x == 0 {
				continue
			}
			in, ok := b.farEnd(i)
			if !ok {
				roots[i] += x
				continue
			}
			row, sum := b.row(in)
			own := links[i][core.PartSerial] + links[i][core.PartWire]
			total := float64(sum + own)
			roots[i] += x * float64(own) / total
			first, _ := b.graph.Ports(b.graph.PortSwitch[in])
			for k, y := range row {
				if y == 0 {
					continue
				}
				out := int(first) + k
				part := x * float64(y) / total
				onward := 0.0 // a channel may have been waited for while routes were computed only
				if waiting := links[out].Waiting(); waiting > 0 {
					onward = float64(links[out][core.PartCredit]) / float64(waiting)
				}
				roots[out] += part * (1 - onward)
				next[out] += part * onward
			}
		}
		stalled = next
	}
	for i, x := range stalled {
		roots[i] += x
	}
	return roots
}

// Branch is a channel whose credit stalls come from another one downstream.
type Branch struct {
	Channel int     // as in Blame.Links
	Stalled float64 // packet-cycles that waited for its credits because of the channel downstream
}

// Upstream lists the channels whose far ends are held up by output port out, most first.
func (b *Blame) Upstream(out topology.PortID) []Branch {
	var all []Branch
	links := b.Links()
	first, end := b.graph.Ports(b.graph.PortSwitch[out])
	for in := first; in < end; in++ {
		channel := 0
		if peer, ok := b.graph.PeerPort(in); ok {
			channel = int(peer)
		} else if t, ok := b.graph.PeerTerminal(in); ok {
			channel = b.graph.NumPorts() + int(t)
		}
		row, sum := b.row(in)
		if x := row[out-first]; x > 0 && links[channel][core.PartCredit] > 0 {
			all = append(all, Branch{channel, float64(links[channel][core.PartCredit]) * float64(x) / float64(sum+links[channel][core.PartSerial]+links[channel][core.PartWire])})
		}
	}
	slices.SortStableFunc(all, func(a, b Branch) int { return cmp.Compare(b.Stalled, a.Stalled) })
	return all
}
