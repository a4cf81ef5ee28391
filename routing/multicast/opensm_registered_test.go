package multicast_test

// The suites of this package run every registered engine, OpenSM's among them, whose package imports this one.
import _ "github.com/weft-sim/weft/routing/opensm/mcast"
