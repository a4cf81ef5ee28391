package experiments_test

import (
	_ "github.com/weft-sim/weft/experiments/flows"
	_ "github.com/weft-sim/weft/experiments/kinds"
	_ "github.com/weft-sim/weft/experiments/kindtest"
)

// The tests of package experiments read files of every kind. A test of the package itself
// cannot import kinds, which imports it; this one, linked with them, can.
