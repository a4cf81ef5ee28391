package main

import (
	"testing"

	"github.com/weft-sim/weft/fabric/terminal/programtest"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/routing/routingtest"
)

// The suites that weft's own things pass are for those of others, too.
func TestConformance(t *testing.T) {
	t.Run("chords", func(t *testing.T) { topologytest.Conform(t, "chords") })
	t.Run("chord-first", func(t *testing.T) { routingtest.Conform(t, "chord-first", nil) })
	t.Run("aimd", func(t *testing.T) { programtest.Conform(t, "aimd") })
}
