// Command weft simulates interconnects: it runs experiment files, checks and
// plots them, and reproduces the experiments of papers.
package main

import (
	"github.com/weft-sim/weft/cmd/command"

	_ "github.com/weft-sim/weft/cmd/infiniband"         // files and tables of subnet managers, OpenSM's engines
	_ "github.com/weft-sim/weft/cmd/networks"           // the field's topologies, their atlas, BookSim2's curves
	_ "github.com/weft-sim/weft/cmd/peers"              // what weft is held against: htsim, MFNetSim, benchmarks
	_ "github.com/weft-sim/weft/cmd/report"             // one page of result folders
	_ "github.com/weft-sim/weft/cmd/trace"              // traces of applications: Chakra, DUMPI, OTF2, SimGrid
	_ "github.com/weft-sim/weft/experiments/flows"      // Ethernet: kind flows
	_ "github.com/weft-sim/weft/experiments/kinds/jobs" // several programs in one network: kind jobs
)

func main() { command.Main() }
