package skeletons

import (
	"testing"

	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
)

// TestTimelineOfSettings: whatever the library, connections, noise and memory are, what ranks do and wait
// for adds up, and so does the critical path; and the run is the run without a timeline.
func TestTimelineOfSettings(t *testing.T) {
	// Ranks that begin late, whose connections others close, or who connect when a message is staged.
	pauses := map[string]bool{"noise": true, "torn down": true, "staging": true}
	for name, set := range map[string]func(c *mpi.Config){
		"datagrams":      func(c *mpi.Config) { c.Connections.Mode = mpi.UD },
		"xrc, on demand": func(c *mpi.Config) { c.Connections.Mode, c.Connections.OnDemand = mpi.XRCS, true },
		"groups":         func(c *mpi.Config) { c.Connections.Group = 4 },
		"proxies":        func(c *mpi.Config) { c.Connections.Group, c.Connections.Proxy = 4, true },
		"torn down":      func(c *mpi.Config) { c.Connections.OnDemand, c.Connections.TearDown = true, true },
		"few buffers":    func(c *mpi.Config) { c.Connections.Mode, c.Connections.Preposted = mpi.RC, 1 },
		"staging":        func(c *mpi.Config) { c.Protocols.StagingPage, c.Connections.OnDemand = 300*sim.Nanosecond, true },
		"no overheads": func(c *mpi.Config) {
			c.Protocols.SendOverhead, c.Protocols.RecvOverhead, c.Protocols.PollOverhead = 0, 0, 0
		},
		"rendezvous": func(c *mpi.Config) { c.Protocols.EagerLimit, c.Protocols.RegisterTime = 0, sim.Microsecond },
		"noise": func(c *mpi.Config) {
			c.Noise = mpi.Noise{StartSkew: 5 * sim.Microsecond, Call: 100 * sim.Nanosecond, CallLaw: mpi.Exponential, DaemonEvery: 20 * sim.Microsecond, DaemonTime: 2 * sim.Microsecond}
		},
		"shared memory": func(c *mpi.Config) { c.Memory = mpi.Memory{Bandwidth: 60e9, Domains: 1} },
	} {
		t.Run(name, func(t *testing.T) {
			for _, skeleton := range []string{"halo", "osu-alltoall", "nas-lu", "stencil", "many-to-one", "traffic"} {
				config := mpi.Config{
					Placement: mpi.Placement{Type: mpi.Block, PerNode: 4}, Protocols: mpi.DefaultProtocols, Connections: mpi.DefaultConnections,
					Memory: mpi.DefaultMemory, Adapter: hca.QDR, Transport: mpi.DefaultLogGP.New, Seed: 1,
				}
				set(&config)
				program := sample(t, skeleton)
				without, err := config.Run(program.Run(sim.Picosecond, mpi.Costs{}))
				if err != nil {
					t.Fatal(skeleton, err)
				}
				config.Timeline = mpi.NewTimeline(1 << 20)
				r, err := config.Run(program.Run(sim.Picosecond, mpi.Costs{}))
				if err != nil || r.Elapsed != without.Elapsed || r.Stats != without.Stats {
					t.Errorf("%s: %v, %+v, without a timeline %+v", skeleton, err, r.Stats, without.Stats)
				}
				checkTimeline(t, config.Timeline, &r)
				for rank := range config.Timeline.Ranks() {
					config.Timeline.Of(rank, func(a mpi.Activity) {
						if a.What == mpi.Pausing && skeleton != "traffic" && !pauses[name] {
							t.Fatalf("%s: rank %d waits for nothing: %+v", skeleton, rank, a)
						}
					})
				}
			}
		})
	}
}
