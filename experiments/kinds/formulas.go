package kinds

import (
	"context"
	"fmt"
	"slices"

	"github.com/weft-sim/weft/collectives/dswitch"
	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/cost"
	"github.com/weft-sim/weft/mpi"
)

func init() {
	experiments.Register(experiments.Kind[connectionsConfig, connectionsRow]{
		Name:        "connections",
		RestsOn:     verdict.Formula,
		BeginsAgain: "it is computed in a moment",
		Doc:         "memory of InfiniBand connections: QPs and bytes of a process and a node, from the formulas of each mode",
		Defaults: func() connectionsConfig {
			return connectionsConfig{Job: connectionsJob{Ranks: 1024, PerNode: 4, MaxQP: hca.HDR.MaxQP}, Connections: mpi.DefaultConnections}
		},
		Check: func(c *connectionsConfig, _ uint64) ([]experiments.Warning, error) {
			pairs := c.Connections.Footprint(c.Job.Ranks, c.Job.PerNode, int64(c.Job.OnDemandQPs)).NodeQPs
			return slices.Concat(pairWarnings(pairs, c.Job.MaxQP, "job.max_qp"), experiments.IdleOf(idleConnections, &c.Connections), experiments.IdleOf(idleFormulas, &c.Connections)), nil
		},
		Run: func(_ context.Context, c *connectionsConfig, _ *experiments.Run) (connectionsRow, error) {
			f := c.Connections.Footprint(c.Job.Ranks, c.Job.PerNode, int64(c.Job.OnDemandQPs))
			return connectionsRow{
				Static: f.Static, OnDemand: f.OnDemand,
				Process: f.Process, ProcessStatic: f.ProcessStatic, Node: f.Node, NodeQPs: f.NodeQPs,
			}, nil
		},
	})
}

type connectionsConfig struct {
	Job         connectionsJob  `toml:"job" doc:"processes"`
	Connections mpi.Connections `toml:"connections" doc:"how processes are connected, and the sizes of queues and buffers"`
}

type connectionsJob struct {
	Ranks       int `toml:"ranks" doc:"processes of the job" min:"1"`
	PerNode     int `toml:"per_node" doc:"processes on a node" min:"1"`
	OnDemandQPs int `toml:"on_demand_qps" doc:"QPs that a process makes on demand" min:"0"`
	MaxQP       int `toml:"max_qp" doc:"QPs that a node's adapter can have (max_qp of ibv_devinfo); more are warned of; 0: any number" min:"0"`
}

type connectionsRow struct {
	Static        int64   `column:"qps_static" doc:"QPs of a process at the start"`
	OnDemand      int64   `column:"qps_on_demand" doc:"QPs of a process made on demand"`
	Process       float64 `column:"memory_per_process_bytes" doc:"queues and pre-posted buffers of a process, QPs made on demand included"`
	ProcessStatic float64 `column:"memory_static_per_process_bytes" doc:"queues and pre-posted buffers of a process, QPs made on demand left out"`
	Node          float64 `column:"memory_per_node_bytes" doc:"queues and pre-posted buffers of all processes of a node"`
	NodeQPs       int64   `column:"qps_per_node" doc:"QPs of all processes of a node, those included by which XRC receives"`
}

func init() {
	experiments.Register(experiments.Kind[costConfig, costResult]{
		Name:        "cost",
		RestsOn:     verdict.Formula,
		BeginsAgain: "it is computed in a moment",
		Doc:         "what networks take: cabinets, cables by kind and length, power and price, by a floor plan",
		Defaults: func() costConfig {
			return costConfig{network.TopologyTable{Type: experiments.Choose(topology.Registry, "dragonfly")}, cost.DefaultFloor, cost.DefaultPrice}
		},
		Run: runCost,
	})
}

type costConfig struct {
	Topology network.TopologyTable `toml:"topology" doc:"the network"`
	Floor    cost.Floor            `toml:"floor" doc:"cabinets are filled in the order of switches and stand in rows, as square as can be"`
	Price    cost.Price            `toml:"price" doc:"prices in a currency of yours, and power; the defaults are assumptions, not offers"`
}

type costResult struct {
	Switches     int     `column:"switches" doc:"switches"`
	Terminals    int     `column:"terminals" doc:"terminals"`
	Radix        int     `column:"radix_ports" doc:"ports in use of the switch that has the most"`
	Ports        int     `column:"ports" doc:"switch ports in use"`
	Cabinets     int     `column:"cabinets" doc:"cabinets"`
	Inside       int     `column:"cables_inside" doc:"cables within a cabinet"`
	Copper       int     `column:"cables_copper" doc:"copper cables"`
	CopperMetres float64 `column:"copper_m" doc:"lengths of the copper cables together"`
	Optical      int     `column:"cables_optical" doc:"optical cables"`
	OptMetres    float64 `column:"optical_m" doc:"lengths of the optical cables together"`
	Longest      float64 `column:"longest_cable_m" doc:"the longest cable"`
	Watts        float64 `column:"power_w" doc:"power of switches and cables"`
	Price        float64 `column:"price" doc:"price of switches and cables"`
	PerTerminal  float64 `column:"price_per_terminal" doc:"price of a terminal's share"`
}

func runCost(_ context.Context, c *costConfig, _ *experiments.Run) (costResult, error) {
	t, err := c.Topology.Type.BuildShared(struct{}{})
	if err != nil {
		return costResult{}, err
	}
	k, err := cost.Of(t.Graph(), c.Floor, c.Price)
	if err != nil {
		return costResult{}, document.Under("floor", "floor.cabinet_units", err)
	}
	return costResult{k.Switches, k.Terminals, k.Radix, k.Ports, k.Cabinets, k.Inside.Cables, k.Copper.Cables, k.Copper.Metres,
		k.Optical.Cables, k.Optical.Metres, k.Longest, k.Watts, k.Price, k.Price / float64(k.Terminals)}, nil
}

func init() {
	experiments.Register(experiments.Kind[sessionsConfig, dswitch.SessionsRow]{
		Name:        "sessions",
		BeginsAgain: againSessions,
		Revision:    1, // access_lost_pairs_any_rule
		Doc:         "packets through a distributed full switch, flit by flit and without buffers, in sessions that all processors start together: all-to-all, permutations, failures",
		Defaults: func() sessionsConfig {
			return sessionsConfig{
				Topology: network.TopologyTable{Type: experiments.Choose(topology.Registry, "pk")},
				Sessions: dswitch.DefaultSessionsConfig(),
			}
		},
		Check: checkSessions,
		Run:   runSessions,
	})
}

// againSessions is measured: PK_1(16257, 128, 1), the largest switch of one cascade, under
// schedule "accelerated", on one thread.
const againSessions = "sessions have no form to be kept in yet; an all-to-all of 16,257 processors takes 15 seconds of a processor"

type sessionsConfig struct {
	Topology network.TopologyTable  `toml:"topology" doc:"the distributed full switch: pcc or pk"`
	Sessions dswitch.SessionsConfig `toml:"sessions" doc:"what is sent when, and what has failed"`
}

func checkSessions(c *sessionsConfig, seed uint64) ([]experiments.Warning, error) {
	t, err := c.Topology.Type.BuildShared(struct{}{})
	if err != nil {
		return nil, err
	}
	s, ok := t.(*topology.DistributedSwitch)
	if !ok {
		return nil, document.At("topology.type", fmt.Errorf("= %q: sessions need a distributed full switch, pcc or pk", c.Topology.Type.Name()))
	}
	if err := dswitch.CheckSessions(t, c.Sessions, seed); err != nil {
		return nil, document.Under("sessions", "sessions.schedule", err)
	}
	return append(sessionsWarnings(s, c.Sessions.Schedule), experiments.IdleOf(idleSessions, c)...), nil
}

var idleSessions = []experiments.Idle[*sessionsConfig]{
	{Key: "sessions.permutations", When: func(c *sessionsConfig) bool { return c.Sessions.Schedule != "random" }, Because: `it is of sessions.schedule = "random"`},
}

// sessionsWarnings says where a schedule is known to do less than its name
// promises, or more than it needs.
func sessionsWarnings(s *topology.DistributedSwitch, schedule string) []experiments.Warning {
	if schedule != "digits" && schedule != "digits-short" && schedule != "digits-printed" {
		return nil
	}
	k, groups := s.Cascades(), s.Design().Points()
	switch {
	case schedule == "digits-printed" && k > 1:
		return []experiments.Warning{{Key: "sessions.schedule", Message: fmt.Sprintf("= %q serves only some pairs with more than one cascade: digit a_1 of the printed formula steers nothing; \"digits\" corrects it", schedule)}}
	case k > 3, k == 3 && s.Level(2)%groups != 0:
		w := fmt.Sprintf("= %q loses packets to multiple access with %d cascades", schedule, k)
		if k == 3 {
			w += " whose PK_2 have a partial group (topology.inner not a multiple of N)"
		}
		return []experiments.Warning{{Key: "sessions.schedule", Message: w + ": theorem 2 does not hold there; \"accelerated\" is complete"}}
	case s.Design().Sigma() > 1:
		return []experiments.Warning{{Key: "sessions.schedule", Message: fmt.Sprintf("= %q brings every packet %d times where processors share so many switches; \"sigma\" (with sessions.addressing = \"direct\") brings it once", schedule, s.Design().Sigma())}}
	}
	return nil
}

// sessionsProgress tells how far the sessions of a point are.
func sessionsProgress(run *experiments.Run) func(begun, of int) {
	return func(begun, of int) { run.Advance(int64(begun), int64(of), "sessions") }
}

func runSessions(ctx context.Context, c *sessionsConfig, run *experiments.Run) (dswitch.SessionsRow, error) {
	t, err := c.Topology.Type.BuildShared(struct{}{})
	if err != nil {
		return dswitch.SessionsRow{}, err
	}
	r, err := dswitch.RunSessions(ctx, t, c.Sessions, run.Seed, sessionsProgress(run))
	if err != nil {
		return dswitch.SessionsRow{}, document.Under("sessions", "sessions.schedule", err)
	}
	crossed := int64(2*t.(*topology.DistributedSwitch).Cascades()+1) * int64(r.Outcome.Injected) * int64(c.Sessions.PacketFlits)
	run.Count(crossed, crossed)
	return r.Row, nil
}
