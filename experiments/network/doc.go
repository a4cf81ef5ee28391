// Package network holds what kinds of experiments have in common whose packets go through a
// network, and what can be said of that network without a run: the tables [topology],
// [routing], [fault.NAME] and [recovery] of an experiment file, the routing around faults,
// the certificate that a routing is free of deadlock, and the flit clock that follows from
// the links; pictures, descriptions and exports of a network, and what has changed from one
// network to another.
package network
