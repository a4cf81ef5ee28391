// Command weft simulates interconnects: it runs experiment files, checks and
// plots them, and reproduces the experiments of papers.
package main

import (
	"github.com/weft-sim/weft/cmd/command"

	_ "github.com/weft-sim/weft/cmd/trace" // traces of applications: Chakra, DUMPI, OTF2, SimGrid
)

func main() { command.Main() }
