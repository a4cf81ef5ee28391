package collectives

import (
	"github.com/weft-sim/weft/sim/param"
)

func init() {
	param.Register(Registry, "alltoall-library", "alltoall: Bruck's algorithm for small blocks, the ring for large ones", SwitchOver{DefaultCritical}, func(c SwitchOver, e Env) (Collective, error) {
		if err := e.check(); err != nil {
			return nil, err
		}
		if err := e.uniform("alltoall-library"); err != nil {
			return nil, err
		}
		if e.Bytes <= c.Critical {
			return AlltoallBruck(e), nil
		}
		return AlltoallRing(e), nil
	})
}
