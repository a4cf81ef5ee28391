package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
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
	Register("ugal-l", "UGAL-L: minimal or Valiant by the queues of the outputs at the source switch", Use{On: Groups, Faults: true},
		UGALLConfig{defaultUGAL(), "rising"}, newUGALL)
	Register("ugal-l-vc", "UGAL-L_VC: as ugal-l, by the queues of the virtual channels that either path would use", Use{On: Groups, Faults: true},
		defaultUGAL(), func(c UGALSettings, env Env) (fabric.Routing, error) { return newUGAL("ugal-l-vc", c, env, vcGauge) })
	Register("ugal-l-vch", "UGAL-L_VCH: as ugal-l-vc where both paths leave by the same port, as ugal-l elsewhere", Use{On: Groups, Faults: true},
		defaultUGAL(), func(c UGALSettings, env Env) (fabric.Routing, error) {
			return newUGAL("ugal-l-vch", c, env, hybridGauge)
		})
	Register("ugal-l-cr", "UGAL-L_CR: ugal-l-vch, with credits held back in proportion to the credit round trips of the outputs", Use{On: Groups, Faults: true},
		UGALCRConfig{"counted", defaultUGAL()}, newUGALCR)
}

// globalGauge is UGAL-G (Kim et al., ISCA 2008, section 4.2): the queues of the global channels by
// which two paths leave the source's group, at whatever switch; no real switch knows them.
type globalGauge struct{}

func (globalGauge) costs(u *ugal, v *fabric.View, h *fabric.Head, m, nm candidate) (int, int) {
	there := u.home[h.Dst].group
	return u.globalQueue(v, h, m, there) * m.hops, u.globalQueue(v, h, nm, u.groupOf(nm.state&viaMask)) * nm.hops
}

func (globalGauge) readsBeyondGroup() bool { return false }

func (globalGauge) idle(u *ugal, v *fabric.View, h *fabric.Head, m candidate) bool {
	return u.globalQueue(v, h, m, u.home[h.Dst].group) == 0
}

// gateway is the switch with the global channel by which a path leaves the group.
func (u *ugal) gateway(h *fabric.Head, c candidate) topology.SwitchID {
	if c.state&localDone == 0 {
		return h.Switch
	}
	peer, _ := u.graph.PeerPort(c.hop.Port)
	return u.graph.PortSwitch[peer]
}

// globalQueue is the queue of the global channel of a path to group to; the mean, rounded down,
// where the gateway will draw one of several.
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

// UnusedSettings implements [param.Skipper]: sums along paths are not multiplied by anything.
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

// pathQueues is the sum of the queues on a path, in flits.
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

// crossing is the channel from one group to another: its port, and the switches at its ends. Where
// there are several, none is known beforehand: port is topology.NoPort, and ends compare as unequal
// to any switch; the hop counts of paths are then counted on the longest.
type crossing struct {
	port        topology.PortID
	exit, entry topology.SwitchID
}

const (
	unknownExit  topology.SwitchID = -1
	unknownEntry topology.SwitchID = -2
)

// findCrossings tabulates the crossings of all pairs of groups, from*groups+to.
func (w *groupWalk) findCrossings(grouped topology.Grouped) []crossing {
	all := make([]crossing, w.groups*w.groups)
	for from := range w.groups {
		for to := range w.groups {
			c := crossing{topology.NoPort, unknownExit, unknownEntry}
			if from == to {
				continue
			}
			if ports := grouped.Gateways(from, to); len(ports) == 1 {
				peer, _ := w.graph.PeerPort(ports[0])
				c = crossing{ports[0], w.graph.PortSwitch[ports[0]], w.graph.PortSwitch[peer]}
			}
			all[from*w.groups+to] = c
		}
	}
	return all
}

func (u *ugal) crossing(from, to int32) *crossing { return &u.crossings[int(from)*u.groups+int(to)] }

// minimalHops is the length of the minimal path to another group for a packet at h.Switch, given
// its state behind the first hop; in global hops, where those are the weight.
func (u *ugal) minimalHops(h *fabric.Head, state uint32) int {
	if u.globalHops {
		return 1
	}
	target := &u.home[h.Dst]
	c := u.crossing(u.at[h.Switch].group, target.group)
	return localHop(state) + 1 + apart(c.entry, target.sw)
}

// detourHops is likewise the number of hops of the path by way of via, a group or a switch.
func (u *ugal) detourHops(h *fabric.Head, state, via uint32) int {
	if u.globalHops {
		return 2
	}
	here, target := u.at[h.Switch].group, &u.home[h.Dst]
	there := target.group
	if !u.viaSwitch {
		in, out := u.crossing(here, int32(via)), u.crossing(int32(via), there)
		return localHop(state) + 1 + apart(in.entry, out.exit) + 1 + apart(out.entry, target.sw)
	}
	s := topology.SwitchID(via)
	between := u.at[s].group
	hops := localHop(state) + 1 + apart(u.crossing(here, between).entry, s)
	if between == there {
		return hops + apart(s, target.sw)
	}
	out := u.crossing(between, there)
	return hops + apart(s, out.exit) + 1 + apart(out.entry, target.sw)
}

// localHop is 1 if the first hop is a local one.
func localHop(state uint32) int { return int(state & localDone / localDone) }

// apart is the number of hops between two switches of a group.
func apart(a, b topology.SwitchID) int {
	if a == b {
		return 0
	}
	return 1
}

// UGALLConfig holds the settings of routing "ugal-l".
type UGALLConfig struct {
	UGALSettings
	DetourVC string `toml:"detour_vc" doc:"virtual channel on the way to an intermediate router: rising with each global hop; or as BookSim2's ugal has it, 0 all the way, which can deadlock" choices:"rising|booksim2" deadlocks:"booksim2"`
}

// newUGALL makes UGAL-L. BookSim2's "ugal" of dragonflies is
//
//	sensing = "credits", weight = "global-hops", threshold = 30,
//	intermediate = "any-router", detour_vc = "booksim2", decided_at = "switch"
//
// Its virtual channels are L0 G0 L0 L1 G2 L2, 3 of them, minimal from L1 on and VC 2 within
// a group: the first L0 and the second close cycles.
func newUGALL(c UGALLConfig, env Env) (fabric.Routing, error) {
	const name = "ugal-l"
	if c.DetourVC == "rising" {
		return newUGAL(name, c.UGALSettings, env, portGauge)
	}
	if c.Intermediate == "group" {
		return nil, &param.ParamError{Key: "detour_vc", Value: c.DetourVC, Want: `intermediate = "router" or "any-router": it is there that the virtual channel rises`}
	}
	safe := env
	safe.VCs = 0 // as many as rising ones need
	u, err := newUGAL(name, c.UGALSettings, safe, portGauge)
	if err != nil {
		return nil, err
	}
	u.flat, u.classes, u.minimalVC, u.localVC = true, 3, 1, 2
	return u, CheckVCs(name, u.classes, env)
}

// outputGauge is UGAL-L (Kim et al., ISCA 2008, section 4.3): the queues of outputs at the
// source switch, of whole ports or of single virtual channels.
type outputGauge struct {
	always bool // single virtual channels
	shared bool // these where both paths leave by the same port, whose queue does not tell them apart
}

var (
	portGauge   = outputGauge{}
	vcGauge     = outputGauge{always: true} // UGAL-L_VC, section 4.3.1
	hybridGauge = outputGauge{shared: true} // UGAL-L_VCH, section 4.3.1
)

func (g outputGauge) costs(u *ugal, v *fabric.View, _ *fabric.Head, m, nm candidate) (int, int) {
	if g.always || g.shared && m.hop.Port == nm.hop.Port {
		return u.sense.queueVC(v, m.hop.Port, m.vc()) * m.hops, u.sense.queueVC(v, nm.hop.Port, nm.vc()) * nm.hops
	}
	return u.sense.queue(v, m.hop.Port) * m.hops, u.sense.queue(v, nm.hop.Port) * nm.hops
}

// idle: a virtual channel's queue is part of its port's.
func (g outputGauge) idle(u *ugal, v *fabric.View, _ *fabric.Head, m candidate) bool {
	if g.always {
		return u.sense.queueVC(v, m.hop.Port, m.vc()) == 0
	}
	return u.sense.queue(v, m.hop.Port) == 0
}

// UGALCRConfig holds the settings of routing "ugal-l-cr".
type UGALCRConfig struct {
	HeldSlots string `toml:"held_slots" doc:"whether flits that have left count as waiting until their credits are sent; with sensing = waiting or both" choices:"counted|ignored"`
	UGALSettings
}

// creditRoundTrip is UGAL-L_CR (Kim et al., ISCA 2008, section 4.3.2): decisions are made as in
// UGAL-L_VCH. What is new is in the switches, which measure how long credits take to come back from
// each output and hold back the credits of flits that leave by slow ones, so that congestion is
// felt upstream before buffers are full.
//
// A queue's length includes the slots whose credits are held back: a flit that left by an output
// counts as waiting for it until its credit is sent. The paper does not say so, but nothing else
// lets the decision feel the delay; the reasons are in package fabric's credit sensing. held_slots
// = "ignored" is the other reading.
type creditRoundTrip struct {
	*ugal
	counts bool
}

func newUGALCR(c UGALCRConfig, env Env) (fabric.Routing, error) {
	u, err := newUGAL("ugal-l-cr", c.UGALSettings, env, hybridGauge)
	if err != nil {
		return nil, err
	}
	return creditRoundTrip{u, c.HeldSlots == "counted"}, nil
}

// UnusedSettings implements [param.Skipper]: slots are not looked at where credits alone are.
func (c creditRoundTrip) UnusedSettings() []string {
	if c.settings.Sensing == "credits" {
		return []string{"held_slots"}
	}
	return nil
}

func (c creditRoundTrip) Needs() fabric.Needs {
	needs := c.ugal.Needs()
	needs.SensesCredits, needs.HeldSlots = true, c.counts
	return needs
}

// UGALQueues are the settings of UGAL outside of groups: what is compared, and where.
type UGALQueues struct {
	Sensing    string `toml:"sensing" doc:"what a queue length is: flits waiting in the switch for the output; credits outstanding behind it; or both" choices:"waiting|credits|both"`
	Threshold  int    `toml:"threshold" doc:"offset T: minimal if q_m*H_m <= q_nm*H_nm + T" unit:"flits" min:"-1000000" max:"1000000"`
	Candidates int    `toml:"candidates" doc:"Valiant paths drawn for each packet; the best is compared" min:"1" max:"64"`
	Decision   string `toml:"decision" doc:"decisions of a cycle at a switch: greedy, all of them see the queues at its beginning; sequential, each sees those made before it" choices:"greedy|sequential"`
	DecidedAt  string `toml:"decided_at" doc:"where: at the terminal, a cycle before the packet enters its channel; or at the switch, as the packet arrives" choices:"terminal|switch"`
}

func defaultQueues() UGALQueues {
	return UGALQueues{Sensing: "waiting", Candidates: 1, Decision: "greedy", DecidedAt: "terminal"}
}

// queueReader is what a routing with these settings tells the fabric.
type queueReader struct {
	queues UGALQueues
	sense  sensing
}

func newQueueReader(queues UGALQueues) queueReader {
	return queueReader{queues, senses[queues.Sensing]}
}

func (q queueReader) Needs() fabric.Needs {
	needs := q.sense.needs()
	needs.Departs = q.queues.DecidedAt == "terminal"
	needs.Greedy = q.queues.Decision == "greedy" && !needs.Departs
	return needs
}

// sensing is what the UGAL family takes for the length of an output's queue.
type sensing uint8

const (
	// senseWaiting counts the flits in the switch that wait for the output.
	// Congestion further on shows when the buffer there is full and flits
	// begin to wait here (Kim et al., ISCA 2008, section 4.3).
	senseWaiting sensing = iota
	// senseCredits counts the credits that are out: flits on the channel and
	// in the buffer behind it, and credits on their way back. An idle channel
	// with a long round trip counts its load times the round trip.
	senseCredits
	// senseBoth adds the two, flits behind the crossbar counted once.
	senseBoth
)

// needs is what reading it takes.
func (s sensing) needs() fabric.Needs {
	return fabric.Needs{Queues: s != senseCredits, Credits: true, Crossed: s == senseBoth}
}

var senses = map[string]sensing{"waiting": senseWaiting, "credits": senseCredits, "both": senseBoth}

// queue is the queue length of a whole output port.
func (s sensing) queue(v *fabric.View, p topology.PortID) int {
	switch s {
	case senseWaiting:
		return v.WaitingAll(p)
	case senseCredits:
		return v.OutstandingAll(p)
	}
	n := 0
	for vc := range v.VCs() {
		n += s.queueVC(v, p, vc)
	}
	return n
}

// queueVC is the queue length of one virtual channel of an output port.
func (s sensing) queueVC(v *fabric.View, p topology.PortID, vc int) int {
	switch s {
	case senseWaiting:
		return v.Waiting(p, vc)
	case senseCredits:
		return v.Outstanding(p, vc)
	}
	// A flit behind the crossbar has taken its credit.
	return v.Waiting(p, vc) - v.Crossed(p, vc) + v.Outstanding(p, vc)
}

// queues are the queue lengths of a switch that a decision compares many of.
type queues struct {
	view   *fabric.View
	random *sim.Stream
	sense  sensing
	first  topology.PortID // of the switch
	known  []int32         // by port of the switch; nil: each is looked at
}

// queuesAt are the queues of a switch. Credits change no more often than the clock between
// decisions made together, and are summed once for all of them; who waits changes with each.
func (s sensing) queuesAt(v *fabric.View, g *topology.Graph, at topology.SwitchID) queues {
	q := queues{view: v, random: v.Random(at), sense: s, first: g.PortStart[at]}
	if s == senseCredits {
		q.known = v.OutstandingPorts(at)
	}
	return q
}

func (q *queues) of(p topology.PortID) int {
	if q.known != nil {
		return int(q.known[p-q.first])
	}
	return q.sense.queue(q.view, p)
}
