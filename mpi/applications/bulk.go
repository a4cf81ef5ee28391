package applications

import (
	"fmt"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/mpi/skeletons"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(skeletons.Registry, "allreduce-bound", "every rank computes, then all take part in a collective, as data-parallel training does with its gradients", Collective{skeletons.Iterations{Iterations: 10}, 1 << 20, param.Choose(collectives.Registry, "allreduce-ring")}, func(c Collective, e skeletons.Env) (skeletons.Program, error) {
		a, err := c.Algorithm.Build(collectives.Env{Ranks: e.Ranks, PerNode: e.PerNode, Bytes: c.Bytes})
		if err != nil {
			return nil, err
		}
		return mpi.Iterate(collectives.Sequence(collectives.Work(e.Ranks, c.Compute), a), c.Times(10)), nil
	})
	param.Register(skeletons.Registry, "group-alltoall", "an alltoall within each group of ranks, then they compute: a 2-D FFT's rows, experts of a layer", GroupAlltoall{skeletons.Iterations{Iterations: 10}, 16384, 4, 1, "alltoall-pairwise"}, newGroupAlltoall)
	param.Register(skeletons.Registry, "cosmoflow", "training with samples from storage: every rank waits for its sample, computes, and a long vector is summed (CosmoFlow, MLPerf HPC; sizes as MFNetSim's, PADS 2025)", Cosmoflow{Iterations: skeletons.Iterations{Iterations: 5, Compute: 129 * sim.Millisecond}, Bytes: 29516800}, newCosmoflow)
	storage := Storage{skeletons.Iterations{Iterations: 10}, 4 << 20, 1 << 20, 1}
	param.Register(skeletons.Registry, "many-to-one", "the last ranks are servers: all others write to theirs, request by request, each answered", storage, newStorage)
	storage.Iterations = skeletons.Iterations{Iterations: 10, Compute: sim.Millisecond}
	param.Register(skeletons.Registry, "checkpoint", "the same after computing: bursts of writes with pauses between (Daly, FGCS 2006, has how often)", storage, newStorage)
	param.Register(skeletons.Registry, "nekbone", "conjugate gradients on spectral elements: exchanges with up to 26 neighbours on a 3-D grid and sums of a number (Nekbone, CORAL benchmarks; sizes as MFNetSim's, PADS 2025)", Nekbone{Dims: []int{4, 2, 2}, Orders: []int{8, 11, 14}, Elements: 13, Steps: 100}, newNekbone)
}

// Collective configures computing and a collective.
type Collective struct {
	skeletons.Iterations
	Bytes     sim.Bytes                                             `toml:"bytes" doc:"size of the vector, or of a block" min:"0B"`
	Algorithm param.Choice[collectives.Env, collectives.Collective] `toml:"algorithm" doc:"collective that is run; its settings stand beside it"`
}

// Cosmoflow configures training with input.
type Cosmoflow struct {
	skeletons.Iterations
	Bytes sim.Bytes `toml:"bytes" doc:"size of the vector" min:"0B"`
	Held  []float64 `toml:"held_ns" doc:"time for which each rank waits for storage in each iteration; left out: none" unit:"ns" min:"0" max:"1000000000000"`
}

func newCosmoflow(c Cosmoflow, e skeletons.Env) (skeletons.Program, error) {
	if n := len(c.Held); n > 0 && n != e.Ranks {
		return nil, &param.ParamError{Key: "held_ns", Value: fmt.Sprintf("%d times", n), Want: fmt.Sprintf("one for each of %d ranks", e.Ranks)}
	}
	compute := collectives.Uniform(e.Ranks, 1, func(rank, _ int, dst []collectives.Op) []collectives.Op {
		t := c.Compute
		if len(c.Held) > 0 {
			t += sim.Time(c.Held[rank] * float64(sim.Nanosecond))
		}
		return append(dst, collectives.Op{Kind: collectives.Compute, Time: t})
	})
	return mpi.Iterate(collectives.Sequence(compute, collectives.AllreduceRecursiveHalving(e.Ranks, int64(c.Bytes))), c.Times(5)), nil
}

// GroupAlltoall configures exchanges within groups.
type GroupAlltoall struct {
	skeletons.Iterations
	Bytes    sim.Bytes `toml:"bytes" doc:"size of a block" min:"0B"`
	Group    int       `toml:"group" doc:"ranks of a group" min:"1"`
	Stride   int       `toml:"stride" doc:"from one rank of a group to the next; 1: consecutive ranks" min:"1"`
	Alltoall string    `toml:"alltoall" doc:"algorithm"`
}

func newGroupAlltoall(c GroupAlltoall, e skeletons.Env) (skeletons.Program, error) {
	if block := c.Group * c.Stride; block <= 0 || e.Ranks%block != 0 {
		return nil, &param.ParamError{Key: "group", Value: c.Group, Want: fmt.Sprintf("groups that fill the %d ranks: group times stride must divide them", e.Ranks)}
	}
	a, err := collectives.Registry.New(c.Alltoall, collectives.Env{Ranks: c.Group, PerNode: min(e.PerNode, c.Group), Bytes: c.Bytes})
	if err != nil {
		return nil, err
	}
	return mpi.Iterate(computeThen(e.Ranks, c.Compute, collectives.Divide(a, e.Ranks, c.Stride)), c.Times(10)), nil
}

// Storage configures writes to servers.
type Storage struct {
	skeletons.Iterations
	Bytes   sim.Bytes `toml:"bytes" doc:"what a client writes in an iteration" min:"1B"`
	Request sim.Bytes `toml:"request" doc:"largest request" min:"1B"`
	Servers int       `toml:"servers" doc:"the last ranks, which do not compute; clients are divided among them in blocks" min:"1"`
}

func newStorage(c Storage, e skeletons.Env) (skeletons.Program, error) {
	clients := e.Ranks - c.Servers
	if clients < c.Servers {
		return nil, &param.ParamError{Key: "servers", Value: c.Servers, Want: fmt.Sprintf("at most half of the %d ranks", e.Ranks)}
	}
	requests := int((c.Bytes + c.Request - 1) / c.Request)
	// Rounds 0: computing; 1, 3, ...: requests; 2, 4, ...: answers.
	body := collectives.Uniform(e.Ranks, 1+2*requests, func(rank, round int, dst []collectives.Op) []collectives.Op {
		if round == 0 {
			if rank < clients && c.Compute > 0 {
				dst = append(dst, collectives.Op{Kind: collectives.Compute, Time: c.Compute})
			}
			return dst
		}
		bytes := int64(min(c.Request, c.Bytes-sim.Bytes((round-1)/2)*c.Request))
		answer := round%2 == 0
		if rank < clients {
			server := clients + rank*c.Servers/clients
			if answer {
				return append(dst, collectives.RecvOp(server, 1, skeletons.Acknowledgement))
			}
			return append(dst, collectives.SendOp(server, 0, bytes))
		}
		first := ((rank-clients)*clients + c.Servers - 1) / c.Servers
		for client := first; client < clients && client*c.Servers/clients == rank-clients; client++ {
			if answer {
				dst = append(dst, collectives.SendOp(client, 1, skeletons.Acknowledgement))
			} else {
				dst = append(dst, collectives.RecvOp(client, 0, bytes))
			}
		}
		return dst
	})
	return mpi.Iterate(body, c.Times(10)), nil
}

// Nekbone configures conjugate gradients on spectral elements.
type Nekbone struct {
	Dims     []int `toml:"dims" doc:"ranks along each of three dimensions; the first varies fastest" min:"1"`
	Orders   []int `toml:"orders" doc:"orders of the polynomials, one after the other" min:"1" max:"1000"`
	Elements int   `toml:"elements" doc:"elements of a rank along each dimension" min:"1" max:"10000"`
	Steps    int   `toml:"steps" doc:"of the conjugate gradients, twice for each order" min:"1"`
}

// newNekbone: a face has as many points along each dimension as the elements of a rank.
func newNekbone(c Nekbone, e skeletons.Env) (skeletons.Program, error) {
	if err := checkGrid(c.Dims, e.Ranks); err != nil {
		return nil, err
	}
	if len(c.Orders) == 0 {
		return nil, &param.ParamError{Key: "orders", Value: c.Orders, Want: "at least one"}
	}
	sum, barrier := collectives.AllreduceRecursiveDoubling(e.Ranks, 8), collectives.BarrierDissemination(e.Ranks)
	var all []collectives.Schedule
	for _, order := range c.Orders {
		points := sim.Bytes(c.Elements*order + 1)
		exchange := Stencil{Dims: c.Dims, Bytes: 8 * points * points, Edge: 8 * points, Corner: 8}.exchange(byKind(len(c.Dims), 2))
		solve := collectives.Sequence(sum, mpi.Iterate(collectives.Sequence(sum, exchange, sum, sum), c.Steps))
		all = append(all, exchange, exchange, solve, barrier, solve)
	}
	return mpi.Iterate(collectives.Sequence(all...), 1), nil
}
