// Package kinds holds the kinds of experiments: what a point of an experiment file
// computes. Importing it registers them all:
//
//	import _ "github.com/weft-sim/weft/experiments/kinds"
//
// A kind is a file: its tables of settings, its columns, and how a row follows
// from the former. The kinds that take more are several files that begin with its name:
// traffic (terminal programs over a fabric), exchange (an all-to-all), mpi (programs of
// ranks; transport_fabric.go sends their messages through a fabric), multicast_routing and
// multicast_latency, and sessions; connections and cost are in formulas.go. Further tables that several kinds
// write are in further_tables.go and traces.go.
//
// What kinds share that have a network (its tables, its faults, its certificate) is in
// package network beside this one.
package kinds

// Routings and multicast engines that are packages of their own register themselves.
import (
	_ "github.com/weft-sim/weft/routing/opensm"
	_ "github.com/weft-sim/weft/routing/opensm/mcast"
)
