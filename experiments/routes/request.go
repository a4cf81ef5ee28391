package routes

import (
	"fmt"
	"path/filepath"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/routing/opensm"
	"github.com/weft-sim/weft/sim/input"
)

// Engines lists the engines in alphabetical order.
func Engines() []string { return opensm.Engines() }

// Patterns lists the patterns of traffic in alphabetical order.
func Patterns() []string { return traffic.Patterns.Names() }

// ReadJobsFile is [ReadJobs] for a file.
func ReadJobsFile(path string, network topology.Topology, seed uint64) ([]Job, error) {
	f, err := input.OpenInput(path, input.MaxSettings)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read: %w", path, err)
	}
	defer f.Close()
	return ReadJobs(f, path, network, seed)
}

// ReadConfig reads a configuration file of OpenSM; OpenSM's defaults for "".
func ReadConfig(path string) (*opensm.Config, error) {
	if path == "" {
		return opensm.DefaultConfig(), nil
	}
	f, err := input.OpenInput(path, input.MaxSettings)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read: %w", path, err)
	}
	defer f.Close()
	return opensm.ReadConfig(f, path, filepath.Dir(path))
}
