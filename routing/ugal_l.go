package routing

import (
	"github.com/weft-sim/weft/fabric"
)

// UGALLConfig holds the settings of routings "ugal-l", "ugal-l-vc", "ugal-l-vch", "ugal-l-cr".
type UGALLConfig struct{ UGALSettings }

func init() {
	Register("ugal-l", "UGAL-L: minimal or Valiant by the queues of the outputs at the source switch", Use{On: Groups, Faults: true},
		UGALLConfig{defaultUGAL()}, func(c UGALLConfig, env Env) (fabric.Routing, error) {
			return newUGAL("ugal-l", c.UGALSettings, env, portGauge{})
		})
}

// portGauge is UGAL-L (Kim et al., ISCA 2008, section 4.3): the queues of whole
// output ports at the source switch.
type portGauge struct{}

func (portGauge) costs(u *ugal, v *fabric.View, _ *fabric.Head, m, nm candidate) (int, int) {
	return u.sense.queue(v, m.hop.Port) * m.hops, u.sense.queue(v, nm.hop.Port) * nm.hops
}

func (portGauge) idle(u *ugal, v *fabric.View, _ *fabric.Head, m candidate) bool {
	return u.sense.queue(v, m.hop.Port) == 0
}
