package transport

import (
	"github.com/weft-sim/weft/fabric/congestion"
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
	Fires      int      // trigger that its end counts for; 0: none
	Connection int      // that it shares, if connections are shared; 0: its own
}

// Trigger starts flows when so many others have ended.
type Trigger struct{ ID, Count int }
