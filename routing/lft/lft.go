// Package lft routes as InfiniBand's switches were told: by forwarding tables, service levels and SL2VL
// tables from files. It is the form in which other routings are written as tables.
package lft

import (
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/arbitration"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/ib"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// Config holds the settings of routing "lft".
type Config struct {
	Tables string `toml:"tables" doc:"file of the switches' forwarding tables: opensm-lfts.dump, dump_lfts, .fdbs, or weft's own"`
	Level  int    `toml:"service_level" doc:"of all packets, where no file gives their service levels" min:"0" max:"15"`
	Levels string `toml:"service_levels" doc:"file of the service levels of all pairs of hosts: ibdiagnet's .psl, OpenSM's path SLs, or weft's own"`
	Lanes  []int  `toml:"lanes" doc:"virtual lane of each of the 16 service levels at all ports, where no file gives them; none: 0 to 14, and 7 for level 15" min:"0" max:"15"`
	SL2VL  string `toml:"sl2vl" doc:"file of the SL2VL tables of all ports: opensm-sl2vl.dump, ibdiagnet's .slvl, smpquery sl2vl, or weft's own"`
	VLArb  string `toml:"vlarb" doc:"file of the VL arbitration tables of ports, in place of switch.vlarb_high, terminal.vlarb_high and the like: smpquery vlarb, and portinfo for the limit"`
}

func init() {
	routing.RegisterTables(form)
	routing.Register("lft", "what InfiniBand's switches were told: forwarding tables, service levels and SL2VL tables from files", routing.Use{}, Config{}, func(c Config, env routing.Env) (fabric.Routing, error) {
		return routing.Once(env, fmt.Sprintf("lft %+v %d %v", c, env.VCs, env.AllowDeadlock), func() (fabric.Routing, error) { return newLFT(c, env) })
	})
}

var _ topology.PathConfig = (*Config)(nil)

// RelativeTo implements [topology.PathConfig].
func (c *Config) RelativeTo(dir string) {
	for _, path := range []*string{&c.Tables, &c.Levels, &c.SL2VL, &c.VLArb} {
		*path = input.In(dir, *path)
	}
}

// Files implements [topology.PathConfig].
func (c *Config) Files() []string {
	return slices.DeleteFunc([]string{c.Tables, c.Levels, c.SL2VL, c.VLArb}, func(path string) bool { return path == "" })
}

func (c *Config) Validate() error {
	switch {
	case c.Tables == "":
		return &param.ParamError{Key: "tables", Value: `""`, Want: "the path of a file of forwarding tables"}
	case c.Levels != "" && c.Level != 0:
		return &param.ParamError{Key: "service_level", Value: c.Level, Want: "it left out: service_levels gives them"}
	case c.SL2VL != "" && len(c.Lanes) > 0:
		return &param.ParamError{Key: "lanes", Value: c.Lanes, Want: "it left out: sl2vl gives them"}
	case len(c.Lanes) > 0:
		if _, err := ib.NewLanes(c.Lanes); err != nil {
			return &param.ParamError{Key: "lanes", Value: c.Lanes, Want: fmt.Sprintf("%d lanes of 0 to %d, one for each service level", ib.ServiceLevels, ib.DropLane)}
		}
	}
	return nil
}

// lft forwards packets as the linear forwarding tables of an InfiniBand subnet say (InfiniBand
// Architecture Specification, volume 1, 18.2.4.3.1): the port by destination alone, of its lowest
// LID. A packet has the service level of its pair from the source on; on each channel it takes the
// virtual lane that the SL2VL table of the ports that it passes between gives its level (7.6.6),
// and the adapter's own on the first. Lane n is virtual channel n.
//
// Deadlock: whatever the tables lead to; the certificate tells. With fewer virtual
// channels than lanes in use, where that is allowed, the highest lanes share one.
//
// Tables that leave a pair of terminals without a path, or lead packets round in a
// circle, are refused, the pairs and circles named; so are lanes that drop a
// packet on its way. Cost: every pair is followed once.
type lft struct {
	graph  *topology.Graph
	tables *ib.LFTs
	lanes  *ib.SL2VL
	levels *ib.PathLevels // nil: level for all
	level  int
	vcs    int    // highest lane in use, and one
	inject uint32 // lanes by which terminals inject

	arbitration *ib.VLArbitration // nil: none
}

func (r *lft) ArbitratesLanes() bool { return r.arbitration != nil }

func (r *lft) ArbitrationTables(p topology.PortID) *arbitration.Tables { return r.arbitration.Ports[p] }

func (r *lft) ArbitratesTerminals() bool { return r.arbitration != nil }

func (r *lft) TerminalTables(t topology.TerminalID) *arbitration.Tables {
	return r.arbitration.Terminals[t]
}

func (r *lft) Level(src, dst topology.TerminalID) int { return r.levelOf(src, dst) }

// lftStarted marks in Head.State that the low bits hold the service level.
const lftStarted uint32 = 1 << 4

func newLFT(c Config, env routing.Env) (fabric.Routing, error) {
	g := env.Topology.Graph()
	r := &lft{graph: g, level: c.Level}
	var err error
	if r.tables, err = readTable("tables", c.Tables, func(in io.Reader) (*ib.LFTs, error) { return ib.ReadLFTs(in, c.Tables, g) }); err != nil {
		return nil, err
	}
	if r.levels, err = readTable("service_levels", c.Levels, func(in io.Reader) (*ib.PathLevels, error) {
		return ib.ReadPathLevels(in, c.Levels, g, r.tables.LIDs())
	}); err != nil {
		return nil, err
	}
	switch {
	case c.SL2VL != "":
		r.lanes, err = readTable("sl2vl", c.SL2VL, func(in io.Reader) (*ib.SL2VL, error) { return ib.ReadSL2VL(in, c.SL2VL, g, r.tables.LIDs()) })
	case len(c.Lanes) > 0:
		lanes, _ := ib.NewLanes(c.Lanes) // Validate has made it once
		r.lanes = ib.NewSL2VL(g, lanes)
	default:
		r.lanes = ib.NewSL2VL(g, ib.IdentityLanes)
	}
	if err != nil {
		return nil, err
	}
	if r.arbitration, err = readTable("vlarb", c.VLArb, func(in io.Reader) (*ib.VLArbitration, error) {
		return ib.ReadVLArbitration(in, c.VLArb, g, r.tables.LIDs())
	}); err != nil {
		return nil, err
	}
	return r.checked(c.Tables, env)
}

// readTable reads the file of a setting; nil if there is none.
func readTable[T any](key, path string, read func(io.Reader) (*T, error)) (*T, error) {
	if path == "" {
		return nil, nil
	}
	f, err := input.OpenInput(path, input.MaxInput)
	if err != nil {
		return nil, &param.ParamError{Key: key, Value: path, Want: "a readable file: " + err.Error()}
	}
	defer f.Close()
	return read(f)
}

// Tables are the forwarding tables of a routing; see [routing.FillTables].
func Tables(g *topology.Graph, r fabric.Routing, vcs int) (*ib.LFTs, error) {
	if l, ok := r.(*lft); ok {
		return l.tables, nil
	}
	l := ib.NewLFTs(g)
	return l, routing.FillTables(g, r, vcs, l)
}

// written is tables as [routing.Tables].
type written struct{ *ib.LFTs }

func (w written) Alone(env routing.Env) (fabric.Routing, error) {
	g := env.Topology.Graph()
	return (&lft{graph: g, tables: w.LFTs, lanes: ib.NewSL2VL(g, ib.IdentityLanes)}).checked("the tables", env)
}

// form reads and writes forwarding tables in files.
var form = routing.TableForm{
	Of: func(g *topology.Graph, r fabric.Routing, vcs int) (routing.Tables, error) {
		l, err := Tables(g, r, vcs)
		return written{l}, err
	},
	Read: func(in io.Reader, path string, g *topology.Graph) (fabric.Routing, error) {
		tables, err := ib.ReadLFTs(in, path, g)
		if err != nil {
			return nil, err
		}
		return &lft{graph: g, tables: tables, lanes: ib.NewSL2VL(g, ib.IdentityLanes), vcs: 1, inject: 1}, nil
	},
}

func (r *lft) levelOf(src, dst topology.TerminalID) int {
	if r.levels == nil {
		return r.level
	}
	return r.levels.Of(src, dst)
}

func (r *lft) hop(s topology.SwitchID, in topology.PortID, dst topology.TerminalID, level int) (topology.PortID, int) {
	port := r.tables.ToTerminal(s, dst)
	if port == topology.NoPort {
		return port, ib.DropLane
	}
	return port, r.lanes.Switch(in, port).Lane(level)
}

func (r *lft) VCs() int { return r.vcs }

func (r *lft) Graph() *topology.Graph { return r.graph }

func (r *lft) InjectionVCs(vcs int) uint32 {
	set := uint32(0)
	for lanes := r.inject; lanes != 0; lanes &= lanes - 1 {
		set |= routing.OneVC(uint32(bits.TrailingZeros32(lanes)), vcs)
	}
	return set
}

func (r *lft) Needs() fabric.Needs { return fabric.Needs{Departs: true} }

func (r *lft) Depart(v *fabric.View, h *fabric.Head) uint32 {
	r.start(h)
	src, _ := r.graph.PeerTerminal(h.In)
	return routing.OneVC(uint32(r.lanes.Host(src).Lane(int(h.State&15))), v.VCs())
}

// start notes the service level of a packet at its source.
func (r *lft) start(h *fabric.Head) {
	if h.State == 0 {
		src, _ := r.graph.PeerTerminal(h.In)
		h.State = lftStarted | uint32(r.levelOf(src, h.Dst))
	}
}

func (r *lft) Route(v *fabric.View, h *fabric.Head) fabric.Hop { return r.route(v.VCs(), h) }

func (r *lft) route(vcs int, h *fabric.Head) fabric.Hop {
	r.start(h)
	port, lane := r.hop(h.Switch, h.In, h.Dst, int(h.State&15))
	return fabric.Hop{Port: port, VCs: routing.OneVC(uint32(lane), vcs)}
}

func (r *lft) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	hop := r.route(vcs, &h)
	if hop.Port == topology.NoPort {
		return
	}
	if t, ok := r.graph.PeerTerminal(hop.Port); !ok || t == h.Dst {
		yield(hop, h.State, 1)
	}
}

// checked refuses tables that do not lead every packet to its destination, and
// finds the lanes in use. name is what messages call the tables.
func (r *lft) checked(name string, env routing.Env) (*lft, error) {
	c := lftCheck{lft: r, name: name, circles: map[string]bool{}, stuck: map[string]bool{}, state: make([]reachState, r.graph.Switches()), last: make([]topology.SwitchID, r.graph.Switches())}
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
	return r, routing.CheckVCs("lft", r.vcs, env)
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
	state    []reachState        // len = switches
	last     []topology.SwitchID // len = switches: where the way from there ends
	seen     []uint32            // len = ports*levels: 1 + the last destination that came by
	path     []topology.SwitchID // followed
	pairs    int                 // without a path
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
				last := c.last[from]
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

// follow walks from a switch to dst and says how the way ends.
func (c *lftCheck) follow(at topology.SwitchID, dst topology.TerminalID) (end reachState) {
	c.path = c.path[:0]
	for c.state[at] == unknownWay {
		c.state[at], c.last[at] = onTheWay, at
		c.path = append(c.path, at)
		port := c.tables.ToTerminal(at, dst)
		if port == topology.NoPort {
			c.state[at] = endsEarly
		} else if peer, ok := c.graph.PeerPort(port); ok {
			at = c.graph.PortSwitch[peer]
		} else if t, _ := c.graph.PeerTerminal(port); t == dst {
			c.state[at] = arrives
		} else {
			c.state[at] = endsEarly
		}
	}
	if end = c.state[at]; end == onTheWay {
		loop := c.path[slices.Index(c.path, at):]
		first := slices.Index(loop, slices.Min(loop)) // the circle is the same wherever one enters it
		from := slices.Concat(loop[first:], loop[:first])
		text := lists.Join(from, ", ", func(s topology.SwitchID) string { return c.graph.PortName(c.tables.ToTerminal(s, dst)) })
		if known := c.circles[text]; !known && len(c.circles) < maxNamed { // once for all destinations
			c.circles[text] = true
			c.problem(loop[first], dst, "packets for %s go round in a circle: %s", c.graph.TerminalName(dst), text)
		}
		end = goesRound
	}
	for _, s := range c.path {
		c.state[s], c.last[s] = end, c.last[at]
	}
	return end
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
