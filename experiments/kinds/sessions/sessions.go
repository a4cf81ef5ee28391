// Package sessions is the kind sessions: packets through a distributed full switch, without
// buffers.
package sessions

import (
	"context"
	"fmt"

	"github.com/weft-sim/weft/collectives/dswitch"
	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/network"
	"github.com/weft-sim/weft/fabric/topology"
)

func init() {
	experiments.Register(experiments.Kind[sessionsConfig, dswitch.SessionsRow]{
		Name:        "sessions",
		BeginsAgain: Again,
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

// Again is measured: PK_1(16257, 128, 1), the largest switch of one cascade, under
// schedule "accelerated", on one thread.
const Again = "sessions have no form to be kept in yet; an all-to-all of 16,257 processors takes 15 seconds of a processor"

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
	return experiments.IdleOf(Warnings(s, c.Sessions.Schedule), idleSessions, c), nil
}

var idleSessions = []experiments.Idle[*sessionsConfig]{
	{Key: "sessions.permutations", When: func(c *sessionsConfig) bool { return c.Sessions.Schedule != "random" }, Because: `it is of sessions.schedule = "random"`},
}

// Warnings says where a schedule is known to do less than its name promises, or more than it needs.
func Warnings(s *topology.DistributedSwitch, schedule string) []experiments.Warning {
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

// Progress tells how far the sessions of a point are.
func Progress(run *experiments.Run) func(begun, of int) {
	return func(begun, of int) { run.Advance(int64(begun), int64(of), "sessions") }
}

func runSessions(ctx context.Context, c *sessionsConfig, run *experiments.Run) (dswitch.SessionsRow, error) {
	t, err := c.Topology.Type.BuildShared(struct{}{})
	if err != nil {
		return dswitch.SessionsRow{}, err
	}
	r, err := dswitch.RunSessions(ctx, t, c.Sessions, run.Seed, Progress(run))
	if err != nil {
		return dswitch.SessionsRow{}, document.Under("sessions", "sessions.schedule", err)
	}
	crossed := int64(2*t.(*topology.DistributedSwitch).Cascades()+1) * int64(r.Row.Injected) * int64(c.Sessions.PacketFlits)
	run.Count(crossed, crossed)
	return *r.Row, nil
}
