package routing

import (
	"github.com/weft-sim/weft/fabric"
)

func init() {
	Register("ugal-l-vch", "UGAL-L_VCH: as ugal-l-vc where both paths leave by the same port, as ugal-l elsewhere", Use{On: Groups, Faults: true},
		UGALLConfig{defaultUGAL()}, func(c UGALLConfig, env Env) (fabric.Routing, error) {
			return newUGAL("ugal-l-vch", c.UGALSettings, env, hybridGauge{})
		})
}

// hybridGauge is UGAL-L_VCH (Kim et al., ISCA 2008, section 4.3.1): only where
// the paths share their first port does its queue not tell them apart, and only
// there single virtual channels are looked at.
type hybridGauge struct{}

func (hybridGauge) costs(u *ugal, v *fabric.View, h *fabric.Head, m, nm candidate) (int, int) {
	if m.hop.Port == nm.hop.Port {
		return vcGauge{}.costs(u, v, h, m, nm)
	}
	return portGauge{}.costs(u, v, h, m, nm)
}

func (hybridGauge) idle(u *ugal, v *fabric.View, h *fabric.Head, m candidate) bool {
	return portGauge{}.idle(u, v, h, m) // a virtual channel's queue is part of it
}
