package kinds

// Tests read every example and paper, and hold all kinds, routings and skeletons to their contracts:
// those of wings, too.
import (
	_ "github.com/weft-sim/weft/experiments/flows"
	_ "github.com/weft-sim/weft/experiments/kinds/cost"
	_ "github.com/weft-sim/weft/experiments/kinds/jobs"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	_ "github.com/weft-sim/weft/mpi/replay"
	_ "github.com/weft-sim/weft/routing/lft"
	_ "github.com/weft-sim/weft/routing/opensm"
	_ "github.com/weft-sim/weft/routing/opensm/mcast"
)
