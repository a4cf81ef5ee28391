package routes

import (
	"fmt"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
)

// Demand is what terminals send while the load of cables is looked at.
type Demand struct {
	Name string
	// Draws are what is looked at one by one: one matrix, or several of a pattern that is
	// drawn at random.
	Draws []Matrix
	// Jobs are the parts of the one draw of a list of jobs; nil for patterns.
	Jobs []Job
}

// Matrix is a traffic matrix: what a terminal sends to each destination, in its full
// rate.
type Matrix interface {
	Weights(src topology.TerminalID, yield func(dst topology.TerminalID, weight float64))
}

// PatternDemand is a registered pattern with its defaults, every terminal sending at its
// full rate, drawn so many times.
func PatternDemand(network topology.Topology, name string, draws int) (*Demand, error) {
	d := &Demand{Name: name}
	for seed := range draws {
		matrix, err := patternMatrix(network, name, uint64(seed+1))
		if err != nil {
			return nil, fmt.Errorf("--pattern %s: %w", name, err)
		}
		d.Draws = append(d.Draws, matrix)
	}
	return d, nil
}

func patternMatrix(network topology.Topology, name string, seed uint64) (Matrix, error) {
	config, err := traffic.Patterns.Config(name)
	if err != nil {
		return nil, err
	}
	pattern, err := traffic.Patterns.Build(name, config, traffic.Env{Topology: network, Seed: seed})
	if err != nil {
		return nil, err
	}
	matrix, ok := pattern.(traffic.Matrix)
	if !ok {
		return nil, fmt.Errorf("its traffic matrix is not known")
	}
	return matrix, nil
}

// JobDemand is a list of jobs that run at the same time.
func JobDemand(jobs []Job) *Demand {
	return &Demand{Name: "jobs", Draws: []Matrix{together(jobs)}, Jobs: jobs}
}

// together is the traffic of several jobs.
type together []Job

func (t together) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	for i := range t {
		t[i].Weights(src, yield)
	}
}
