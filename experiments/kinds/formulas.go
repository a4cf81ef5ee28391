package kinds

import (
	"context"
	"fmt"
	"reflect"

	"github.com/weft-sim/weft/collectives/dswitch"
	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/cost"
	"github.com/weft-sim/weft/mpi"
)

func init() {
	experiments.Register(experiments.Kind[connectionsConfig, connectionsRow]{
		Name:        "connections",
		RestsOn:     experiments.Formula,
		BeginsAgain: "it is computed in a moment",
		Doc:         "memory of InfiniBand connections: QPs and bytes of a process and a node, from the formulas of each mode",
		Defaults: func() connectionsConfig {
			return connectionsConfig{Job: connectionsJob{Ranks: 1024, PerNode: 4}, Connections: mpi.DefaultConnections}
		},
		Run: func(_ context.Context, c *connectionsConfig, _ *experiments.Run) (connectionsRow, error) {
			f := c.Connections.Footprint(c.Job.Ranks, c.Job.PerNode, int64(c.Job.OnDemandQPs))
			return connectionsRow{
				Static: f.Static, OnDemand: f.OnDemand,
				Process: f.Process, ProcessStatic: f.ProcessStatic, Node: f.Node,
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
}

type connectionsRow struct {
	Static        int64   `column:"qps_static" doc:"QPs of a process at the start"`
	OnDemand      int64   `column:"qps_on_demand" doc:"QPs of a process made on demand"`
	Process       float64 `column:"memory_per_process_bytes" doc:"queues and pre-posted buffers of a process, QPs made on demand included"`
	ProcessStatic float64 `column:"memory_static_per_process_bytes" doc:"the same without QPs made on demand"`
	Node          float64 `column:"memory_per_node_bytes" doc:"of all processes of a node"`
}

func init() {
	experiments.Register(experiments.Kind[costConfig, costResult]{
		Name:        "cost",
		RestsOn:     experiments.Formula,
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
	CopperMetres float64 `column:"copper_m" doc:"their lengths together"`
	Optical      int     `column:"cables_optical" doc:"optical cables"`
	OptMetres    float64 `column:"optical_m" doc:"their lengths together"`
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
		return costResult{}, experiments.Under("floor", "floor.cabinet_units", err)
	}
	return costResult{k.Switches, k.Terminals, k.Radix, k.Ports, k.Cabinets, k.Inside.Cables, k.Copper.Cables, k.Copper.Metres,
		k.Optical.Cables, k.Optical.Metres, k.Longest, k.Watts, k.Price, k.Price / float64(k.Terminals)}, nil
}

func init() {
	experiments.Register(experiments.Kind[sessionsConfig, sessionsRow]{
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

// sessionsRow has a column for each metric of collectives.SessionsResult, under
// the metric's name.
type sessionsRow struct {
	Name                 string  `column:"network" doc:"the paper's name of the switch, such as PK_2(15, 3, 1|3)"`
	Processors           int64   `column:"processors" doc:"N or R_k"`
	Sessions             int64   `column:"sessions" doc:"sessions of the schedule"`
	SessionsToComplete   float64 `column:"sessions_to_complete" doc:"sessions until every processor had the packets of all others; empty if some pair was never served"`
	NonemptySessions     int64   `column:"nonempty_sessions" doc:"sessions that brought some processor a packet which it had not had"`
	Cycles               int64   `column:"cycles" doc:"from the first flit's start to the last one's arrival; every stage takes a cycle"`
	PacketsReceived      int64   `column:"packets_received" doc:"different foreign packets that every living processor received at least; in an all-to-all processors - 1"`
	PacketsReceivedMax   int64   `column:"packets_received_max" doc:"the same, of the processor that received the most"`
	PacketsPerSessionMax int64   `column:"packets_per_session_max" doc:"most foreign packets that a processor received in one session"`
	PacketsInjected      int64   `column:"packets_injected" doc:"packets sent, a broadcast counted at each of its ports"`
	DuplicatesReceived   int64   `column:"duplicates_received" doc:"packets of sources that the processor had a packet from before"`
	OwnDropped           int64   `column:"own_dropped" doc:"packets that came back to their sender"`
	Conflicts            int64   `column:"conflicts" doc:"packets dropped at a switch because another had the output port"`
	AccessDrops          int64   `column:"access_drops" doc:"packets dropped by the multiple access of a joiner"`
	AccessLostPairs      int64   `column:"access_lost_pairs" doc:"ordered pairs of processors whose packets were dropped by conflicts or multiple access and that no session served"`
	AccessBound          int64   `column:"access_lost_pairs_any_rule" doc:"ordered pairs that would not be served under any rule of multiple access, by counting: a lower bound, 0 where access_lost_pairs is"`
	UnpluggedDrops       int64   `column:"unplugged_drops" doc:"packets that left an inner switch by a port without a cable"`
	FaultDrops           int64   `column:"fault_drops" doc:"packets that ran into a failed part"`
	MissingPairs         int64   `column:"missing_pairs" doc:"ordered pairs of living processors of which the second never received the first's packet"`
	Misrouted            int64   `column:"misrouted" doc:"packets of permutations that arrived elsewhere than at their destination, or not at all"`
	IdealSessions        float64 `column:"ideal_sessions" doc:"the paper's R_k / m: m packets a processor and session"`
	OverheadSessions     float64 `column:"overhead_sessions" doc:"sessions - ideal_sessions"`
	OverheadFraction     float64 `column:"overhead_fraction" doc:"overhead_sessions / sessions; at most 1/m by the paper's remark"`
	OverheadOverBound    float64 `column:"overhead_over_bound" doc:"overhead_sessions / m^(k-1); at most 1 by the paper's remark"`
	MSquaredSessions     int64   `column:"m_squared_sessions" doc:"m^2: the method of the paper's references 9 and 10, one cascade"`
	Switches             int64   `column:"switches" doc:"m x m switches"`
	ProcessorChannels    int64   `column:"processor_channels" doc:"duplex channels of the first cascade: m a processor"`
	Channels             int64   `column:"channels" doc:"duplex channels of all cascades"`
	CompleteGraph        int64   `column:"complete_graph_channels" doc:"duplex channels that would join every two processors directly"`
	OverComplete         float64 `column:"channels_over_complete" doc:"channels / complete_graph_channels; 2/(m-1) for one cascade"`
	LivingProcessors     int64   `column:"living_processors" doc:"processors that have not failed"`
	DirectPairs          int64   `column:"direct_pairs" doc:"unordered pairs of living processors with a path of their own"`
	DetourPairs          int64   `column:"detour_pairs" doc:"pairs without one that a third processor can serve"`
	CutPairs             int64   `column:"cut_pairs" doc:"pairs with neither"`
	RelaySessions        int64   `column:"relay_sessions" doc:"further sessions in which third processors serve detour_pairs"`
	RelayedPairs         int64   `column:"relayed_pairs" doc:"ordered pairs served in them"`
}

// newSessionsRow copies the metrics to the columns of their names.
func newSessionsRow(r *dswitch.SessionsResult) sessionsRow {
	values := map[string]float64{}
	for _, m := range r.Metrics() {
		values[m.Name] = m.Value
	}
	row := sessionsRow{Name: r.Name}
	v := reflect.ValueOf(&row).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("column")
		if v.Field(i).Kind() == reflect.String {
			continue
		}
		value, ok := values[name]
		if !ok {
			panic(fmt.Sprintf("kinds: sessions have no metric %q", name))
		}
		if v.Field(i).CanInt() {
			v.Field(i).SetInt(int64(value))
		} else {
			v.Field(i).SetFloat(value)
		}
	}
	return row
}

func checkSessions(c *sessionsConfig, seed uint64) ([]experiments.Warning, error) {
	t, err := c.Topology.Type.BuildShared(struct{}{})
	if err != nil {
		return nil, err
	}
	s, ok := t.(*topology.DistributedSwitch)
	if !ok {
		return nil, experiments.At("topology.type", fmt.Errorf("= %q: sessions need a distributed full switch, pcc or pk", c.Topology.Type.Name()))
	}
	if err := dswitch.CheckSessions(t, c.Sessions, seed); err != nil {
		return nil, experiments.Under("sessions", "sessions.schedule", err)
	}
	return sessionsWarnings(s, c.Sessions.Schedule), nil
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

func runSessions(ctx context.Context, c *sessionsConfig, run *experiments.Run) (sessionsRow, error) {
	t, err := c.Topology.Type.BuildShared(struct{}{})
	if err != nil {
		return sessionsRow{}, err
	}
	r, err := dswitch.RunSessions(ctx, t, c.Sessions, run.Seed, sessionsProgress(run))
	if err != nil {
		return sessionsRow{}, experiments.Under("sessions", "sessions.schedule", err)
	}
	crossed := int64(2*t.(*topology.DistributedSwitch).Cascades()+1) * int64(r.Outcome.Injected) * int64(c.Sessions.PacketFlits)
	run.Count(crossed, crossed)
	return newSessionsRow(r), nil
}
