// Command lab is weft with a topology, a routing, a pattern and a program of its own.
package main

import (
	"github.com/weft-sim/weft/cmd/command"
	_ "github.com/weft-sim/weft/cmd/report" // subcommand report
)

func main() { command.Main() }
