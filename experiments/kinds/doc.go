// Package kinds registers the kinds of experiments that are part of the house: what a point of
// an experiment file computes.
//
//	import _ "github.com/weft-sim/weft/experiments/kinds"
//
// A kind is a package below this one: its tables of settings, its columns, and how a row follows
// from the former. What several of them write of a network is in telemetry, and what they share to
// build one, certify it and estimate its cost in package network beside this one.
package kinds

import (
	_ "github.com/weft-sim/weft/experiments/kinds/connections"
	_ "github.com/weft-sim/weft/experiments/kinds/exchange"
	_ "github.com/weft-sim/weft/experiments/kinds/mpi"
	_ "github.com/weft-sim/weft/experiments/kinds/multicast"
	_ "github.com/weft-sim/weft/experiments/kinds/sessions"
	_ "github.com/weft-sim/weft/experiments/kinds/traffic"
)
