package collectives_test

import (
	"testing"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/collectives/collectivestest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestAllgatherLeadersKeepTheContract: every division of up to 36 ranks into nodes and groups, by Bruck's
// algorithm and round the ring.
func TestAllgatherLeadersKeepTheContract(t *testing.T) {
	for n := 1; n <= 36; n++ {
		for m := 1; m <= n; m++ {
			for d := 1; d <= m; d++ {
				if n%m != 0 || m%d != 0 {
					continue
				}
				for _, critical := range []sim.Bytes{0, 1 << 40} {
					c := collectives.AllgatherLeaders(collectives.Env{Ranks: n, PerNode: m, Bytes: 13}, collectives.AllgatherLeaderSettings{d, critical, true})
					err := collectivestest.VerifyContract(c)
					simtest.FatalIf(t, err != nil, "%d ranks, %d a node, %d leaders, critical %v: %v", n, m, d, critical, err)
				}
			}
		}
	}
}

// TestAllgatherLeadersCosts: 24 ranks on four nodes of six with two leaders have groups of three. A
// leader sends three blocks of 3 * 100 B round the ring, or by Bruck's algorithm one and two of them in
// two messages, and to each of five ranks of its node 12 * 100 B; another rank its block only.
func TestAllgatherLeadersCosts(t *testing.T) {
	for critical, messages := range map[sim.Bytes]int{299: 3 + 5, 300: 2 + 5} {
		c := collectives.AllgatherLeaders(collectives.Env{Ranks: 24, PerNode: 6, Bytes: 100}, collectives.AllgatherLeaderSettings{2, critical, true})
		for rank, want := range map[int]struct{ messages, bytes int64 }{
			3: {int64(messages), 3*300 + 5*1200},
			4: {1, 100},
		} {
			bytes := int64(0)
			all := sends(c, rank)
			for _, op := range all {
				bytes += op.Bytes
			}
			simtest.ErrorIf(t, int64(len(all)) != want.messages || bytes != want.bytes,
				"critical %v: rank %d sends %d messages, %d B; want %d, %d", critical, rank, len(all), bytes, want.messages, want.bytes)
		}
	}
}

// TestAllgatherLSSCosts: of six ranks each gives its address of 72 B to the one before it, and writes
// five blocks into the next one's buffer.
func TestAllgatherLSSCosts(t *testing.T) {
	c := simtest.Must(collectives.Registry.New("allgather-lss", collectives.Env{Ranks: 6, Bytes: 100}))(t)
	control, writes := 0, 0
	for _, op := range sends(c, 2) {
		switch {
		case op.Control && op.Protocol == collectives.Eager && op.Bytes == 72 && op.Peer == 1:
			control++
		case op.Protocol == collectives.Direct && op.Bytes == 100 && op.Peer == 3:
			writes++
		}
	}
	if control != 1 || writes != 5 || len(sends(c, 2)) != 6 {
		t.Errorf("%d handshakes, %d writes of %d messages", control, writes, len(sends(c, 2)))
	}
}
