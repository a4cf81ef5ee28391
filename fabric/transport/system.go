// Package transport holds the end points of networks that drop, trim or pause (package
// fabric/shared): what a network adapter does between messages and packets. Flows are messages
// from one terminal to another; a connection numbers the packets of one flow, or of several, and
// sees that all arrive. Congestion control is a part of a connection: the sender's window (NSCC)
// and the receiver's credit (RCCC) of Ultra Ethernet, DCQCN of RoCE, a constant window, or none.
//
// The rules are Ultra Ethernet's as its authors' simulator has them, and the rules of the papers
// named beside each file.
package transport

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/weft-sim/weft/fabric/congestion"
	"github.com/weft-sim/weft/fabric/shared"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// Config holds the settings of all end points.
type Config struct {
	Control   string           `toml:"control" doc:"congestion control: none; constant: a window of window_packets; nscc: Ultra Ethernet's sender window; rccc: its receiver credit; both; dcqcn: RoCE's rate control" choices:"none|constant|nscc|rccc|both|dcqcn"`
	Packet    sim.Bytes        `toml:"packet" doc:"full packet on the wire, header included" min:"1" max:"65536"`
	Header    sim.Bytes        `toml:"header" doc:"of a packet; acknowledgements and other control packets are as long" min:"1"`
	Window    int              `toml:"window_packets" doc:"window of control = \"constant\"" unit:"packets" min:"0" max:"1000000"`
	AckBytes  sim.Bytes        `toml:"ack_bytes" doc:"bytes accepted since the last acknowledgement that bring the next" min:"1"`
	Spray     string           `toml:"spray" doc:"how a packet's entropy is chosen: single: one a flow; oblivious: all in turn; bitmap: but for those that were marked or trimmed; reps: those of unmarked acknowledgements again, eight at most; mixed: those, or bitmap" choices:"single|oblivious|bitmap|reps|mixed"`
	Entropies int              `toml:"entropies" doc:"number of entropies, a power of 2; a path for each where hashes do not collide" min:"1" max:"65536"`
	NSCC      congestion.NSCC  `toml:"nscc" doc:"window of control = \"nscc\" and \"both\""`
	Repeat    string           `toml:"repeat" doc:"what is sent again: the packets that were lost, or all behind the first of them, which the receiver throws away meanwhile" choices:"selective|go-back-n"`
	Share     bool             `toml:"share_connections" doc:"flows of the same connection in the file share numbers, window and credit, and are complete together"`
	DCQCN     congestion.DCQCN `toml:"dcqcn" doc:"rates of control = \"dcqcn\""`
}

// DefaultConfig is Ultra Ethernet's sender window with mixed spraying.
func DefaultConfig() Config {
	return Config{Control: "nscc", Packet: 4150, Header: 64, AckBytes: 16384, Repeat: "selective", Spray: "mixed", Entropies: 64, NSCC: congestion.DefaultNSCC(), DCQCN: congestion.DefaultDCQCN()}
}

// Validate checks what the tags cannot; see [param.Validate].
func (c *Config) Validate() error {
	switch {
	case c.Header >= c.Packet:
		return &param.ParamError{Key: "header", Value: c.Header, Want: "less than packet"}
	case c.Entropies&(c.Entropies-1) != 0:
		return &param.ParamError{Key: "entropies", Value: c.Entropies, Want: "a power of 2"}
	case c.Control == "constant" && c.Window == 0:
		return &param.ParamError{Key: "window_packets", Value: c.Window, Want: `at least 1 with control = "constant"`}
	}
	return nil
}

// hasCredit tells whether receivers grant credit.
func (c *Config) hasCredit() bool { return c.Control == "rccc" || c.Control == "both" }

// Flow is a message.
type Flow struct {
	ID         int // in its file
	Src, Dst   int // terminals
	Bytes      int64
	Start      sim.Time // unless After is set
	After      int      // trigger that starts it; 0: none
	Fires      int      // trigger that its end counts for, when its sender knows of it; 0: none
	Arrives    int      // likewise, when all of it is at the receiver
	Connection int      // that it shares, if connections are shared; 0: its own
}

// connectionKey names a connection that flows share.
type connectionKey struct{ src, dst, number int }

func (f *Flow) key() connectionKey { return connectionKey{f.Src, f.Dst, f.Connection} }

// Trigger starts flows when so many others have ended.
type Trigger struct{ ID, Count int }

// System is all end points of a network, with what they have to send.
type System struct {
	kernel      *sim.Kernel
	net         *shared.Network
	id          sim.HandlerID
	config      Config
	timing      timing
	hosts       []host
	connections []*connection
	shared      map[connectionKey]*connection // connections that several flows share
	flows       []flowState
	triggers    map[int]*trigger
	goesBack    bool
	law         *congestion.NSCCLaw
	left        int // flows that have not ended
	Counts      Counts
}

// Counts are packets in the whole run.
type Counts struct {
	Sent, Again     int64 // data packets; how many of them had been sent before
	Acknowledged    int64
	Refused         int64 // negative acknowledgements
	Pulls, Requests int64
	Notified        int64
	Trimmed         int64 // that arrived trimmed
	Duplicates      int64
	Reordered       int64 // that arrived behind a later one
	Timeouts        int64
}

type flowState struct {
	Flow
	connection int32
	began, end sim.Time
}

type trigger struct {
	count int
	flows []int32
}

// timing is what all flows know of the network.
type timing struct {
	*shared.Timing
	timeout int64 // ps; 0: nothing is lost
}

type host struct {
	active  sim.FIFO[int32] // connections that may send, in turn
	control sim.FIFO[int32] // control packets
	served  int             // control packets since the last data packet, while data waits
	pacer   pacer
}

// Kinds of events.
const (
	startEvent = iota // target: flow
	timerEvent        // target: connection
	grantEvent        // target: terminal
	paceEvent
	rateEvent // target: connection
)

// controlTurns is the number of control packets that a terminal sends for a data packet, where
// both wait.
const controlTurns = 10

// CheckFlows tells what is wrong with flows of a network of so many terminals.
func (c *Config) CheckFlows(terminals int, flows []Flow) error {
	packets := map[connectionKey]int64{}
	for i := range flows {
		f := &flows[i]
		if f.Src < 0 || f.Dst < 0 || f.Src >= terminals || f.Dst >= terminals || f.Src == f.Dst {
			return fmt.Errorf("flow %d is from terminal %d to %d: want two different ones of 0 to %d", f.ID, f.Src, f.Dst, terminals-1)
		}
		n, _ := c.PacketsOf(f.Bytes)
		if c.Share && f.Connection != 0 {
			n += packets[f.key()]
			packets[f.key()] = n
		}
		if n > math.MaxInt32 {
			return fmt.Errorf("flow %d makes %d packets of a connection: want at most %d", f.ID, n, math.MaxInt32)
		}
	}
	return nil
}

// FlowBytes is about what so many flows take in memory, with their connections: the least, since
// packets in flight come on top. Each begins by an event, or by a trigger, which takes more.
func (c *Config) FlowBytes(flows float64) float64 {
	each := unsafe.Sizeof(Flow{}) + unsafe.Sizeof(flowState{}) + unsafe.Sizeof(connection{}) + unsafe.Sizeof(message{}) + unsafe.Sizeof(sim.Event{}) + 8
	if c.Spray == "bitmap" || c.Spray == "mixed" {
		each += uintptr(c.Entropies)
	}
	if c.Control == "nscc" || c.Control == "both" {
		each += unsafe.Sizeof(congestion.NSCCWindow{})
	}
	return flows * float64(each)
}

// New makes the end points of a network of g and what they send.
func New(kernel *sim.Kernel, g *topology.Graph, config Config, flows []Flow, triggers []Trigger) (*System, error) {
	s := &System{kernel: kernel, config: config, hosts: make([]host, g.Terminals()), triggers: map[int]*trigger{}, shared: map[connectionKey]*connection{}, left: len(flows), goesBack: config.Repeat == "go-back-n"}
	s.id = kernel.Register(s)
	for _, t := range triggers {
		s.triggers[t.ID] = &trigger{count: t.Count}
	}
	if err := config.CheckFlows(g.Terminals(), flows); err != nil {
		return nil, err
	}
	s.flows = make([]flowState, 0, len(flows))
	for i, f := range flows {
		s.flows = append(s.flows, flowState{Flow: f, connection: -1, began: -1, end: -1})
		if f.After == 0 {
			kernel.Schedule(f.Start, s.id, startEvent, int32(i), 0)
			continue
		}
		t := s.triggers[f.After]
		if t == nil {
			return nil, fmt.Errorf("flow %d waits for trigger %d, which there is not", f.ID, f.After)
		}
		t.flows = append(t.flows, int32(i))
	}
	return s, nil
}

// Over tells the end points of their network, and how they are to take its times.
func (s *System) Over(net *shared.Network, t *shared.Timing, trims bool, seed uint64) {
	s.net, s.timing = net, timing{t, s.config.Timeout(t)}
	s.law = s.config.NSCC.Law(congestion.Path{RTT: sim.Time(t.RTT), Rate: t.Rate, PacketBytes: t.Packet, PayloadBytes: t.Packet - int64(s.config.Header), Trimming: trims, Credit: s.config.hasCredit()})
	slows := s.config.Control == "rccc" && s.timing.Oversubscription > 1
	for i := range s.hosts {
		p := &s.hosts[i].pacer
		p.rate, p.stream = 1, sim.NewStream(seed, "pacer", i)
		p.entropy = uint16(p.stream.IntN(pullEntropies))
		p.slows = slows
	}
	for i := range s.flows {
		s.connect(int32(i), seed)
	}
}

// Timeout is how long a sender waits, in ps: 15 us, and what six queues take; 0: nothing is lost.
func (c *Config) Timeout(t *shared.Timing) int64 {
	queue := t.Queue
	if queue == math.MaxInt64 {
		if c.Repeat != "go-back-n" {
			return 0
		}
		queue = t.BDP // packets that come out of order are thrown away
	}
	return 15_000_000 + int64(math.Round(min(6*t.Picoseconds(queue), 1e18)))
}

// connect gives a flow its connection.
func (s *System) connect(flow int32, seed uint64) {
	f := &s.flows[flow]
	if s.config.Share && f.Connection != 0 {
		if c := s.shared[f.key()]; c != nil {
			f.connection = c.number
			c.messages = append(c.messages, message{flow: flow})
			return
		}
	}
	c := &connection{system: s, number: int32(len(s.connections)), src: topology.TerminalID(f.Src), dst: topology.TerminalID(f.Dst)}
	c.messages = append(c.messages, message{flow: flow})
	c.spray = newSpraying(s.config.Spray, s.config.Entropies, seed, int(c.number))
	c.credit = creditSender{bytes: s.timing.BDP * 3 / 2, speculating: true}
	switch s.config.Control {
	case "nscc", "both":
		w := s.law.Start()
		c.window = &w
	case "constant":
		c.constant = int64(s.config.Window) * s.timing.Packet
	case "dcqcn":
		r := s.config.DCQCN.Start(s.timing.Rate)
		c.rate = &r
	}
	f.connection = c.number
	s.connections = append(s.connections, c)
	if s.config.Share {
		s.shared[f.key()] = c
	}
}

// Handle implements [sim.Handler].
func (s *System) Handle(_ *sim.Kernel, e sim.Event) {
	switch e.Kind {
	case startEvent:
		s.start(e.Target)
	case timerEvent:
		if c := s.connections[e.Target]; c.timerAt == int64(s.kernel.Now()) { // an earlier one may have taken its place
			c.timer()
		}
	case grantEvent:
		s.grant(topology.TerminalID(e.Target))
	case paceEvent:
		s.slow(topology.TerminalID(e.Target))
	case rateEvent:
		c := s.connections[e.Target]
		c.rateEvent = false
		c.goOn()
	}
}

func (s *System) start(flow int32) {
	f := &s.flows[flow]
	f.began = s.kernel.Now()
	c := s.connections[f.connection]
	c.add(flow, f.Bytes)
	if p := &s.hosts[c.dst].pacer; p.slows {
		p.slows = false
		s.paceLater(c.dst)
	}
	c.goOn()
}

func (s *System) ended(flow int32) {
	f := &s.flows[flow]
	f.end = s.kernel.Now()
	s.left--
	s.fire(f.Fires)
	if s.left == 0 {
		s.kernel.Stop()
	}
}

// fire counts for a trigger.
func (s *System) fire(number int) {
	t := s.triggers[number]
	if t == nil || number == 0 {
		return
	}
	if t.count--; t.count == 0 {
		for _, next := range t.flows {
			s.kernel.Schedule(s.kernel.Now(), s.id, startEvent, next, 0)
		}
	}
}

// Left is the number of flows that have not ended.
func (s *System) Left() int { return s.left }

// Ends are the times at which flows began and ended (len = flows); -1: they have not.
func (s *System) Ends() (began, ended []sim.Time) {
	for i := range s.flows {
		began, ended = append(began, s.flows[i].began), append(ended, s.flows[i].end)
	}
	return began, ended
}

// Next implements [shared.EndPoints].
func (s *System) Next(t topology.TerminalID) int32 {
	h := &s.hosts[t]
	for {
		if h.control.Len() > 0 && (h.active.Len() == 0 || h.served < controlTurns) {
			if h.active.Len() > 0 {
				h.served++
			}
			return h.control.Take()
		}
		if h.active.Len() == 0 {
			return -1
		}
		h.served = 0
		c := s.connections[h.active.Take()]
		c.active = false
		size := c.size()
		if size == 0 || !c.allows(size) {
			c.goOn()
			continue
		}
		id := c.send(size)
		c.goOn()
		return id
	}
}

// Arrived implements [shared.EndPoints].
func (s *System) Arrived(_ topology.TerminalID, p *shared.Packet) {
	c := s.connections[p.Flow/2]
	switch p.Kind {
	case data:
		c.arrivedData(p)
	case acknowledgement, refusal:
		c.answered(p)
	case pull:
		c.pulled(p.Bytes)
	case request:
		c.demands(p.Bytes, true)
	case notification:
		c.rate.OnCNP(s.kernel.Now())
		c.goOn()
	}
}

func (s *System) control(dst topology.TerminalID, flow int32) (int32, *shared.Packet) {
	id, p := s.net.Take()
	p.Dst, p.Flow, p.Control, p.Size = dst, flow, true, int32(s.config.Header)
	return id, p
}

func (s *System) sendControl(t topology.TerminalID, id int32) {
	s.hosts[t].control.Put(id)
	s.net.Wake(t)
}
