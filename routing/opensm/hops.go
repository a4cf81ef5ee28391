package opensm

import (
	"fmt"
)

// noPath is the hop count, and the port, of what cannot be reached.
const noPath = 255

// breadth is a search for the fewest hops from some nodes, and its result.
type breadth struct {
	s     *Subnet
	hops  []int32 // by node, -1 where no path leads
	queue []int32 // the nodes reached, nearest first; neighbours in port order
}

// from searches from the given nodes; within, unless nil, marks the nodes that paths may
// pass.
func (b *breadth) from(within []bool, sources ...int32) {
	if b.hops == nil {
		b.hops = make([]int32, b.s.nodes())
	}
	for n := range b.hops {
		b.hops[n] = -1
	}
	b.queue = append(b.queue[:0], sources...)
	for _, n := range sources {
		b.hops[n] = 0
	}
	for head := 0; head < len(b.queue); head++ {
		n := b.queue[head]
		for _, l := range b.s.links(n) {
			if b.hops[l.Peer] < 0 && (within == nil || within[l.Peer]) {
				b.hops[l.Peer] = b.hops[n] + 1
				b.queue = append(b.queue, l.Peer)
			}
		}
	}
}

// row lists the hops in a byte each, noPath where no path of fewer than 255 leads.
func (b *breadth) row(row []uint8) []uint8 {
	for n, hops := range b.hops {
		row[n] = uint8(min(uint32(hops), noPath))
	}
	return row
}

// ranks are the distances from the nearest of some switches; 255 where no path leads.
func (s *Subnet) ranks(from []int32) []uint8 {
	b := breadth{s: s}
	b.from(nil, from...)
	return b.row(make([]uint8, s.nodes()))
}

// distances lists the hops between switches: [to*n+from], 255 where there is no
// path. Networks with paths of 255 hops are an error.
func (s *Subnet) distances() ([]uint8, error) {
	n := len(s.Switches)
	all := make([]uint8, n*n)
	b := breadth{s: s}
	for to := range s.nodes() {
		b.from(nil, to)
		for _, at := range b.queue {
			if b.hops[at] >= noPath {
				return nil, fmt.Errorf("a shortest path of %d hops: min-hop tables hold at most %d", b.hops[at], noPath-1)
			}
		}
		b.row(all[int(to)*n:][:n])
	}
	return all, nil
}

// hopMatrix holds hop counts by link and destination: hops[l*n+d] is the number
// of hops from the switch that link l starts at to node d by that link, 255 where
// it must not be taken.
type hopMatrix struct {
	n    int
	hops []uint8
}

// minHops is the matrix of all shortest paths and detours: by each link one hop
// more than its far end has.
func (s *Subnet) minHops() (hopMatrix, error) {
	distance, err := s.distances()
	if err != nil {
		return hopMatrix{}, err
	}
	n := len(s.Switches)
	m := hopMatrix{n, make([]uint8, len(s.Links)*n)}
	for l, link := range s.Links {
		// Distances are the same both ways.
		for d, hops := range distance[int(link.Peer)*n:][:n] {
			m.hops[l*n+d] = byOneMore(hops)
		}
	}
	return m, nil
}

// byOneMore is the hop count by a link to where it is another.
func byOneMore(hops uint8) uint8 {
	if hops < noPath-1 {
		return hops + 1
	}
	return noPath
}
