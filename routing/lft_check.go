package routing

import (
	"errors"
	"fmt"
	"strings"

	"github.com/weft-sim/weft/fabric/arbitration"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/ib"
)

// checked refuses tables that do not lead every packet to its destination, and
// finds the lanes in use. name is what messages call the tables.
func (r *lft) checked(name string, env Env) (*lft, error) {
	c := lftCheck{lft: r, name: name, state: make([]reachState, r.graph.Switches())}
	for dst := range topology.TerminalID(r.graph.Terminals()) {
		c.reach(dst)
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	c.seen = make([]uint32, r.graph.NumPorts()*ib.ServiceLevels)
	for dst := range topology.TerminalID(r.graph.Terminals()) {
		c.lanesTo(dst)
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	return r, CheckVCs("lft", r.vcs, env)
}

// maxNamed bounds the messages about pairs and circles.
const maxNamed = 10

// reachState is what is known of the way from a switch to the destination at hand.
type reachState uint8

const (
	unknownWay reachState = iota
	onTheWay
	arrives
	endsEarly
	goesRound
)

type lftCheck struct {
	*lft
	name     string
	state    []reachState // len = switches
	seen     []uint32     // len = ports*levels: 1 + the last destination that came by
	path     []topology.SwitchID
	pairs    int // without a path
	circles  map[string]bool
	stuck    map[string]bool // told
	problems []error
}

// reach follows the tables to a terminal from all switches with terminals.
func (c *lftCheck) reach(dst topology.TerminalID) {
	clear(c.state)
	for src := range topology.TerminalID(c.graph.Terminals()) {
		if src == dst {
			continue
		}
		switch from := c.graph.TerminalSwitch(src); c.follow(from, dst) {
		case endsEarly:
			c.pairs++
			if c.pairs <= maxNamed {
				last := c.path[len(c.path)-1]
				where := c.graph.SwitchName(last)
				if last == from {
					where = "its switch " + where
				}
				c.problem(last, dst, "%s cannot reach %s: %s has no entry for it, or one for another host's port", c.graph.TerminalName(src), c.graph.TerminalName(dst), where)
			}
		case goesRound:
			c.pairs++
		}
	}
}

// follow walks from a switch to dst and says how the way ends; path holds the
// switches, up to the end or to the first one met twice.
func (c *lftCheck) follow(s topology.SwitchID, dst topology.TerminalID) reachState {
	c.path = c.path[:0]
	end := unknownWay
	for end == unknownWay {
		c.path = append(c.path, s)
		switch c.state[s] {
		case unknownWay:
			c.state[s] = onTheWay
		case onTheWay:
			c.circle(s, dst)
			end = goesRound
			continue
		case endsEarly:
			end = endsEarly
			if port := c.tables.ToTerminal(s, dst); port != topology.NoPort {
				if peer, ok := c.graph.PeerPort(port); ok { // on to the one that ends it
					s, end = c.graph.PortSwitch[peer], unknownWay
				}
			}
			continue
		default:
			end = c.state[s]
			continue
		}
		port := c.tables.ToTerminal(s, dst)
		if port == topology.NoPort {
			end = endsEarly
		} else if peer, ok := c.graph.PeerPort(port); ok {
			s = c.graph.PortSwitch[peer]
		} else if t, _ := c.graph.PeerTerminal(port); t == dst {
			end = arrives
		} else {
			end = endsEarly
		}
	}
	for _, s := range c.path {
		c.state[s] = end
	}
	return end
}

// circle names the circle that ends path, once for all destinations.
func (c *lftCheck) circle(s topology.SwitchID, dst topology.TerminalID) {
	from := len(c.path) - 2
	for c.path[from] != s {
		from--
	}
	loop := c.path[from : len(c.path)-1]
	first := 0 // the circle is the same wherever one enters it
	for i, x := range loop {
		if x < loop[first] {
			first = i
		}
	}
	var ports []string
	for i := range loop {
		ports = append(ports, c.graph.PortName(c.tables.ToTerminal(loop[(first+i)%len(loop)], dst)))
	}
	text := strings.Join(ports, ", ")
	if c.circles == nil {
		c.circles = map[string]bool{}
	}
	if !c.circles[text] {
		c.circles[text] = true
		if len(c.circles) <= maxNamed {
			c.problem(loop[first], dst, "packets for %s go round in a circle: %s", c.graph.TerminalName(dst), text)
		}
	}
}

// lanesTo follows the packets of all sources to dst and notes their lanes.
func (c *lftCheck) lanesTo(dst topology.TerminalID) {
	for src := range topology.TerminalID(c.graph.Terminals()) {
		level := c.levelOf(src, dst)
		in := c.graph.TerminalPort[src]
		lane := c.lanes.Host(src).Lane(level)
		c.inject |= 1 << lane
		if lane == ib.DropLane {
			c.dropped(src, dst, level, "its adapter")
			continue
		}
		c.vcs = max(c.vcs, lane+1)
		if c.arbitration != nil {
			c.turn(c.arbitration.Terminals[src], lane, c.graph.TerminalName(src))
		}
		for src != dst {
			if mark := &c.seen[int(in)*ib.ServiceLevels+level]; *mark == uint32(dst)+1 {
				break // others of this level came this way
			} else {
				*mark = uint32(dst) + 1
			}
			port, lane := c.hop(c.graph.PortSwitch[in], in, dst, level)
			if lane == ib.DropLane {
				c.dropped(src, dst, level, "the SL2VL table from "+c.graph.PortName(in)+" to "+c.graph.PortName(port))
				break
			}
			c.vcs = max(c.vcs, lane+1)
			if c.arbitration != nil {
				c.turn(c.arbitration.Ports[port], lane, c.graph.PortName(port))
			}
			peer, ok := c.graph.PeerPort(port)
			if !ok {
				break
			}
			in = peer
		}
	}
}

// turn refuses arbitration tables of a place that never let packets of a lane go.
func (c *lftCheck) turn(tables *arbitration.Tables, lane int, where string) {
	if tables == nil || tables.Lanes()>>lane&1 != 0 {
		return
	}
	c.pairs++
	text := fmt.Sprintf("packets wait for ever at %s: its arbitration tables give lane %d no turn", where, lane)
	if !c.stuck[text] && len(c.stuck) < maxNamed {
		if c.stuck == nil {
			c.stuck = map[string]bool{}
		}
		c.stuck[text] = true
		c.problems = append(c.problems, fmt.Errorf("%s: %s", c.name, text))
	}
}

func (c *lftCheck) dropped(src, dst topology.TerminalID, level int, where string) {
	if c.pairs++; c.pairs <= maxNamed {
		c.problems = append(c.problems, fmt.Errorf("%s: packets from %s to %s, of service level %d, are dropped: %s gives them lane %d", c.name, c.graph.TerminalName(src), c.graph.TerminalName(dst), level, where, ib.DropLane))
	}
}

// problem is about the entry, or the lack of one, for dst at s.
func (c *lftCheck) problem(s topology.SwitchID, dst topology.TerminalID, format string, args ...any) {
	at := c.name
	if line := c.tables.Line(s, dst); line > 0 {
		at = fmt.Sprintf("%s:%d", at, line)
	}
	c.problems = append(c.problems, fmt.Errorf("%s: "+format, append([]any{at}, args...)...))
}

// err is everything found, with how much there is of it.
func (c *lftCheck) err() error {
	if c.pairs == 0 {
		return nil
	}
	n := c.graph.Terminals()
	c.problems = append(c.problems, fmt.Errorf("%s: %d of %d pairs of terminals have no way", c.name, c.pairs, n*(n-1)))
	return errors.Join(c.problems...)
}
