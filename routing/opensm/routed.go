package opensm

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// RoutedConfig holds the settings of the routings opensm-ENGINE.
type RoutedConfig struct {
	Config  string `toml:"config" doc:"OpenSM's configuration file, such as opensm.conf, for the engine's options; relative to the experiment file; none: OpenSM's defaults"`
	Manager string `toml:"subnet_manager" doc:"terminal that the subnet manager runs on, by name; it has the first LID. none: the configuration's guid, else H0, else the first"`
}

// LayeredConfig holds the settings of engines that assign service levels.
type LayeredConfig struct {
	RoutedConfig
	DataLanes int `toml:"data_lanes" doc:"data virtual lanes of the ports: 1, 2, 4, 8 or 15" min:"1" max:"15"`
}

var _ topology.PathConfig = (*RoutedConfig)(nil)

// RelativeTo implements [topology.PathConfig].
func (c *RoutedConfig) RelativeTo(dir string) { c.Config = input.In(dir, c.Config) }

// Files implements [topology.PathConfig]: the configuration, and the files that it names.
func (c *RoutedConfig) Files() []string {
	if c.Config == "" {
		return nil
	}
	files := []string{c.Config}
	if f, err := input.OpenInput(c.Config, input.MaxSettings); err == nil {
		defer f.Close()
		config, _ := ReadConfig(f, c.Config, filepath.Dir(c.Config), Engines()...) // building the routing says what is wrong
		files = append(files, config.Named...)
	}
	return files
}

func init() {
	for _, e := range engines {
		doc := "OpenSM's engine " + e.Name + ": " + e.Doc
		if e.Levels {
			routing.Register("opensm-"+e.Name, doc, routing.Use{}, LayeredConfig{DataLanes: 8}, func(c LayeredConfig, env routing.Env) (fabric.Routing, error) {
				return newRouted(e, c.RoutedConfig, c.DataLanes, env)
			})
			continue
		}
		routing.Register("opensm-"+e.Name, doc, routing.Use{}, RoutedConfig{}, func(c RoutedConfig, env routing.Env) (fabric.Routing, error) {
			return newRouted(e, c, DefaultOptions().OperationalVLs, env)
		})
	}
}

// routed sends packets by the tables of an engine of OpenSM. A packet goes to the base LID of its
// destination and keeps the service level of its pair; each layer of service levels has a virtual
// channel of its own, or several where there are more of them than layers.
//
// Deadlock: as with the engine. ftree never sends a packet up after it has gone down; dfsssp and lash have no cycle in
// any layer; torus-2QoS crosses datelines on another lane. With other engines the network decides: its
// certificate tells. Nue's rules allow no cycle, but OpenSM's shortcuts forget dependencies.
type routed struct {
	tables  *Tables
	graph   *topology.Graph
	classes *classes
	next    []uint8 // by switch and terminal: port, counted from the switch's first
	home    []topology.SwitchID
}

// routedStarted marks in Head.State that the low bits hold the service level.
const routedStarted uint32 = 1 << 4

func newRouted(e Engine, c RoutedConfig, lanes int, env routing.Env) (fabric.Routing, error) {
	key := fmt.Sprintf("opensm-%s %q %q %d", e.Name, c.Config, c.Manager, lanes)
	r, err := routing.Once(env, key, func() (*routed, error) { return route(e, c, lanes, env.Topology) })
	if err != nil {
		return nil, err
	}
	if err := routing.CheckVCs("opensm-"+e.Name, r.VCs(), env); err != nil {
		return nil, err
	}
	return r, nil
}

func route(e Engine, c RoutedConfig, lanes int, on topology.Topology) (*routed, error) {
	config := DefaultConfig()
	if c.Config != "" {
		f, err := input.OpenInput(c.Config, input.MaxSettings)
		if err != nil {
			return nil, &param.ParamError{Key: "config", Value: c.Config, Want: "a readable file: " + err.Error()}
		}
		defer f.Close()
		if config, err = ReadConfig(f, c.Config, filepath.Dir(c.Config), e.Name); err != nil {
			return nil, err
		}
	}
	if lanes&(lanes-1) != 0 && lanes != 15 {
		return nil, &param.ParamError{Key: "data_lanes", Value: lanes, Want: "1, 2, 4, 8 or 15"}
	}
	s, err := config.Subnet(on, c.Manager, lanes)
	if err != nil {
		return nil, err
	}
	tables, err := e.Route(s, &config.Options)
	if err != nil {
		return nil, fmt.Errorf("routing \"opensm-%s\": %w", e.Name, err)
	}
	if pairs, first := tables.Unreachable(); pairs > 0 {
		return nil, fmt.Errorf("routing \"opensm-%s\": no path between %d pairs of terminals, the first from %s", e.Name, pairs, first)
	}
	return newRoutedTables(tables), nil
}

func newRoutedTables(t *Tables) *routed {
	s := t.Subnet
	g := s.Graph
	r := &routed{tables: t, graph: g, classes: t.newClasses(), next: make([]uint8, g.Switches()*g.Terminals()), home: make([]topology.SwitchID, g.Terminals())}
	for to := range r.home {
		r.home[to] = g.TerminalSwitch(topology.TerminalID(to))
	}
	for n, id := range s.Switches {
		var local [256]uint8
		first, end := g.Ports(id)
		for p := first; p < end; p++ {
			local[s.Names.Port[p]] = uint8(p - first)
		}
		row := r.next[int(id)*len(r.home):][:len(r.home)]
		for to := range row {
			row[to] = local[t.LFT[n][s.TerminalLID[to]]]
		}
	}
	return r
}

func (r *routed) VCs() int { return r.classes.count }

func (r *routed) InjectionVCs(vcs int) uint32 { return 1<<vcs - 1 }

func (r *routed) Graph() *topology.Graph { return r.graph }

func (r *routed) Route(v *fabric.View, h *fabric.Head) fabric.Hop { return r.route(v.VCs(), h) }

func (r *routed) route(vcs int, h *fabric.Head) fabric.Hop {
	s := r.tables.Subnet
	n := s.Node[h.Switch]
	if h.State == 0 {
		h.State = routedStarted | uint32(r.tables.Level(n, int(s.TerminalLID[h.Dst])))
	}
	port := r.graph.PortStart[h.Switch] + topology.PortID(r.next[int(h.Switch)*len(r.home)+int(h.Dst)])
	if h.Switch == r.home[h.Dst] {
		return fabric.Hop{Port: port, VCs: 1<<vcs - 1}
	}
	class := r.classes.lane(n, uint8(s.Names.Port[h.In]), uint8(s.Names.Port[port]), uint8(h.State&15))
	return fabric.Hop{Port: port, VCs: routing.ClassVCs(int(class), r.classes.count, vcs)}
}

// Explore implements [fabric.Explorer]: there is one decision.
func (r *routed) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	hop := r.route(vcs, &h)
	yield(hop, h.State, 1)
}

// FindManager is the subnet manager's adapter port: the terminal with a name, else the port with a
// GUID, else [DefaultManager].
func FindManager(g *topology.Graph, name string, guid uint64) (topology.TerminalID, error) {
	if g.Terminals() == 0 {
		return 0, fmt.Errorf("a subnet manager needs an adapter; the network has none")
	}
	names := topology.NamesOf(g)
	if name != "" {
		if t := slices.IndexFunc(names.Terminals, func(t topology.AdapterPort) bool { return t.Name == name }); t >= 0 {
			return topology.TerminalID(t), nil
		}
		return 0, &param.ParamError{Key: "subnet_manager", Value: name, Want: fmt.Sprintf("the name of a terminal, such as %q", cmp.Or(names.Terminals[0].Name, "H0"))}
	}
	if guid != 0 {
		if t := slices.IndexFunc(names.Terminals, func(t topology.AdapterPort) bool { return uint64(t.PortGUID) == guid }); t >= 0 {
			return topology.TerminalID(t), nil
		}
		return 0, fmt.Errorf("guid 0x%016x: no adapter port of the fabric has it", guid)
	}
	return DefaultManager(g), nil
}

// Stages implements [routing.Staged]: one to each terminal. Its packets from a switch have one
// service level.
func (r *routed) Stages() (fabric.Routing, []routing.Stage) {
	s := r.tables.Subnet
	stage := routing.Stage{
		Goals: len(r.home),
		Start: func(goal int, at topology.SwitchID) (uint32, bool) {
			level := r.tables.Level(s.Node[at], int(s.TerminalLID[goal]))
			return routedStarted | uint32(level), at != r.home[goal]
		},
		Head: func(goal int, _ topology.SwitchID, state uint32) (topology.TerminalID, uint32) {
			return topology.TerminalID(goal), state
		},
		Ends: func(int, topology.SwitchID) (ends, goesOn bool) { return false, true },
	}
	if r.tables.lanes != nil {
		stage.Came = func(in topology.PortID) uint8 { return uint8(r.graph.LocalPort(in)) }
	}
	return r, []routing.Stage{stage}
}
