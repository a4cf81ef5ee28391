package terminal

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/snapshot"
)

// InfiniBand holds the settings of program "infiniband".
type InfiniBand struct {
	CongestionControl
	Notification int `toml:"cnp_flits" doc:"size of a congestion notification packet" unit:"flits" min:"1" max:"1000000"`
}

// AnswerFlits implements [Answering].
func (c InfiniBand) AnswerFlits() int { return c.Notification }

func init() {
	param.Register(Registry, "infiniband", "packets are born as in open-loop, and a queue pair to each destination holds them back by InfiniBand's congestion control: a marked packet (switch.marking) is answered by a notification, which raises the queue pair's index into the table of delays between packets",
		InfiniBand{DefaultCongestionControl(), 1}, newInfiniBand)
}

// newInfiniBand makes adapters by the specification's annex A10 (InfiniBand Architecture
// Specification, volume 1). A notification goes before data (class High), one for each marked
// packet: the annex has no limit. A delay begins when the adapter has taken a packet and its
// time on the link has passed, and ends as the next one's head enters the channel; queue pairs take
// turns, a packet each.
func newInfiniBand(c InfiniBand, env Env) (fabric.Workload, error) {
	process, err := env.Process(env.MeanFlits)
	if err != nil {
		return nil, err
	}
	delays, err := c.delays()
	if err != nil {
		return nil, err
	}
	return NewHost(env, false, []string{"packet", "notification", "index [entries]"}, func(t topology.TerminalID) Program {
		return &infiniBand{
			env: &env, process: process, delays: delays, notification: c.Notification,
			births: sim.NewStream(env.Seed, "birth", int(t)), contents: sim.NewStream(env.Seed, "packet", int(t)),
		}
	}), nil
}

// Measures of the program.
const (
	packetTime = iota // from its birth, the time in the queue pair among it
	notificationTime
	indexValue // of the table of delays, as notifications raise it
)

// infiniBand is the adapter of a terminal.
type infiniBand struct {
	env              *Env            `snap:"-"`
	process          measure.Process `snap:"-"`
	delays           *delayTable     `snap:"-"`
	notification     int             `snap:"-"` // flits
	births, contents sim.Stream
	state            uint32          // the process's
	next             int64           // cycle of the next birth
	index            congestionIndex // of all queue pairs together, if they share one
	pairs            []queuePair     // in order of their first packets
	turn             int             // pair that is asked first
	queued           bool            // a packet waits for the terminal to take it
}

// queuePair is the way to a destination.
type queuePair struct {
	dst   topology.TerminalID
	index congestionIndex
	from  sim.Time // when the next packet may enter the channel
	waits []waiting
}

// waiting is a packet of a queue pair.
type waiting struct {
	born  int64 // cycle
	flits int
}

func (x *infiniBand) Start(p *Port) {
	x.next = -1 + measure.Gap(x.process, x.process.NextGap(&x.births, &x.state))
	x.wait(p)
}

// Timer brings births, and the ends of delays.
func (x *infiniBand) Timer(p *Port) {
	for now := p.cycle(); x.next <= now; x.next += measure.Gap(x.process, x.process.NextGap(&x.births, &x.state)) {
		dst := x.env.Pattern.Destination(p.id, &x.contents)
		q := x.pair(dst)
		q.waits = append(q.waits, waiting{x.next, x.env.Sizes.Draw(&x.contents)})
	}
	x.send(p)
	x.wait(p)
}

func (x *infiniBand) pair(dst topology.TerminalID) *queuePair {
	for i := range x.pairs {
		if x.pairs[i].dst == dst {
			return &x.pairs[i]
		}
	}
	x.pairs = append(x.pairs, queuePair{dst: dst})
	return &x.pairs[len(x.pairs)-1]
}

// send hands the terminal a packet of the next queue pair that may send, if it has none.
func (x *infiniBand) send(p *Port) {
	if x.queued {
		return
	}
	for i := range x.pairs {
		q := &x.pairs[(x.turn+i)%len(x.pairs)]
		if len(q.waits) == 0 || q.from > p.Now()+p.InjectionTime() {
			continue
		}
		w := q.waits[0]
		q.waits = q.waits[1:]
		x.turn, x.queued = (x.turn+i+1)%len(x.pairs), true
		p.Send(Packet{Dst: q.dst, Flits: w.flits, Tag: uint64(w.born) << 1})
		return
	}
}

// wait sets the timer to the next birth, or to the end of a delay before it.
func (x *infiniBand) wait(p *Port) {
	at := p.host.timeOf(x.next)
	if !x.queued {
		for i := range x.pairs {
			if q := &x.pairs[i]; len(q.waits) > 0 {
				at = min(at, q.from-p.InjectionTime())
			}
		}
	}
	p.SetTimer(at)
}

func (x *infiniBand) Departed(p *Port, sent *Packet) {
	if sent.Class == High {
		return
	}
	x.queued = false
	q := x.pair(sent.Dst)
	onLink := p.LinkTime(sent.Flits)
	q.from = p.Now() + onLink + x.indexOf(q).delay(p.Now(), onLink, x.delays)
	x.send(p)
	x.wait(p)
}

func (x *infiniBand) indexOf(q *queuePair) *congestionIndex {
	if x.delays.PortControl == 1 {
		return &x.index
	}
	return &q.index
}

func (x *infiniBand) Arrived(p *Port, a *Arrival) {
	if a.Tag&1 != 0 {
		p.Record(notificationTime, a.Born)
		index := x.indexOf(x.pair(a.Src))
		index.onBECN(p.Now(), x.delays)
		p.Sample(indexValue, int64(index.at(p.Now(), x.delays)))
		return
	}
	p.Record(packetTime, p.host.timeOf(int64(a.Tag>>1)))
	if a.Marked {
		p.Send(Packet{Dst: a.Src, Flits: x.notification, Class: High, Tag: 1})
	}
}

// Pending implements [Program]: nothing waits for an answer, but packets may wait here.
func (x *infiniBand) Pending() sim.Time {
	oldest := sim.MaxTime
	for i := range x.pairs {
		if q := &x.pairs[i]; len(q.waits) > 0 {
			oldest = min(oldest, sim.Time(q.waits[0].born)*x.env.Clock)
		}
	}
	return oldest
}

func (x *infiniBand) Archive(a *snapshot.Archive) { snapshot.Fields(a, x) }

// CongestionControl holds the settings of InfiniBand adapters' congestion control, by opensm.conf's
// names but for the last two. opensm.conf's are by service level, these for all.
type CongestionControl struct {
	PortControl int    `toml:"cc_ca_cong_setting_port_control" doc:"0: each queue pair has an index into the table; 1: all queue pairs of a service level have one" min:"0" max:"1"`
	Timer       int64  `toml:"cc_ca_cong_setting_ccti_timer" doc:"after which an index falls by one, in units of 1.024 us; 0: it does not" min:"0" max:"65535"`
	Increase    int    `toml:"cc_ca_cong_setting_ccti_increase" doc:"of an index at a BECN" min:"0" max:"255"`
	Minimum     int    `toml:"cc_ca_cong_setting_ccti_min" doc:"below which no index falls" min:"0" max:"65535"`
	Table       string `toml:"cc_cct" doc:"table of inter-packet delays, \"shift:multiplier,...\": (time of the packet >> shift) * multiplier; \"\": entry i is cct_shift:i"`
	Shift       int    `toml:"cct_shift" doc:"of all entries, if cc_cct gives none" min:"0" max:"3"`
	Limit       int    `toml:"ccti_limit" doc:"above which no index grows; 0: the last entry of cc_cct" min:"0" max:"16383"`
}

// DefaultCongestionControl holds the values of MLNX_OFED's congestion control manager, a part of OpenSM,
// where they are known, and of Gran et al. (IPDPS 2012): the timer, the limit. OpenSM alone has 0
// everywhere: nothing is marked, and no BECN has an effect. Its trigger threshold is left out: it
// makes a line in a log.
func DefaultCongestionControl() CongestionControl {
	return CongestionControl{Timer: 150, Increase: 1, Limit: 127}
}

// Validate checks the table and what points into it; see [param.Validate].
func (c *CongestionControl) Validate() error {
	_, err := c.delays()
	return err
}

// delayEntry is a table's entry: the delay after a packet is (its time >> shift) * multiplier,
// which leaves 2^shift / (multiplier + 2^shift) of the rate.
type delayEntry struct {
	shift, multiplier uint16
}

// delayTable is a table of inter-packet delays, with what moves its indices: shared by an adapter's
// queue pairs.
type delayTable struct {
	CongestionControl
	entries []delayEntry
	timer   sim.Time
}

// delays is what the settings come to.
func (c CongestionControl) delays() (*delayTable, error) {
	d := &delayTable{CongestionControl: c, timer: sim.Time(c.Timer) * 1024 * sim.Nanosecond}
	if c.Table == "" {
		if c.Limit == 0 {
			return nil, &param.ParamError{Key: "ccti_limit", Value: c.Limit, Want: "at least 1 without cc_cct"}
		}
		for i := range c.Limit + 1 {
			d.entries = append(d.entries, delayEntry{uint16(c.Shift), uint16(i)})
		}
	} else {
		for i, text := range strings.Split(c.Table, ",") {
			text = strings.TrimSpace(text)
			shift, multiplier, _ := strings.Cut(text, ":") // of 2 and 14 bits
			s, err := strconv.ParseUint(shift, 0, 2)
			m, err2 := strconv.ParseUint(multiplier, 0, 14)
			if err != nil || err2 != nil {
				return nil, &param.ParamError{Key: "cc_cct", Value: strconv.Quote(c.Table),
					Want: fmt.Sprintf("\"shift:multiplier\" with a shift of 0 to 3 and a multiplier of 0 to 16383, not %q in entry %d", text, i)}
			}
			d.entries = append(d.entries, delayEntry{uint16(s), uint16(m)})
		}
		d.Limit = cmp.Or(d.Limit, len(d.entries)-1)
	}
	if last := len(d.entries) - 1; d.Limit > last {
		return nil, &param.ParamError{Key: "ccti_limit", Value: d.Limit, Want: fmt.Sprintf("at most %d, the last entry of cc_cct", last)}
	}
	if d.Minimum > d.Limit {
		return nil, &param.ParamError{Key: "cc_ca_cong_setting_ccti_min", Value: d.Minimum, Want: fmt.Sprintf("at most the limit of the index, %d", d.Limit)}
	}
	return d, nil
}

// congestionIndex is the congestion control table index, CCTI, of a queue pair or a service level
// (InfiniBand Architecture Specification, volume 1, annex A10). It is at the minimum until the
// first BECN.
//
// Choices where the annex leaves one: the timer starts with the BECN that raises an index from
// the minimum, runs on at further ones, as Intel's hfi1 does, and stops at the minimum;
// an expiry goes before a BECN of the same time. What it has done is found out when the index is
// next asked for, so that it needs no events.
type congestionIndex struct {
	above   int      // the minimum
	expires sim.Time // if above is not 0
}

func (x *congestionIndex) at(now sim.Time, d *delayTable) int {
	if x.above > 0 && d.timer > 0 && now >= x.expires {
		expiries := (now-x.expires)/d.timer + 1
		x.above = int(max(0, sim.Time(x.above)-expiries))
		x.expires += expiries * d.timer
	}
	return d.Minimum + x.above
}

// onBECN takes a BECN into account.
func (x *congestionIndex) onBECN(now sim.Time, d *delayTable) {
	before := x.at(now, d)
	if x.above == 0 {
		x.expires = now + d.timer
	}
	x.above = min(before+d.Increase, d.Limit) - d.Minimum
}

// delay is how long after a packet of that time on the link the queue pair's or level's next one
// may begin.
func (x *congestionIndex) delay(now, packet sim.Time, d *delayTable) sim.Time {
	e := d.entries[x.at(now, d)]
	return packet >> e.shift * sim.Time(e.multiplier)
}
