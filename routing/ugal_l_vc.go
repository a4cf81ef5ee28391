package routing

import (
	"github.com/weft-sim/weft/fabric"
)

func init() {
	Register("ugal-l-vc", "UGAL-L_VC: as ugal-l, by the queues of the virtual channels that either path would use", Use{On: Groups, Faults: true},
		UGALLConfig{defaultUGAL()}, func(c UGALLConfig, env Env) (fabric.Routing, error) {
			return newUGAL("ugal-l-vc", c.UGALSettings, env, vcGauge{})
		})
}

// vcGauge is UGAL-L_VC (Kim et al., ISCA 2008, section 4.3.1): the queues of
// single virtual channels.
type vcGauge struct{}

func (vcGauge) costs(u *ugal, v *fabric.View, _ *fabric.Head, m, nm candidate) (int, int) {
	return u.sense.queueVC(v, m.hop.Port, m.vc()) * m.hops, u.sense.queueVC(v, nm.hop.Port, nm.vc()) * nm.hops
}

func (vcGauge) idle(u *ugal, v *fabric.View, _ *fabric.Head, m candidate) bool {
	return u.sense.queueVC(v, m.hop.Port, m.vc()) == 0
}
