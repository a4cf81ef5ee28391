// Command house is weft without wings: the kinds of experiments of its house, their papers, every command
// but atlas, multicast, report, routes and trace.
package main

import "github.com/weft-sim/weft/cmd/command"

func main() { command.Main() }
