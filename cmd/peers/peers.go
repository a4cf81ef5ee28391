// Package peers is what weft is held against beside papers and curves of networks: flows of htsim, jobs of
// MFNetSim, benchmarks of machines.
package peers

import (
	_ "github.com/weft-sim/weft/experiments/congestion"
	_ "github.com/weft-sim/weft/experiments/hardware"
	_ "github.com/weft-sim/weft/experiments/intervals"
	_ "github.com/weft-sim/weft/experiments/jobruns"
)
