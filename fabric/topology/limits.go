package topology

import (
	"fmt"

	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// maxPorts bounds the switch ports of generated networks: port numbers are
// int32, and beyond this no machine would hold the simulation.
const maxPorts = 1 << 28

// portBytes is what a port of a [Graph] takes at least.
const portBytes = 16

// checkPorts refuses a setting that makes a network of more than maxPorts
// switch ports, or of more than there is memory for. Callers keep the product from overflowing by bounds on its
// factors.
func checkPorts(key string, value any, ports int) error {
	if ports <= maxPorts {
		return input.CheckMemory(key, value, "so many switch ports", portBytes*float64(ports))
	}
	return &param.ParamError{Key: key, Value: value,
		Want: fmt.Sprintf("a network of at most %d switch ports; with the other settings this makes %d", maxPorts, ports)}
}
