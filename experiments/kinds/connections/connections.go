// Package connections is the kind connections: the memory of InfiniBand connections, by formulas.
package connections

import (
	"context"
	"fmt"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	experiments.Register(experiments.Kind[connectionsConfig, connectionsRow]{
		Name:        "connections",
		RestsOn:     verdict.Formula,
		Revision:    1, // memory of nodes that are not full
		BeginsAgain: "it is computed in a moment",
		Doc:         "memory of InfiniBand connections: QPs and bytes of a process and a node, from the formulas of each mode",
		Defaults: func() connectionsConfig {
			return connectionsConfig{Job: connectionsJob{Ranks: 1024, PerNode: 4, MaxQP: hca.HDR.MaxQP}, Connections: mpi.DefaultConnections}
		},
		Check: func(c *connectionsConfig, _ uint64) ([]experiments.Warning, error) {
			f := c.Connections.Footprint(c.Job.Ranks, c.Job.PerNode, int64(c.Job.OnDemandQPs))
			whole := c.Connections // one to each peer
			whole.Group, whole.OnDemand = 0, false
			if most := max(0, whole.QPs(c.Job.Ranks, c.Job.PerNode)-f.Static); f.OnDemand > most {
				return nil, &param.ParamError{Key: "job.on_demand_qps", Value: f.OnDemand, Want: fmt.Sprintf("at most %d: beside the %d QPs of the start a process has no further peers", most, f.Static)}
			}
			return experiments.IdleOf(experiments.IdleOf(PairWarnings(f.NodeQPs, c.Job.MaxQP, "job.max_qp"), Idle, &c.Connections), idleFormulas, &c.Connections), nil
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
	Node          float64 `column:"memory_per_node_bytes" doc:"queues and pre-posted buffers of all processes of a node" best:"lowest memory of a node"`
	NodeQPs       int64   `column:"qps_per_node" doc:"QPs of all processes of a node, those included by which XRC receives"`
}

var Idle = []experiments.Idle[*mpi.Connections]{
	{Key: "connections.preposted connections.recv_depth", When: otherMode(mpi.RC), Because: `it is of connections.mode = "rc"`},
	{Key: "connections.srq_least connections.srq_buffers", When: func(c *mpi.Connections) bool { return c.Mode == mpi.RC }, Because: `connections.mode = "rc" has no shared receive queues`},
	{Key: "connections.sizes", When: otherMode(mpi.XRCM), Because: `it is of connections.mode = "xrc-m"`},
	{Key: "connections.buffer", When: func(c *mpi.Connections) bool { return c.Mode == mpi.UD }, Because: `buffers of connections.mode = "ud" hold a packet`},
}

func otherMode(mode string) func(*mpi.Connections) bool {
	return func(c *mpi.Connections) bool { return c.Mode != mode }
}

// idleFormulas are settings of connections that the formulas do not count.
var idleFormulas = []experiments.Idle[*mpi.Connections]{
	{Key: "connections.tear_down", Because: "the formulas count all connections made"},
	{Key: "connections.proxy", Because: "job.on_demand_qps says how many connections are made on demand"},
	{Key: "connections.srq_least", Because: "the formulas count one buffer a QP"},
}

// PairWarnings finds more queue pairs on a node than its adapter can have; most, of the setting key, is 0
// for any number.
func PairWarnings(pairs int64, most int, key string) []experiments.Warning {
	if most == 0 || pairs <= int64(most) {
		return nil
	}
	return []experiments.Warning{{Key: key, Message: fmt.Sprintf(
		"= %d is less than the %d queue pairs of a node's processes: connections cannot be made on such an adapter; fewer have connections.mode = \"xrc-s\" or \"ud\", connections.group and connections.on_demand", most, pairs)}}
}
