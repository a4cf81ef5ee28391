package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
)

// UGALGConfig holds the settings of routing "ugal-g".
type UGALGConfig struct {
	Estimate string `toml:"estimate" doc:"what is compared: q*H of the two global channels out of the source's group, or the sums of the queues along the paths" choices:"global-queue|path-queues"`
	UGALSettings
}

func init() {
	Register("ugal-g", "UGAL-G: minimal or Valiant by the queues of the global channels themselves (ideal knowledge)", Use{On: Groups, Faults: true},
		UGALGConfig{"global-queue", defaultUGAL()}, func(c UGALGConfig, env Env) (fabric.Routing, error) {
			if c.Estimate == "path-queues" {
				return newUGAL("ugal-g", c.UGALSettings, env, pathGauge{})
			}
			return newUGAL("ugal-g", c.UGALSettings, env, globalGauge{})
		})
}

// globalGauge is UGAL-G (Kim et al., ISCA 2008, section 4.2): the queues of the
// global channels by which the two paths leave the source's group, at whatever
// switch these are; knowledge that no switch has.
type globalGauge struct{}

func (globalGauge) costs(u *ugal, v *fabric.View, h *fabric.Head, m, nm candidate) (int, int) {
	there := u.home[h.Dst].group
	return u.globalQueue(v, h, m, there) * m.hops, u.globalQueue(v, h, nm, u.groupOf(nm.state&viaMask)) * nm.hops
}

func (globalGauge) readsBeyondGroup() bool { return false }

func (globalGauge) idle(u *ugal, v *fabric.View, h *fabric.Head, m candidate) bool {
	return u.globalQueue(v, h, m, u.home[h.Dst].group) == 0
}

// gateway is the switch with the global channel by which a path leaves the
// group.
func (u *ugal) gateway(h *fabric.Head, c candidate) topology.SwitchID {
	if c.state&localDone == 0 {
		return h.Switch
	}
	peer, _ := u.graph.PeerPort(c.hop.Port)
	return u.graph.PortSwitch[peer]
}

// globalQueue is the queue of the global channel by which a path leaves for
// group to; the mean, rounded down, where the gateway will draw one of several.
func (u *ugal) globalQueue(v *fabric.View, h *fabric.Head, c candidate, to int32) int {
	if port := u.crossing(u.at[h.Switch].group, to).port; port != topology.NoPort {
		return u.sense.queue(v, port)
	}
	if c.state&localDone == 0 {
		return u.sense.queue(v, c.hop.Port)
	}
	gateway, sum := u.gateway(h, c), 0
	out := u.way(gateway, u.leaving(&u.at[gateway], to))
	for i := range int(out.own) {
		sum += u.sense.queue(v, topology.PortID(u.choose(gateway, out, i)>>stepBits))
	}
	return sum / int(out.own)
}

// UnusedSettings implements [param.Skipper]: sums along paths are not multiplied by
// anything.
func (u *ugal) UnusedSettings() []string {
	if _, sums := u.gauge.(pathGauge); sums {
		return []string{"weight"}
	}
	return nil
}

// pathGauge is UGAL-G as the sum of the queues of all outputs along either path,
// the terminal's included: minimal if TQ_MIN <= TQ_VLB + T. Where switches
// further on will draw one of several channels, a path is sampled.
type pathGauge struct{}

func (pathGauge) costs(u *ugal, v *fabric.View, h *fabric.Head, m, nm candidate) (int, int) {
	return u.pathQueues(v, h, m), u.pathQueues(v, h, nm)
}

func (pathGauge) readsBeyondGroup() bool { return true }

func (pathGauge) idle(*ugal, *fabric.View, *fabric.Head, candidate) bool { return false }

func (u *ugal) pathQueues(v *fabric.View, h *fabric.Head, c candidate) int {
	sum, port, head := 0, c.hop.Port, *h
	head.State = c.state
	for {
		if port == topology.NoPort { // discarded on the way
			return sum
		}
		sum += u.sense.queue(v, port)
		peer, ok := u.graph.PeerPort(port)
		if !ok {
			return sum
		}
		head.Switch, head.In = u.graph.PortSwitch[peer], peer
		port = u.advance(&head, v.VCs(), v.Random(h.Switch)).Port
	}
}
