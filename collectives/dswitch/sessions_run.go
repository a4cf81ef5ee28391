package dswitch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// SessionsConfig configures sessions on a distributed full switch (experiment kind "sessions").
type SessionsConfig struct {
	Schedule       string `toml:"schedule" doc:"digits: the session number steers the stages, m^k sessions (theorems 1 and 2); digits-printed: the paper's formula to the letter, in which digit a_1 steers nothing; digits-short: without the sessions that return every packet; cyclic: R_k - 1 cyclic permutations; accelerated: m of them at a time, R_(k-1) - 1 sessions; sigma: all-to-all on sigma > 1 in (m-1)/sigma sessions; random: random permutations" choices:"digits|digits-printed|digits-short|cyclic|accelerated|sigma|random"`
	Addressing     string `toml:"addressing" doc:"indirect: a spine switch adds the input port to the address; direct: the address is the output port" choices:"indirect|direct"`
	PacketFlits    int    `toml:"packet_flits" doc:"length of a packet" unit:"flits" min:"1" max:"65536"`
	Drain          bool   `toml:"drain" doc:"start a session only when the network is empty again; otherwise one follows the other without a gap"`
	FirstStage     string `toml:"first_stage" doc:"parallel: splitter/joiners of the processors take packets on all m ports at once; single: one packet a session (multiple access)" choices:"parallel|single"`
	Permutations   int    `toml:"permutations" doc:"number of random permutations" min:"1" max:"1000000"`
	FailProcessors int    `toml:"fail_processors" doc:"processors that fail, drawn at random" min:"0"`
	FailUnits      int    `toml:"fail_units" doc:"splitter/joiners of the inner stages that fail, drawn at random" min:"0"`
	FailSwitches   int    `toml:"fail_switches" doc:"m x m switches that fail, drawn at random" min:"0"`
	FailChannels   int    `toml:"fail_channels" doc:"channels (both directions) that fail, drawn at random" min:"0"`
}

// DefaultSessionsConfig returns the settings of the paper's theorem 2.
func DefaultSessionsConfig() SessionsConfig {
	return SessionsConfig{Schedule: "digits", Addressing: "indirect", PacketFlits: 1, FirstStage: "parallel", Permutations: 1000}
}

// SessionsResult is the outcome of [RunSessions].
type SessionsResult struct {
	Row    *SessionsRow
	Faults []Fault
	Reach  Reach
}

// SessionsRow is a run's numbers, in the columns of experiment kind "sessions". Packets sent are
// received, own, or lost: Injected = Received + Duplicates + Own + Conflicts + AccessDrops +
// Unplugged + FaultDrops.
type SessionsRow struct {
	Name               string  `column:"network" doc:"the paper's name of the switch, such as PK_2(15, 3, 1|3)"`
	Processors         int     `column:"processors" doc:"N or R_k"`
	Sessions           int     `column:"sessions" doc:"sessions of the schedule"`
	SessionsToComplete float64 `column:"sessions_to_complete" doc:"sessions until every processor had the packets of all others; empty if some pair was never served" best:"lowest number of sessions until every pair is served"`
	Busy               int     `column:"nonempty_sessions" doc:"sessions that brought some processor a packet which it had not had"`
	Cycles             int     `column:"cycles" doc:"from the first flit's start to the last one's arrival; every stage takes a cycle"`
	PacketsReceived    int     `column:"packets_received" doc:"different foreign packets that every living processor received at least; in an all-to-all processors - 1"`
	PacketsReceivedMax int     `column:"packets_received_max" doc:"different foreign packets that the processor received which received the most"`
	MaxPerSession      int     `column:"packets_per_session_max" doc:"most foreign packets that a processor received in one session"`
	Injected           int     `column:"packets_injected" doc:"packets sent, a broadcast counted at each of its ports"`
	Duplicates         int     `column:"duplicates_received" doc:"packets of sources that the processor had a packet from before"`
	Own                int     `column:"own_dropped" doc:"packets that came back to their sender"`
	Conflicts          int     `column:"conflicts" doc:"packets dropped at a switch because another had the output port"`
	AccessDrops        int     `column:"access_drops" doc:"packets dropped by the multiple access of a joiner"`
	LostPairs          int     `column:"access_lost_pairs" doc:"ordered pairs of processors whose packets were dropped by conflicts or multiple access and that no session served"`
	AccessBound        int     `column:"access_lost_pairs_any_rule" doc:"ordered pairs that would not be served under any rule of multiple access, by counting: a lower bound, 0 where access_lost_pairs is"`
	Unplugged          int     `column:"unplugged_drops" doc:"packets that left an inner switch by a port without a cable"`
	FaultDrops         int     `column:"fault_drops" doc:"packets that ran into a failed part"`
	MissingPairs       int     `column:"missing_pairs" doc:"ordered pairs of living processors of which the second never received the first's packet"`
	Misrouted          int     `column:"misrouted" doc:"packets of permutations that arrived elsewhere than at their destination, or not at all"`
	IdealSessions      float64 `column:"ideal_sessions" doc:"the paper's R_k / m: m packets a processor and session"`
	OverheadSessions   float64 `column:"overhead_sessions" doc:"sessions - ideal_sessions"`
	OverheadFraction   float64 `column:"overhead_fraction" doc:"overhead_sessions / sessions; at most 1/m by the paper's remark"`
	OverheadOverBound  float64 `column:"overhead_over_bound" doc:"overhead_sessions / m^(k-1); at most 1 by the paper's remark"`
	MSquaredSessions   int     `column:"m_squared_sessions" doc:"m^2: the method of the paper's references 9 and 10, one cascade"`
	Switches           int     `column:"switches" doc:"m x m switches"`
	ProcessorChannels  int     `column:"processor_channels" doc:"duplex channels of the first cascade: m a processor"`
	Channels           int     `column:"channels" doc:"duplex channels of all cascades"`
	CompleteGraph      int     `column:"complete_graph_channels" doc:"duplex channels that would join every two processors directly"`
	OverComplete       float64 `column:"channels_over_complete" doc:"channels / complete_graph_channels; 2/(m-1) for one cascade"`
	LivingProcessors   int     `column:"living_processors" doc:"processors that have not failed"`
	DirectPairs        int     `column:"direct_pairs" doc:"unordered pairs of living processors with a path of their own"`
	DetourPairs        int     `column:"detour_pairs" doc:"pairs without one that a third processor can serve"`
	CutPairs           int     `column:"cut_pairs" doc:"pairs with neither"`
	RelaySessions      int     `column:"relay_sessions" doc:"further sessions in which third processors serve detour_pairs"`
	RelayedPairs       int     `column:"relayed_pairs" doc:"ordered pairs served in them"`

	Received int      // packets from sources that the processor had nothing from before
	Last     int      // number, from 1, of the last session that brought such a packet; 0: there is none
	got      []bitRow // per destination: sources
}

// RunSessions plays a schedule on a topology pcc or pk. The seed names random permutations and
// faults. The result depends on nothing else. progress, if not nil, is told before each session how
// many of how many have begun. Once ctx ends its error is returned.
func RunSessions(ctx context.Context, t topology.Topology, c SessionsConfig, seed uint64, progress func(begun, of int)) (*SessionsResult, error) {
	n, schedule, faults, err := prepareSessions(t, c, seed)
	if err != nil {
		return nil, err
	}
	begun := 0
	options := SessionOptions{PacketFlits: c.PacketFlits, Drain: c.Drain, Stop: func() bool {
		if begun++; progress != nil {
			progress(min(begun, schedule.Sessions), schedule.Sessions)
		}
		return ctx.Err() != nil
	}}
	r := &SessionsResult{Faults: faults}
	arrived := 0
	if schedule.to != nil {
		options.Received = func(session, source, destination int) {
			if schedule.to(session, source) == destination {
				arrived++
			}
		}
	}
	r.Row = n.Run(schedule, options)
	if schedule.to != nil {
		r.Row.Misrouted = r.Row.Injected - arrived // routes lead around failed parts
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.Row.LostPairs > 0 {
		r.Row.AccessBound = n.accessBound(schedule)
	}
	least, most := n.Processors(), 0 // that living processors have received
	for d := range n.Processors() {
		if !n.faults.unitDead(0, d) {
			heard := r.Row.got[d].count()
			least, most = min(least, heard), max(most, heard)
		}
	}
	r.Row.PacketsReceived, r.Row.PacketsReceivedMax = min(least, most), most // nobody lives: 0
	r.Reach = n.Reach()
	if r.Reach.Detour > 0 {
		r.relay(n, c)
	}
	r.fill(n)
	return r, nil
}

// CheckSessions finds what [RunSessions] would refuse. Errors are joined; about settings they are
// *param.ParamError.
func CheckSessions(t topology.Topology, c SessionsConfig, seed uint64) error {
	_, _, _, err := prepareSessions(t, c, seed)
	return err
}

// prepareSessions makes everything that a run needs.
func prepareSessions(t topology.Topology, c SessionsConfig, seed uint64) (*SessionNetwork, *SessionSchedule, []Fault, error) {
	s, ok := t.(*topology.DistributedSwitch)
	if !ok {
		return nil, nil, nil, errors.New("sessions need a distributed full switch: topology pcc or pk")
	}
	if err := param.Validate(&c); err != nil {
		return nil, nil, nil, err
	}
	n := NewSessionNetwork(s)
	n.SingleAccess = c.FirstStage == "single"
	faults, failures := drawFaults(s, c, seed)
	schedule, err := newSessionSchedule(n, c, seed)
	if err := errors.Join(failures, err); err != nil {
		return nil, nil, nil, err
	}
	n.Fail(faults...)
	return n, schedule, faults, nil
}

// newSessionSchedule makes the schedule that c names.
func newSessionSchedule(n *SessionNetwork, c SessionsConfig, seed uint64) (*SessionSchedule, error) {
	indirect := c.Addressing == "indirect"
	switch c.Schedule {
	case "cyclic":
		return newCyclic(n, indirect), nil
	case "random":
		return newRandomPermutations(n, c.Permutations, indirect, seed), nil
	}
	if c.FirstStage == "single" {
		return nil, &param.ParamError{Key: "first_stage", Value: c.FirstStage, Want: fmt.Sprintf("parallel for schedule %q, which uses all ports of a processor at once", c.Schedule)}
	}
	variants := map[string]digitVariant{"digits": digitsCorrected, "digits-printed": digitsPrinted, "digits-short": digitsShort}
	if v, ok := variants[c.Schedule]; ok {
		return newDigits(n, v, indirect), nil
	}
	switch c.Schedule {
	case "accelerated":
		return newAccelerated(n, indirect), nil
	case "sigma":
		if n.k == 1 && !indirect {
			if s, ok := newSigma(n); ok {
				return s, nil
			}
		}
		return nil, &param.ParamError{Key: "schedule", Value: c.Schedule, Want: "another on this topology, or topology pcc and addressing \"direct\": its switches are set by table"}
	}
	panic("collectives: unknown session schedule " + c.Schedule)
}

// newRandomPermutations draws count uniform permutations, each from its own stream; a processor
// mapped to itself sends nothing. As many are kept as can be under way at once.
func newRandomPermutations(n *SessionNetwork, count int, indirect bool, seed uint64) *SessionSchedule {
	type drawn struct {
		session int
		to      []int32
	}
	recent := slices.Repeat([]drawn{{session: -1}}, 2*n.k+2)
	return permutations(n, count, indirect, func(t, x int) int {
		d := &recent[t%len(recent)]
		if d.session != t {
			d.session, d.to = t, make([]int32, n.Processors())
			for y := range d.to {
				d.to[y] = int32(y)
			}
			stream := sim.NewStream(seed, "session-permutation", t)
			sim.Shuffle(&stream, d.to)
		}
		return int(d.to[x])
	})
}

// drawFaults draws the parts that fail, each kind from its own stream, or reports all problems.
func drawFaults(s *topology.DistributedSwitch, c SessionsConfig, seed uint64) ([]Fault, error) {
	var drawn []Fault
	var problems []error
	if c.FailProcessors+c.FailUnits+c.FailSwitches+c.FailChannels == 0 {
		return nil, nil // without listing all parts
	}
	all := Faults(s)
	for i, kind := range []struct {
		key   string
		count int
		holds func(Fault) bool
	}{
		{"fail_processors", c.FailProcessors, func(f Fault) bool { return f.Kind == UnitFault && f.Stage == 1 }},
		{"fail_units", c.FailUnits, func(f Fault) bool { return f.Kind == UnitFault && f.Stage > 1 }},
		{"fail_switches", c.FailSwitches, func(f Fault) bool { return f.Kind == SwitchFault }},
		{"fail_channels", c.FailChannels, func(f Fault) bool { return f.Kind == ChannelFault }},
	} {
		parts := lists.Filter(all, kind.holds)
		if kind.count > len(parts) {
			problems = append(problems, &param.ParamError{Key: kind.key, Value: kind.count, Want: fmt.Sprintf("at most %d on %s", len(parts), s.Name())})
			continue
		}
		stream := sim.NewStream(seed, "session-faults", i)
		sim.Shuffle(&stream, parts)
		drawn = append(drawn, parts[:kind.count]...)
	}
	return drawn, errors.Join(problems...)
}

// relay plays the sessions that restore broken pairs and counts what arrives.
func (r *SessionsResult) relay(n *SessionNetwork, c SessionsConfig) {
	sessions := n.relays()
	expected := make([]map[int]Relay, len(sessions)) // per session, by destination
	for t, relays := range sessions {
		expected[t] = map[int]Relay{}
		for _, relay := range relays {
			expected[t][relay.Destination] = relay
		}
	}
	r.Row.RelaySessions = len(sessions)
	n.Run(newRelaySchedule(n, sessions, c.Addressing == "indirect"), SessionOptions{
		PacketFlits: c.PacketFlits, Drain: c.Drain,
		Received: func(session, source, destination int) {
			relay, ok := expected[session][destination]
			if ok && relay.Via == source && r.Row.Heard(source, relay.Source) {
				r.Row.RelayedPairs++
			}
		},
	})
}

// fill works out the rest of the row.
func (r *SessionsResult) fill(n *SessionNetwork) {
	row, R, m := r.Row, n.Processors(), n.m
	row.Name, row.Processors = n.sw.Name(), R
	if row.SessionsToComplete = float64(row.Last); row.MissingPairs > 0 {
		row.SessionsToComplete = math.NaN()
	}
	row.IdealSessions = float64(R) / float64(m)
	row.OverheadSessions = float64(row.Sessions) - row.IdealSessions
	row.OverheadFraction = row.OverheadSessions / float64(row.Sessions)
	row.OverheadOverBound = row.OverheadSessions / math.Pow(float64(m), float64(n.k-1))
	row.MSquaredSessions, row.Switches, row.ProcessorChannels = m*m, n.sw.Copies(0), R*m
	row.Channels, row.CompleteGraph = n.sw.Facts().Links, R*(R-1)/2
	row.OverComplete = float64(row.Channels) / (float64(R) * float64(R-1) / 2)
	row.LivingProcessors, row.DirectPairs, row.DetourPairs, row.CutPairs = r.Reach.Living, r.Reach.Direct, r.Reach.Detour, r.Reach.Cut
}
