package experiments_test

import (
	_ "github.com/weft-sim/weft/experiments/flows"
	_ "github.com/weft-sim/weft/experiments/kinds"
	_ "github.com/weft-sim/weft/experiments/kinds/cost"
	_ "github.com/weft-sim/weft/experiments/kinds/jobs"
	_ "github.com/weft-sim/weft/experiments/kindtest"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	_ "github.com/weft-sim/weft/mpi/replay"
	_ "github.com/weft-sim/weft/routing/lft"
	_ "github.com/weft-sim/weft/routing/opensm"
	_ "github.com/weft-sim/weft/routing/opensm/mcast"
)

// The tests of package experiments read files of every kind, also those of wings. A test of the package itself
// cannot import kinds, which imports it; this one, linked with them, can.
