package kinds

import (
	"context"

	"github.com/weft-sim/weft/experiments"
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
