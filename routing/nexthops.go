package routing

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// readNextHops reads a routing table: a line for each switch r, in it for each
// switch d the number of the switch that comes after r on the way to d, -1 for r
// itself. What follows # is a comment. The result is next[r*n+d].
func readNextHops(name string, data []byte, switches int) ([]int32, error) {
	next := make([]int32, 0, switches*switches)
	in := input.NewLines(bytes.NewReader(data), name)
	rows := 0
	for fields := in.NextWords(); fields != nil; fields = in.NextWords() {
		if rows++; rows > switches {
			continue
		}
		if len(fields) != switches {
			in.Problem("%d columns, want %d, one for each switch", len(fields), switches)
			continue
		}
		for d, field := range fields {
			n, err := strconv.ParseInt(field, 10, 32)
			if err != nil || n < -1 || int(n) >= switches {
				in.Problem("column %d: %q, want a switch, 0 to %d, or -1", d+1, input.Printable(field), switches-1)
			}
			next = append(next, int32(n))
		}
	}
	if err := in.Finish(); err != nil {
		return nil, err
	}
	if rows != switches {
		in.Problem("%d rows, want %d, one for each switch", rows, switches)
	}
	return next, in.Err()
}

// follow makes the tables from the file of next hops. sample is a terminal of each
// leaf.
func (p *hopPaths) follow(sample []topology.TerminalID, lengths bool) error {
	name, n := p.NextHops, p.graph.Switches()
	if err := input.CheckMemory("next_hops", name, "a table of so many switches", 8*float64(n)*float64(n)); err != nil {
		return err
	}
	data, err := input.ReadInput(name, input.MaxInput)
	if err != nil {
		return &param.ParamError{Key: "next_hops", Value: name, Want: "a readable file: " + err.Error()}
	}
	next, err := readNextHops(name, data, n)
	if err != nil {
		return err
	}
	if lengths {
		p.length = make([]uint8, n*p.leaves)
	}
	if err := p.measure(name, next, sample); err != nil {
		return err
	}
	p.fill(func(s topology.SwitchID, masks []byte, width int) {
		for leaf, t := range sample {
			to := next[int(s)*n+int(p.home[t])]
			if to < 0 {
				continue
			}
			first, end := p.graph.Ports(s)
			for port := first; port < end; port++ {
				if peer, ok := p.graph.PeerPort(port); ok && p.graph.PortSwitch[peer] == topology.SwitchID(to) {
					masks[leaf*width+int(port-first)/8] |= 1 << (int(port-first) % 8)
				}
			}
		}
	})
	return nil
}

// measure follows the paths of a table to every leaf: each must be made of cables
// and end there. It notes the longest between leaves, and the lengths where these
// are kept.
func (p *hopPaths) measure(name string, next []int32, sample []topology.TerminalID) error {
	const unknown, underWay = -1, -2
	problems := input.Problems{Name: name}
	problem := func(from, to topology.SwitchID, what string) {
		problems.Add(fmt.Errorf("%s: from switch %d to switch %d %s", name, from, to, what))
	}
	n := p.graph.Switches()
	neighbors := p.graph.Neighbors()
	joined := make([]map[topology.SwitchID]bool, n)
	for s := range joined {
		joined[s] = map[topology.SwitchID]bool{}
		for _, t := range neighbors.Of(topology.SwitchID(s)) {
			joined[s][t] = true
		}
	}
	hops := make([]int32, n)
	var path []topology.SwitchID
	for leaf, t := range sample {
		if problems.Full() {
			break
		}
		end := p.home[t]
		for s := range hops {
			hops[s] = unknown
		}
		hops[end] = 0
		for s := range topology.SwitchID(n) {
			path = path[:0]
			at := s
			for hops[at] == unknown {
				hops[at] = underWay
				path = append(path, at)
				to := topology.SwitchID(next[int(at)*n+int(end)])
				if to < 0 || !joined[at][to] {
					problem(at, end, fmt.Sprintf("comes %d, which no cable leads to", to))
					return problems.Err()
				}
				at = to
			}
			if hops[at] == underWay {
				problem(s, end, "the path goes round in circles")
				hops[at] = 0
			}
			for i := len(path) - 1; i >= 0; i-- {
				hops[path[i]] = hops[at] + int32(len(path)-i)
			}
		}
		for s, h := range hops {
			if p.leaf[s] >= 0 {
				p.hops = max(p.hops, int(h))
			}
			if h > maxLength {
				problem(topology.SwitchID(s), end, fmt.Sprintf("the path has %d hops, want at most %d", h, maxLength))
			} else if p.length != nil {
				p.length[s*p.leaves+leaf] = uint8(h)
			}
		}
	}
	return problems.Err()
}
