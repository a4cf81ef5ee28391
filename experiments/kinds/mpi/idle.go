package mpi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/kinds/connections"
	"github.com/weft-sim/weft/mpi"
)

// idle warns of the settings of the point that change nothing.
func (c *Config) idle() []experiments.Warning {
	if c.Job.Machine == "loggops" {
		return experiments.IdleOf(idleMachines, c)
	}
	return append(experiments.IdleOf(idleMachines, c), IdleRuntime(c)...)
}

// IdleRuntime is idle of the tables that kind jobs has, too.
func IdleRuntime(c *Config) []experiments.Warning {
	return slices.Concat(experiments.IdleOf(connections.Idle, &c.Connections), experiments.IdleOf(idleProtocol, c), experiments.IdleOf(idleNoise, &c.Noise))
}

// idleMachines are tables of other machines than the point's.
var idleMachines = func() (list []experiments.Idle[*Config]) {
	for _, of := range []struct {
		machines, tables []string
	}{
		{[]string{"fabric"}, []string{"topology", "routing", "fabric", "switch", "terminal", "channel", "trace"}},
		{[]string{"loggp"}, []string{"loggp"}},
		{[]string{"loggops"}, []string{"loggops"}},
		{[]string{"loggp", "fabric"}, []string{"system", "placement", "protocol", "connections", "noise", "memory"}},
	} {
		because := fmt.Sprintf("it is of job.machine = \"%s\"", strings.Join(of.machines, `" or "`))
		for _, table := range of.tables {
			list = append(list, experiments.Idle[*Config]{
				Key: table + ".*", When: func(c *Config) bool { return !slices.Contains(of.machines, c.Job.Machine) },
				Because: because,
			})
		}
	}
	return list
}()

var idleProtocol = []experiments.Idle[*Config]{
	{Key: "connections.tear_down", When: connectsBefore, Because: "no connections are made on demand"},
	{Key: "hca.qp_create", When: connectsBefore, Because: "no connections are made on demand"},
	{Key: "hca.qp_modify", When: connectsBefore, Because: "no connections are made on demand"},
	{Key: "hca.qp_destroy", When: func(c *Config) bool { return !c.Connections.TearDown || connectsBefore(c) }, Because: "no connections are closed"},
	{Key: "hca.rnr_delay", When: func(c *Config) bool { return !c.Protocol.LimitBuffers }, Because: "protocol.limit_buffers is false"},
	{Key: "connections.srq_least", When: func(c *Config) bool { return c.Connections.Mode == mpi.RC }, Because: `connections.mode = "rc" has no shared receive queues`},
	{Key: "connections.srq_least", When: func(c *Config) bool { return c.Connections.Mode != mpi.RC && !c.Protocol.LimitBuffers }, Because: "protocol.limit_buffers is false"},
	{Key: "protocol.read_overhead", When: func(c *Config) bool { return c.Protocol.Rendezvous != "read" }, Because: `it is of protocol.rendezvous = "read"`},
	{Key: "protocol.single_copy_time", When: inTwoCopies, Because: "protocol.single_copy is 0B"},
	{Key: "protocol.single_copy_rate", When: inTwoCopies, Because: "protocol.single_copy is 0B"},
	{Key: "loggp.far_latency", When: func(c *Config) bool { return c.LogGP.PerLeaf == 0 }, Because: "loggp.nodes_per_leaf is 0"},
	{Key: "connections.srq_buffers", When: func(c *Config) bool { return c.Connections.Mode == mpi.RC }, Because: `connections.mode = "rc" has no shared receive queues`},
	{Key: "memory.domains", When: oneDomain, Because: "memory.bandwidth is without limit, and memory.domain_latency and domain_rate are not given"},
	{Key: "memory.domain_ranks", When: oneDomain, Because: "memory.bandwidth is without limit, and memory.domain_latency and domain_rate are not given"},
	{Key: "memory.cached", When: func(c *Config) bool { return c.Memory.Bandwidth == 0 }, Because: "memory.bandwidth is without limit"},
}

func inTwoCopies(c *Config) bool { return c.Protocol.SingleCopy == 0 }

func connectsBefore(c *Config) bool { return !c.Connections.OnDemand && c.Connections.Group == 0 }

var idleNoise = []experiments.Idle[*mpi.Noise]{
	{Key: "noise.call_distribution", When: func(n *mpi.Noise) bool { return n.Call == 0 }, Because: "noise.call is 0"},
	{Key: "noise.compute_distribution", When: func(n *mpi.Noise) bool { return n.Compute == 0 }, Because: "noise.compute is 0"},
	{Key: "noise.spread", When: func(n *mpi.Noise) bool {
		return !(n.Call > 0 && n.CallLaw == mpi.Normal || n.Compute > 0 && n.ComputeLaw == mpi.Normal)
	}, Because: "nothing is drawn from a normal distribution"},
	{Key: "noise.daemon_every", When: func(n *mpi.Noise) bool { return n.DaemonTime == 0 }, Because: "noise.daemon_time is 0"},
	{Key: "noise.daemon_time", When: func(n *mpi.Noise) bool { return n.DaemonEvery == 0 }, Because: "noise.daemon_every is 0"},
}

// oneDomain tells whether it makes no difference in which domain of a node's memory a rank is.
func oneDomain(c *Config) bool {
	return c.Memory.Bandwidth == 0 && c.Memory.Between == 0 && c.Memory.Across == 0
}
