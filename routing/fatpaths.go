package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// FatPathsConfig holds the settings of routing "fatpaths".
type FatPathsConfig struct {
	Layers int     `toml:"layers" doc:"layers of cables, the one of all cables among them" min:"1" max:"64"`
	Share  float64 `toml:"share" doc:"of the cables between switches that each further layer has" min:"0" max:"1"`
	Choice string  `toml:"choice" doc:"layer of a packet: random, hashed by source and destination, or least-occupied, the one whose first channel has the least product of credits outstanding and hops" choices:"random|hashed|least-occupied"`
	PathSettings
}

// Seeded implements param.Seeded: the cables of a layer are drawn.
func (FatPathsConfig) Seeded() {}

func init() {
	Register("fatpaths", "FatPaths: shortest paths in layers of the network, each of them some of its cables; the virtual channel rises at every hop", Use{},
		FatPathsConfig{Layers: 4, Share: 0.7, Choice: "random", PathSettings: defaultPaths("one", false)}, newFatPaths)
}

// fatPaths is layered routing as in FatPaths (Besta et al., SC 2020): layer 0 has all cables, each
// other one a random share of them, and a packet goes by shortest paths within the layer that is
// chosen for it at its source. A shortest path of a layer may be longer than one of the graph:
// pairs with a single shortest path get one path a layer.
//
// Deadlock: hops are numbered as in routing "table", over all layers: as many virtual channels as
// the longest path of any layer has hops. (The paper runs over Ethernet, and leaves this open.)
//
// Deviations: a layer keeps the cables of a random spanning tree beside its share, so that it joins
// all switches; the paper chooses anew for each flowlet of TCP, weft for each packet. The layers
// follow from the seed of the experiment.
//
// Memory: portSets for each layer, and 1 byte for each (switch, switch with
// terminals) where choice is least-occupied.
type fatPaths struct {
	*hopPaths // of layer 0
	layers    []*hopPaths
	settings  FatPathsConfig
}

// Layout of Head.State, above the hops made.
const (
	layerNumber         = 5 // 6 bits
	layerStarted uint32 = 1 << 11
)

func newFatPaths(config FatPathsConfig, env Env) (fabric.Routing, error) {
	const name = "fatpaths"
	lengths := config.Choice == "least-occupied"
	whole, err := newHopPaths(name, config.PathSettings, env, lengths)
	if err != nil {
		return nil, err
	}
	r := &fatPaths{whole, []*hopPaths{whole}, config}
	most := whole.hops
	for layer := 1; layer < config.Layers; layer++ {
		set := config.PathSettings
		set.NextHops = ""
		part := env
		part.Down = layerWithout(whole.graph, config.Share, env.Seed, layer)
		paths, err := newHopPaths(name, set, part, lengths)
		if err != nil {
			return nil, err
		}
		r.layers = append(r.layers, paths)
		most = max(most, paths.hops)
	}
	whole.need(most)
	return r, CheckVCs(name, whole.classes, env)
}

// layerWithout is the cables that a layer lacks: all but a random share and a random spanning tree.
func layerWithout(g *topology.Graph, share float64, seed uint64, layer int) *topology.Down {
	stream := sim.NewStream(seed, "routing fatpaths", layer)
	cables := lists.Filter(topology.Numbers[topology.PortID](g.NumPorts()), func(p topology.PortID) bool {
		peer, ok := g.PeerPort(p)
		return ok && p < peer
	})
	sim.Shuffle(&stream, cables)
	parent := topology.Numbers[topology.SwitchID](g.Switches()) // union-find
	find := func(s topology.SwitchID) topology.SwitchID {
		for parent[s] != s {
			parent[s] = parent[parent[s]]
			s = parent[s]
		}
		return s
	}
	down := topology.NewDown(g)
	keep := int(share*float64(len(cables)) + 0.5)
	for i, p := range cables {
		peer, _ := g.PeerPort(p)
		a, b := find(g.PortSwitch[p]), find(g.PortSwitch[peer])
		if parent[a] = b; i >= keep && a == b {
			down.FailLink(p)
		}
	}
	return down
}

// IdleSettings implements [param.Idler]: ties matter in some layers.
func (r *fatPaths) IdleSettings() []param.IdleSetting { return nil }

func (r *fatPaths) UnusedSettings() []string {
	unused := r.hopPaths.UnusedSettings()
	if len(r.layers) == 1 {
		unused = append(unused, "share", "choice")
	}
	return unused
}

func (r *fatPaths) IgnoresTerminals() bool {
	return r.settings.Choice != "hashed" && r.hopPaths.IgnoresTerminals()
}

func (r *fatPaths) Route(v *fabric.View, h *fabric.Head) fabric.Hop {
	if h.State == 0 {
		h.State = layerStarted | uint32(r.pick(v, h))<<layerNumber
		r.mark(h)
	}
	paths := r.layer(h)
	ports := paths.to(h.Switch, paths.column[h.Dst])
	if len(ports) == 0 {
		return r.last(h, v.VCs())
	}
	return r.take(h, paths.choose(r.ties, v, h, ports, uint32(h.Dst)), v.VCs())
}

func (r *fatPaths) layer(h *fabric.Head) *hopPaths { return r.layers[h.State>>layerNumber&(1<<6-1)] }

func (r *fatPaths) mark(h *fabric.Head) {
	if r.layer(h) != r.hopPaths {
		h.State |= fabric.NonMinimal
	}
}

func (r *fatPaths) Needs() fabric.Needs {
	return fabric.Needs{Credits: r.ties.adaptive() || r.settings.Choice == "least-occupied"}
}

func (r *fatPaths) pick(v *fabric.View, h *fabric.Head) int {
	n := len(r.layers)
	switch {
	case n == 1 || r.home[h.Dst] == h.Switch:
		return 0
	case r.settings.Choice == "hashed":
		return r.hashed(h)
	case r.settings.Choice == "random":
		return v.Random(h.Switch).IntN(n)
	}
	best, least := 0, 0
	first := v.Random(h.Switch).IntN(n)
	for i := range n {
		number := (first + i) % n
		paths := r.layers[number]
		column := paths.column[h.Dst]
		port := paths.choose(r.ties, v, h, paths.to(h.Switch, column), uint32(h.Dst))
		cost := v.OutstandingAll(port) * int(paths.length[int(h.Switch)*paths.leaves+int(column)])
		if i == 0 || cost < least {
			best, least = number, cost
		}
	}
	return best
}

func (r *fatPaths) hashed(h *fabric.Head) int {
	return spread(uint32(h.Dst)*0x9e3779b1+uint32(h.In), len(r.layers))
}

func (r *fatPaths) Explore(vcs int, h fabric.Head, yield func(fabric.Hop, uint32, float64)) {
	first, n, share := 0, 1, 1.0
	switch {
	case h.State != 0 || r.home[h.Dst] == h.Switch:
	case r.settings.Choice == "hashed":
		first = r.hashed(&h)
	case r.settings.Choice == "random":
		n = len(r.layers)
		share = 1 / float64(n)
	default:
		n, share = len(r.layers), 0
	}
	for i := range n {
		head := h
		if h.State == 0 {
			head.State = layerStarted | uint32(first+i)<<layerNumber
			r.mark(&head)
		}
		paths := r.layer(&head)
		paths.explore(r.ties, head, paths.to(h.Switch, paths.column[h.Dst]), uint32(h.Dst), share, vcs, r.take, yield)
	}
}
