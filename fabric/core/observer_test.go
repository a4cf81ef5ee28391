package core_test

import (
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/fabric/observe"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestObservers: each of several observers is told of every moment. 4000 cycles of load leave
// nothing behind after 4000 more, so that of P packets of 3 flits in H hops of flits there are P
// heads and P last flits that enter the network, P that are delivered, H grants of a switch, H/3 of
// a virtual channel (once a packet and switch), and as many arrivals at switches: each crossing
// leads to another, but for the 3P to terminals, and 3P arrivals come from those.
func TestObservers(t *testing.T) {
	n := dragonflyNetwork(t, "val", 2, 4, 2)
	config := pipelined()
	config.Switch.Pipeline = fabric.Serial // so that all channels are given to fronts
	f := n.fabric(t, config)
	meter := measure.NewMeter(100)
	blame, trace := observe.StartBlame(f, meter), observe.StartTrace(f, meter, observe.TracePlan{Packets: 100})
	seen := f.Count()
	meter.Open(0)
	source := n.traffic(0.3, 3)
	source.Stop(4000)
	f.Attach(fabric.Ends{Source: source, Sink: meter})
	f.Advance(8000)
	p, h := f.Packets, f.FlitHops
	simtest.FatalIf(t, f.InFlight() != 0 || p < 1000, "%d packets, %d in flight", p, f.InFlight())
	want := core.Moments{Heads: p, Tails: p, Packets: p, Flits: h, Crossings: h, VCs: h / 3, Cycles: seen.Cycles}
	simtest.ErrorIf(t, *seen != want, "got  %+v\nwant %+v", *seen, want)
	if blamed := blame.Packets[0] + blame.Packets[1]; blamed != p || len(trace.Packets()) != 100 {
		t.Errorf("blame has seen %d packets and trace %d, want %d and 100", blamed, len(trace.Packets()), p)
	}
}
