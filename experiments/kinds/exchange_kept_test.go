package kinds

import (
	"bytes"
	"errors"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/snapshot"
)

// TestExchangeGoesOn: an exchange that goes on from a snapshot of any moment, on any number
// of threads, is the exchange itself, in both orders, with packets as the unit, and while
// cables fail.
func TestExchangeGoesOn(t *testing.T) {
	for name, text := range map[string]string{
		"ring":   "[topology]\ntype = \"torus\"\ndims = [4, 4]\n[routing]\ntype = \"dor\"\n[exchange]\npacket_flits = 40\n",
		"random": "[topology]\ntype = \"dragonfly\"\np = 2\na = 4\nh = 2\n[routing]\ntype = \"ugal-l\"\n[fabric]\nunit = \"packet\"\n[switch]\nhold = true\nflow_control = \"cut-through\"\nbuffer_flits = 16\n[exchange]\npacket_flits = 9\norder = \"random\"\n",
		"faults": "[topology]\ntype = \"random-regular\"\nswitches = 16\ndegree = 4\nterminals = 2\n[routing]\ntype = \"table\"\n[switch]\nvcs = 9\n[fault.cables]\nfraction = 0.1\nat = 200\n[recovery]\nreroute = 100\nretries = 5\ntimeout = \"400ns\"\n[exchange]\npacket_flits = 16\n",
	} {
		t.Run(name, func(t *testing.T) {
			c := load(t, "kind = \"exchange\"\n"+text, experiments.Options{}).Points[0].Config().(*exchangeConfig)
			run := func(threads int, plan core.ToEnd) (*exchange, *core.Fabric, error) {
				p, err := c.build(1)
				if err != nil {
					t.Fatal(err)
				}
				g := p.topology.Graph()
				f, err := p.Routed.Fabric(g, p.fabric, 1)
				if err != nil {
					t.Fatal(err)
				}
				x := newExchange(g.Terminals(), c.Exchange.PacketFlits, c.Exchange.Order, 1)
				f.DivideFor(threads, fabric.Never, 1, nil)
				return x, f, f.RunToEnd(t.Context(), x, x, plan)
			}
			slices := 0
			want, whole, err := run(1, core.ToEnd{Snapshot: func(bool, func(*snapshot.Archive) error) error { slices++; return nil }})
			if err != nil {
				t.Fatal(err)
			}
			r := sim.NewStream(1, name, 0)
			for range 3 {
				at, seen, killed := r.IntN(slices), 0, errors.New("killed")
				var kept []byte
				_, _, err := run(1+r.IntN(3), core.ToEnd{Snapshot: func(_ bool, state func(*snapshot.Archive) error) error {
					if seen++; seen <= at {
						return nil
					}
					b, err := snapshot.Encode(state)
					kept = bytes.Clone(b)
					return errors.Join(err, killed)
				}})
				if !errors.Is(err, killed) || kept == nil {
					t.Fatal(err)
				}
				for threads := 1; threads <= 3; threads++ {
					got, f, err := run(threads, core.ToEnd{From: snapshot.Reader(kept)})
					if err != nil {
						t.Fatalf("from slice %d of %d on, %d threads: %v", at, slices, threads, err)
					}
					if got.all() != want.all() || f.Cycle() != whole.Cycle() || f.Counters != whole.Counters || f.FaultTally() != whole.FaultTally() {
						t.Errorf("from slice %d of %d on, %d threads: %+v in %d cycles, want %+v in %d", at, slices, threads, got.all(), f.Cycle(), want.all(), whole.Cycle())
					}
				}
				if _, _, err := run(1, core.ToEnd{From: snapshot.Reader(kept[:len(kept)/2])}); err == nil {
					t.Error("half of a snapshot is taken")
				}
			}
			if name == "faults" && whole.FaultTally().Retransmitted == 0 {
				t.Error("nothing is sent again")
			}
		})
	}
}
