package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// PiggybackConfig holds the settings of routing "ugal-pb".
type PiggybackConfig struct {
	Factor float64 `toml:"factor" doc:"a global channel is congested if its queue is longer than so many times the mean of its switch's global channels, plus offset" min:"0" max:"1000"`
	Offset int     `toml:"offset" doc:"see factor" unit:"flits" min:"0" max:"1000000"`
	UGALSettings
}

func init() {
	Register("ugal-pb", "piggyback: ugal-l-vch, overruled where just one path's global channel is congested", Use{On: Groups, Faults: true},
		PiggybackConfig{2, 3, defaultUGAL()}, newPiggyback)
}

// piggyback is piggyback routing (PB; Jiang, Kim, Dally, ISCA 2009): every
// switch tells its group, by a bit on the packets it sends, which of its global
// channels are congested: those whose queue exceeds factor times the mean of its
// global channels, plus offset. A source sends minimally if the Valiant path's
// global channel is congested and the minimal path's is not, by the Valiant path
// in the opposite case, and compares as UGAL-L_VCH otherwise.
//
// Deviation: the bits are known in the whole group at once; on the wire they
// would be as late as the local channel is long.
type piggyback struct {
	factor  float64
	offset  int
	globals [][]topology.PortID // by switch
}

func newPiggyback(config PiggybackConfig, env Env) (fabric.Routing, error) {
	p := &piggyback{factor: config.Factor, offset: config.Offset}
	u, err := newUGAL("ugal-pb", config.UGALSettings, env, p)
	if err != nil {
		return nil, err
	}
	p.globals = make([][]topology.PortID, len(u.at))
	for s := range p.globals {
		first, end := u.graph.Ports(topology.SwitchID(s))
		for port := first; port < end; port++ {
			if peer, ok := u.graph.PeerPort(port); ok && !env.Down.Port(port) && u.at[u.graph.PortSwitch[peer]].group != u.at[s].group {
				p.globals[s] = append(p.globals[s], port)
			}
		}
	}
	return u, nil
}

func (p *piggyback) costs(u *ugal, v *fabric.View, h *fabric.Head, m, nm candidate) (int, int) {
	const prohibitive = 1 << 30
	congested := p.congested(u, v, h, m, u.home[h.Dst].group)
	if congested == p.congested(u, v, h, nm, u.groupOf(nm.state&viaMask)) {
		return hybridGauge{}.costs(u, v, h, m, nm)
	}
	if congested {
		return prohibitive, 0
	}
	return 0, prohibitive
}

func (p *piggyback) readsBeyondGroup() bool { return false }

// idle: with the minimal path's global channel not congested either, a Valiant
// path's can only speak for the minimal one.
func (p *piggyback) idle(u *ugal, v *fabric.View, h *fabric.Head, m candidate) bool {
	return hybridGauge{}.idle(u, v, h, m) && !p.congested(u, v, h, m, u.home[h.Dst].group)
}

// congested tells whether the global channel by which a path leaves for group to
// is congested.
func (p *piggyback) congested(u *ugal, v *fabric.View, h *fabric.Head, c candidate, to int32) bool {
	excess := u.globalQueue(v, h, c, to) - p.offset
	if excess <= 0 {
		return false
	}
	globals := p.globals[u.gateway(h, c)]
	sum := 0
	for _, port := range globals {
		sum += u.sense.queue(v, port)
	}
	return float64(excess) > p.factor*float64(sum)/float64(len(globals))
}
