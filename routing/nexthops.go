package routing

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// mostProblems bounds the problems of a file that are listed.
const mostProblems = 20

// readNextHops reads a routing table: a line for each switch r, in it for each
// switch d the number of the switch that comes after r on the way to d, -1 for r
// itself. Lines that begin with # are left aside. The result is next[r*n+d].
func readNextHops(name string, data []byte, switches int) ([]int32, error) {
	next := make([]int32, 0, switches*switches)
	var problems []error
	problem := func(line int, format string, args ...any) {
		if len(problems) < mostProblems {
			problems = append(problems, fmt.Errorf("%s:%d: %s", name, line, fmt.Sprintf(format, args...)))
		}
	}
	rows, line := 0, 0
	lines := bufio.NewScanner(input.Text(bytes.NewReader(data)))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		line++
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		if rows++; rows > switches {
			continue
		}
		fields := strings.Fields(text)
		if len(fields) != switches {
			problem(line, "%d columns, want %d, one for each switch", len(fields), switches)
			continue
		}
		for d, field := range fields {
			n, err := strconv.ParseInt(field, 10, 32)
			if err != nil || n < -1 || int(n) >= switches {
				problem(line, "column %d: %q, want a switch, 0 to %d, or -1", d+1, input.Printable(field), switches-1)
			}
			next = append(next, int32(n))
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if rows != switches && len(problems) == 0 {
		problem(line, "%d rows, want %d, one for each switch", rows, switches)
	}
	return next, errors.Join(problems...)
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
	var problems []error
	problem := func(from, to topology.SwitchID, what string) {
		if len(problems) < mostProblems {
			problems = append(problems, fmt.Errorf("%s: from switch %d to switch %d %s", name, from, to, what))
		}
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
					return errors.Join(problems...)
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
	return errors.Join(problems...)
}
