package mpi_test

import (
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/sim"
)

// TestGolden pins what the runtime over LogGP does: a hash of every rank's
// finish time and of the counters, of runs that reach every protocol, way of
// connecting and queue. The numbers were recorded from a plainer
// implementation; they say nothing about right or wrong, but a change that is
// meant to leave results alone must leave them alone. A change of the model
// records them anew (the failure prints them) and says so in the change log.
func TestGolden(t *testing.T) {
	for _, c := range goldenRuns(t) {
		r, err := c.config().Run(c.begin())
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := digest(&r); got != c.want {
			t.Errorf("%s: digest %#x, want %#x; %+v", c.name, got, c.want, r.Stats)
		}
	}
}

// goldenRun is a run over LogGP, with the digest of its result.
type goldenRun struct {
	name     string
	schedule collectives.Schedule
	set      func(*mpi.Config, *mpi.LogGP)
	want     uint64
}

func (c *goldenRun) config() mpi.Config {
	network := mpi.DefaultLogGP
	network.HCA = hca.QDR
	config := mpi.QDRConfig(4)
	config.Seed = 7
	if c.set != nil {
		c.set(&config, &network)
	}
	config.Transport = network.New
	return config
}

func (c *goldenRun) begin() mpi.Workload {
	return mpi.RunSchedule(c.schedule, mpi.Costs{Copy: 200, Combine: 500}, sim.Picosecond)
}

func goldenRuns(t *testing.T) []goldenRun {
	pairwise := func(ranks int, bytes sim.Bytes) collectives.Schedule {
		return collectives.AlltoallPairwise(collectives.Env{Ranks: ranks, PerNode: 4, Bytes: bytes})
	}
	linear := func(ranks int, bytes sim.Bytes) collectives.Schedule {
		return collectives.AlltoallLinear(collectives.Env{Ranks: ranks, PerNode: 4, Bytes: bytes})
	}
	ft := func(c *skeletons.FT) {
		c.Iterations = skeletons.Iterations{Iterations: 2, Compute: 3 * sim.Millisecond}
	}
	lu := func(c *skeletons.LU) {
		c.Iterations = skeletons.Iterations{Iterations: 2, Compute: 3 * sim.Millisecond}
	}
	mode := func(mode string, group int) func(*mpi.Config, *mpi.LogGP) {
		return func(c *mpi.Config, _ *mpi.LogGP) { c.Connections.Mode, c.Connections.Group = mode, group }
	}
	return []goldenRun{
		{"pairwise, eager", pairwise(64, 4000), nil, 0x7f4d8060935a6647},
		{"pairwise, rendezvous of several quanta", pairwise(64, 40000), nil, 0xf55453a6391503bf},
		{"pairwise on 60 ranks, xrc-s", pairwise(60, 9000), mode(mpi.XRCS, 0), 0xd92ddb2a416b8b72},
		{"linear, indexed lists", linear(64, 3000), nil, 0xcdeb0de9fe5557df},
		{"linear, ud", linear(64, 12000), mode(mpi.UD, 0), 0xcb7b8473bb5c354a},
		{"lu, receivers not ready", skeletonSchedule(t, "nas-lu", 64, lu), func(c *mpi.Config, _ *mpi.LogGP) {
			c.Connections.Mode, c.Connections.Preposted, c.Adapter.RNRDelay = mpi.RC, 1, 20*sim.Microsecond
		}, 0xe6faf20a7047cb74},
		{"lu, few buffers of a shared queue", skeletonSchedule(t, "nas-lu", 64, lu), func(c *mpi.Config, _ *mpi.LogGP) {
			c.Connections.OnDemand, c.Connections.SRQLeast, c.Adapter.RNRDelay = true, 1, 20*sim.Microsecond
		}, 0x67e6faeb65939b4d},
		{"small context cache, packet and turning times", linear(64, 30000), func(_ *mpi.Config, l *mpi.LogGP) {
			l.HCA.ContextEntries, l.HCA.PacketTime, l.HCA.SwitchTime = 16, 20*sim.Nanosecond, 30*sim.Nanosecond
		}, 0xaeaecef0be4df175},
		{"groups, on demand between", pairwise(64, 9000), mode(mpi.RCSRQ, 16), 0x9055ca0f458cf7fa},
		{"groups, xrc-m", pairwise(64, 2000), mode(mpi.XRCM, 16), 0xad596e28183ac4f1},
		{"groups, proxies", pairwise(64, 9000), func(c *mpi.Config, _ *mpi.LogGP) { c.Connections.Group, c.Connections.Proxy = 16, true }, 0xf8b3e1464b13b47d},
		{"on demand, torn down", skeletonSchedule(t, "nas-ft", 64, ft), func(c *mpi.Config, _ *mpi.LogGP) { c.Connections.OnDemand, c.Connections.TearDown = true, true }, 0x101880891eb67f9},
		{"ft in columns, cyclic", skeletonSchedule(t, "nas-ft", 256, ft), func(c *mpi.Config, _ *mpi.LogGP) { c.Placement.Type = mpi.Cyclic }, 0x3349341ef7e3913f},
		{"lu, random nodes", skeletonSchedule(t, "nas-lu", 64, lu), func(c *mpi.Config, _ *mpi.LogGP) { c.Placement.Type = mpi.Random }, 0x3d96277c2cee9f7b},
		{"lu without copies", skeletonSchedule(t, "nas-lu", 64, lu), func(c *mpi.Config, _ *mpi.LogGP) { c.Protocols.EagerCopies, c.Protocols.LimitBuffers = false, false }, 0xd29f82525aa74158},
		{"lss", collectives.AlltoallLSS(collectives.Env{Ranks: 40, PerNode: 4, Bytes: 20000}, collectives.LSSSettings{NoticeEvery: 3}), nil, 0x13eb01e740979d96},
		{"direct-eager", collectives.AlltoallDirectEager(collectives.Env{Ranks: 40, PerNode: 4, Bytes: 20000}), nil, 0x5c339127b2fbea36},
		{"ring-rendezvous", collectives.AlltoallRing(collectives.Env{Ranks: 40, PerNode: 4, Bytes: 20000}), mode(mpi.RC, 8), 0x96ce9fa1859ea396},
		{"reduce, dissemination", collectives.Sequence(collectives.ReduceBinomial(100, 3, 5000), collectives.BarrierDissemination(100)), nil, 0xa97454747c9bbb08},
	}
}

// digest hashes all of a result that is of the model (FNV-1a by words).
func digest(r *mpi.Result) uint64 {
	h := uint64(14695981039346656037)
	add := func(x int64) {
		h = (h ^ uint64(x)) * 1099511628211
		h ^= h >> 29
	}
	for _, t := range r.Finish {
		add(int64(t))
	}
	s, a := r.Stats, r.HCA
	for _, x := range []int64{
		s.Messages, s.Bytes, s.Shared, s.Rendezvous, s.Control, s.NotReady, s.Handshakes, s.Relayed, s.Connecting,
		s.QPs, s.QPsClosed, s.QPsPeak, int64(s.KernelTime), int64(s.ConnectWait),
		a.Requests, a.Bursts, a.Bytes, a.ContextMisses, int64(a.SendBusy), int64(a.RecvBusy), int64(a.MissTime),
	} {
		add(x)
	}
	return h
}
