// Package cables reads networks from lists of cables of BookSim2, Cray's tools, networkx and Slurm.
package cables

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
)

var isAnynet = input.Pattern(`^(?:\s*(?:#|//).*)*\s*(router|node)\s+\d+\s+(router|node)\s+\d`)

func init() {
	topology.RegisterFormat(topology.Format{Name: "anynet", Called: "a network of BookSim2's anynet", Doc: "a network from a file of BookSim2's anynet", Read: ReadAnynet,
		Is: func(data []byte) bool { return isAnynet().Match(data) }})
}

// anynetReader collects cables.
type anynetReader struct {
	input.Problems
	classes []topology.Class
	routers map[int]int // lines of the first mention
	nodes   map[int]located[anynetCable]
	cables  map[[2]int]int // in links, by the lower and the higher router
	order   []anynetCable
}

// anynetCable joins router a to router b, or a node to router a.
type anynetCable struct{ a, b, cycles, back int }

// ReadAnynet reads any network, from a file of BookSim2's topology of that
// name. A line is of a router or a node, and lists what it is joined to, each with the cycles of
// the channel behind it, 1 unless given:
//
//	router 0 node 0 node 1 5 router 1 15
//	router 1 node 2
//
// Lines that begin with # or // are comments, which BookSim2 does not read. (BookSim2, src/networks/anynet.cpp: a channel that one end lists leads both ways.) Where both ends give
// cycles that differ, the cable has the larger, since weft's are alike both ways. Nodes and
// routers are numbered from 0 without gaps; every node has one router. Ports: nodes by their
// number, then cables in the order of the file. Channels of more than a cycle have the class cycles-N.
func ReadAnynet(name string, data []byte) (topology.Topology, error) {
	if err := topology.CheckForeign(name, data); err != nil {
		return nil, err
	}
	r := &anynetReader{Problems: input.Problems{Name: name}, routers: map[int]int{}, nodes: map[int]located[anynetCable]{}, cables: map[[2]int]int{}}
	line := 0
	for text := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		line++
		if text = strings.TrimSpace(text); !strings.HasPrefix(text, "#") && !strings.HasPrefix(text, "//") {
			r.read(line, strings.Fields(text))
		}
	}
	return r.network()
}

func (r *anynetReader) read(line int, words []string) {
	var head [2]int // 1 of a node, and its number
	for first := true; len(words) > 0; first = false {
		if len(words) < 2 || words[0] != "router" && words[0] != "node" {
			r.ProblemAt(line, "%s: want router or node and its number", input.Quote(strings.Join(words[:min(2, len(words))], " ")))
			return
		}
		n, err := strconv.Atoi(words[1])
		if err != nil || n < 0 || n > mostCables {
			r.ProblemAt(line, "%s %s: want a number, 0 to %d", words[0], input.Quote(words[1]), mostCables)
			return
		}
		at := [2]int{0, n}
		if words[0] == "node" {
			at[0] = 1
		}
		words = words[2:]
		if at[0] == 0 && r.routers[n] == 0 {
			r.routers[n] = line
		}
		if first {
			head = at
			continue
		}
		cycles := 1
		if len(words) > 0 && number(words[0]) {
			if cycles, err = strconv.Atoi(words[0]); err != nil || cycles < 1 || cycles > 1<<20 {
				r.ProblemAt(line, "%s cycles of a channel: want 1 to %d", input.Quote(words[0]), 1<<20)
				return
			}
			words = words[1:]
		}
		r.join(line, head, at, cycles)
	}
}

func (r *anynetReader) join(line int, from, to [2]int, cycles int) {
	switch {
	case from[0]+to[0] == 2:
		r.ProblemAt(line, "node %d is joined to node %d: want a router at one end", from[1], to[1])
	case from[0]+to[0] == 1:
		node, router := from[1], to[1]
		if to[0] == 1 {
			node, router = router, node
		}
		c, twice := r.nodes[node]
		if twice && c.value.a != router {
			r.ProblemAt(line, "node %d is joined to router %d; by line %d it is to router %d", node, router, c.line, c.value.a)
			return
		}
		r.nodes[node] = located[anynetCable]{line, anynetCable{a: router, cycles: max(cycles, c.value.cycles)}}
	case from[1] == to[1]:
		r.ProblemAt(line, "router %d is joined to itself", from[1])
	default:
		pair := [2]int{min(from[1], to[1]), max(from[1], to[1])}
		i, known := r.cables[pair]
		if !known {
			r.cables[pair] = len(r.order)
			r.order = append(r.order, anynetCable{a: from[1], b: to[1], cycles: cycles})
			return
		}
		if c := &r.order[i]; c.a == from[1] {
			c.cycles = cycles // BookSim2 keeps the last
		} else {
			c.back = cycles
		}
	}
}

func (r *anynetReader) network() (topology.Topology, error) {
	lines := make([]int, len(r.routers))
	for n := range lines {
		if lines[n] = r.routers[n]; lines[n] == 0 {
			r.ProblemAt(1, "none of %d routers has number %d: want numbers from 0 without gaps", len(lines), n)
			return nil, r.Err()
		}
	}
	b := topology.NewBuilder(len(lines))
	for n := range len(r.nodes) {
		c, ok := r.nodes[n]
		if !ok {
			r.ProblemAt(1, "none of %d nodes has number %d: want numbers from 0 without gaps", len(r.nodes), n)
			return nil, r.Err()
		}
		b.AddTerminal(topology.SwitchID(c.value.a), r.channel("terminal", c.value.cycles))
	}
	uneven, doubts := 0, []string(nil)
	for _, c := range r.order {
		if max(c.back, 1) != c.cycles { // a way that the file does not give takes BookSim2 a cycle
			uneven++
		}
		b.AddLink(topology.SwitchID(c.a), topology.SwitchID(c.b), r.channel("link", max(c.cycles, c.back)))
	}
	if uneven > 0 {
		doubts = append(doubts, fmt.Sprintf("%s: %d cables have other cycles one way than the other: taken as the larger", r.Name, uneven))
	}
	return finish(&r.Problems, b, network{r.classes, nil, lines, doubts})
}

// channel is the class of channels of so many cycles.
func (r *anynetReader) channel(name string, cycles int) topology.ClassID {
	if name == "link" && cycles > 1 {
		name = "cycles-" + strconv.Itoa(cycles)
	} else if cycles > 1 {
		name += "-" + strconv.Itoa(cycles)
	}
	i := slices.IndexFunc(r.classes, func(c topology.Class) bool { return c.Name == name })
	if i < 0 && len(r.classes) == topology.MaxClasses {
		r.ProblemAt(1, "more than %d classes", topology.MaxClasses)
		i = 0
	} else if i < 0 {
		i = len(r.classes)
		r.classes = append(r.classes, topology.Class{Name: name, Latency: cycles})
	}
	return topology.ClassID(i)
}

// located is something that stands in a line of a file.
type located[E any] struct {
	line  int
	value E
}

// network is what a file says of a network beside its cables.
type network struct {
	classes []topology.Class
	names   *topology.Names // nil: none
	lines   []int           // of the switches
	doubts  []string
}

// finish is the network that has been built, if nothing was wrong with its file and all of it is connected.
func finish(p *input.Problems, b *topology.Builder, n network) (topology.Topology, error) {
	if p.Any() {
		return nil, p.Err()
	}
	g := b.Freeze()
	g.Classes = n.classes
	if n.names != nil {
		g.SetNames(n.names)
	}
	if g.Switches() == 0 || g.Terminals() == 0 {
		p.ProblemAt(1, "%d switches and %d terminals: want at least one of each", g.Switches(), g.Terminals())
	} else if lost, err := g.CheckReach(); err != nil {
		p.ProblemAt(n.lines[lost], "%v", err)
	}
	if p.Any() {
		return nil, p.Err()
	}
	return topology.NewFileNetwork(g, n.doubts...), nil
}
