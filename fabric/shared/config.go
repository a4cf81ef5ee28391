package shared

import (
	"fmt"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// Config holds the settings of all switches.
type Config struct {
	Queue         sim.Bytes `toml:"queue" doc:"what the data queue of a port holds, the packet in service among it; 0B: one bandwidth-delay product of the network, five without trimming, and any amount with pause"`
	MarkFrom      sim.Bytes `toml:"mark_from" doc:"bytes left in the data queue up to which packets leave unmarked; 0B with mark_to 0B: a fifth of a bandwidth-delay product"`
	MarkTo        sim.Bytes `toml:"mark_to" doc:"bytes from which every packet is marked; between the two the probability grows in proportion to mark_max; 0B: four fifths of a bandwidth-delay product"`
	MarkMax       float64   `toml:"mark_max" doc:"probability of a mark just below mark_to" min:"0" max:"1"`
	Full          string    `toml:"full" doc:"what becomes of packets that do not fit: one is trimmed to its header, or dropped: the one that comes or the last of the queue, at random; or senders are paused before" choices:"trim|drop|pause"`
	Header        sim.Bytes `toml:"header" doc:"what is left of a trimmed packet"`
	XOff          sim.Bytes `toml:"pause_above" doc:"bytes of an input in the switch above which it pauses the sender"`
	XOn           sim.Bytes `toml:"pause_below" doc:"bytes below which it lets the sender go on"`
	Paths         string    `toml:"paths" doc:"which of several shortest ways a packet takes: by a hash of flow, entropy and switch; data adaptively to one of the shortest queues, in steps of 5, 10 and 20 % of queue; or round robin, in an order drawn anew each turn" choices:"hash|adaptive|round-robin"`
	Control       string    `toml:"control" doc:"class of control packets: before data, or in one queue with them" choices:"first|with-data"`
	Delay         sim.Time  `toml:"delay" doc:"from the arrival of a packet until it is in the queue of its output"`
	AllowDeadlock bool      `toml:"allow_deadlock" doc:"run networks with pause although pauses can wait for each other in a circle"`
	Degraded      int       `toml:"degraded" doc:"switches of the highest level whose cables are slow: on two levels all cables of the first so many, on three those down to the first pod" min:"0"`
	Slow          float64   `toml:"degraded_rate" doc:"share of their rate that slow cables have; their queues and thresholds shrink with it" min:"0.001" max:"1"`
}

// DefaultConfig trims, as Ultra Ethernet's switches do.
func DefaultConfig() Config {
	return Config{MarkMax: 1, Full: "trim", Header: 64, XOff: 60_000, XOn: 48_000, Paths: "hash", Control: "first", Slow: 0.25}
}

// Validate checks what the tags cannot; see [param.Validate].
func (c *Config) Validate() error {
	switch {
	case c.MarkTo != 0 && c.MarkTo < c.MarkFrom:
		return &param.ParamError{Key: "mark_to", Value: c.MarkTo, Want: fmt.Sprintf("at least mark_from, %v", c.MarkFrom)}
	case c.Full == "pause" && c.XOn > c.XOff:
		return &param.ParamError{Key: "pause_below", Value: c.XOn, Want: fmt.Sprintf("at most pause_above, %v", c.XOff)}
	case c.Header < 1:
		return &param.ParamError{Key: "header", Value: c.Header, Want: "at least 1B"}
	}
	for _, b := range []struct {
		key   string
		bytes sim.Bytes
	}{{"queue", c.Queue}, {"mark_from", c.MarkFrom}, {"mark_to", c.MarkTo}, {"pause_above", c.XOff}, {"pause_below", c.XOn}} {
		if b.bytes < 0 {
			return &param.ParamError{Key: b.key, Value: b.bytes, Want: "at least 0B"}
		}
	}
	return nil
}

// Channel is a class of cables.
type Channel struct {
	Rate    sim.Rate `toml:"rate" doc:"data rate, each way; 0: the topology's, or that of the network"`
	Latency sim.Time `toml:"latency" doc:"time of flight; 0s: the topology's, or that of the network"`
}
