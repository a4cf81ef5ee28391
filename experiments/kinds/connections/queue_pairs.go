package connections

import (
	"fmt"

	"github.com/weft-sim/weft/experiments"
)

// PairWarnings finds more queue pairs on a node than its adapter can have; most, of the setting key, is 0
// for any number.
func PairWarnings(pairs int64, most int, key string) []experiments.Warning {
	if most == 0 || pairs <= int64(most) {
		return nil
	}
	return []experiments.Warning{{Key: key, Message: fmt.Sprintf(
		"= %d is less than the %d queue pairs of a node's processes: connections cannot be made on such an adapter; fewer have connections.mode = \"xrc-s\" or \"ud\", connections.group and connections.on_demand", most, pairs)}}
}
