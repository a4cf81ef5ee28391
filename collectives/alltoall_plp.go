package collectives

import (
	"github.com/weft-sim/weft/sim/param"
)

// PLPSettings configure alltoall-plp.
type PLPSettings struct {
	LeaderSettings
	Leaders int `toml:"leaders" doc:"leaders a node, a divisor of its ranks; 0: as the PLP rule says" min:"0"`
}

func init() {
	param.Register(Registry, "alltoall-plp", "alltoall: leaders a node chosen by the size of the blocks", PLPSettings{DefaultLeaders, 0}, func(c PLPSettings, e Env) (Collective, error) {
		choose := PLPLeaders
		if c.Leaders > 0 {
			choose = func(int, int64, int64) int { return c.Leaders }
		}
		return newLeaders("alltoall-plp", e, c.LeaderSettings, choose)
	})
}

// PLPLeaders is the number of leaders that PLP gives a node of m ranks for
// blocks of so many bytes (Li et al. 2013, section 3.1): all m where even a
// single leader's aggregated blocks of m*m*bytes are small enough for Bruck's
// algorithm; otherwise the most that still go round the ring, whose blocks
// m*m*bytes/d are above critical.
func PLPLeaders(m int, bytes, critical int64) int {
	total := int64(m) * int64(m) * bytes
	if total <= critical {
		return m
	}
	d := m
	for m%d != 0 || total <= critical*int64(d) {
		d--
	}
	return d
}
