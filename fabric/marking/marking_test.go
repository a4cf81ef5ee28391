package marking

import (
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
)

// TestREDMean: with a weight of 1/2 and 20, 20, 0, 40 flits waiting the mean is 10, 15, 7.5 and
// 23.75: marks above 10 are certain from 11 on. With a weight of 1 it is what waits.
func TestREDMean(t *testing.T) {
	for weight, want := range map[float64][4]bool{0.5: {false, true, false, true}, 1: {true, true, false, true}} {
		p := simtest.Must(Registry.New("red", atPort, param.Set("mark_from_flits", 10), param.Set("mark_to_flits", 11), param.Set("mark_weight", weight)))(t)
		for i, waiting := range []int{20, 20, 0, 40} {
			simtest.Equal(t, p.Mark(&Leaving{Flits: 1, Waiting: waiting}), want[i], "weight %g, %d flits wait: marked", weight, waiting)
		}
	}
}

// TestREDProbability: half way between the ends half of mark_probability, 0.2, is marked: of 10,000
// packets 2,000, within four standard deviations, 4 * sqrt(10,000 * 0.2 * 0.8) = 160.
func TestREDProbability(t *testing.T) {
	p := simtest.Must(Registry.New("red", atPort, param.Set("mark_from_flits", 10), param.Set("mark_to_flits", 30), param.Set("mark_probability", 0.4)))(t)
	marked := 0
	for range 10_000 {
		if p.Mark(&Leaving{Flits: 1, Waiting: 20}) {
			marked++
		}
	}
	simtest.ErrorIf(t, marked < 1840 || marked > 2160, "%d of 10,000 packets are marked, want 2,000", marked)
}

// atPort is port 3 of a switch whose lanes have 30 flits of 64 bytes at either end.
var atPort = Env{VCs: 2, BufferFlits: 30, InputFlits: 30, Number: 3, FlitBytes: 64}

func ports(t *testing.T, settings ...param.Setting) Policy {
	t.Helper()
	settings = append([]param.Setting{param.Set("cc_sw_cong_setting_marking_rate", 0)}, settings...)
	return simtest.Must(Registry.New("infiniband", atPort, settings...))(t)
}

// TestInfiniBandMarks: a packet of 8 flits, 512 bytes, which is marked if more than (15 - weight)
// * 2 flits wait beside it, on its lane, and credits are left for more than it, or the port is in
// the victim mask.
func TestInfiniBandMarks(t *testing.T) {
	for _, c := range []struct {
		what     string
		settings []param.Setting
		leaving  Leaving
		want     bool
	}{
		{"nothing else waits", nil, Leaving{Flits: 8, InLane: 8, Waiting: 99, Credits: 30}, false},
		{"a flit waits", nil, Leaving{Flits: 8, InLane: 9, Credits: 30}, true},
		{"6 flits wait, weight 12", []param.Setting{param.Set("cc_sw_cong_setting_threshold", 12)}, Leaving{Flits: 8, InLane: 14, Credits: 30}, false},
		{"7 flits wait, weight 12", []param.Setting{param.Set("cc_sw_cong_setting_threshold", 12)}, Leaving{Flits: 8, InLane: 15, Credits: 30}, true},
		{"short", nil, Leaving{Flits: 7, InLane: 20, Credits: 30}, false},
		{"short is enough", []param.Setting{param.Set("cc_sw_cong_setting_packet_size", 7)}, Leaving{Flits: 7, InLane: 20, Credits: 30}, true},
		{"victim", nil, Leaving{Flits: 8, InLane: 20, Credits: 8}, false},
		{"root", nil, Leaving{Flits: 8, InLane: 20, Credits: 9}, true},
		{"a packet as long as the buffer", nil, Leaving{Flits: 30, InLane: 50, Credits: 30}, true},
		{"victim in the mask", []param.Setting{param.Set("cc_sw_cong_setting_victim_mask", "0x8")}, Leaving{Flits: 8, InLane: 20, Credits: 8}, true},
		{"another in the mask", []param.Setting{param.Set("cc_sw_cong_setting_victim_mask", "0x17")}, Leaving{Flits: 8, InLane: 20, Credits: 8}, false},
	} {
		simtest.Equal(t, ports(t, c.settings...).Mark(&c.leaving), c.want, "%s: marked", c.what)
	}
	p := ports(t, param.Set("cc_sw_cong_setting_threshold", 0))
	simtest.ErrorIf(t, p != nil, "threshold 0 makes %v, want none", p)
}

// TestInfiniBandMarkingRate: with a rate of 2 every third packet of either lane is marked, also
// after an archive.
func TestInfiniBandMarkingRate(t *testing.T) {
	rate := param.Set("cc_sw_cong_setting_marking_rate", 2)
	p, marks := ports(t, rate), ""
	for i := range 12 {
		if p.Mark(&Leaving{Flits: 8, InLane: 20, Credits: 30, VC: i % 4 / 3}) {
			marks += "1"
		} else {
			marks += "0"
		}
		a := snapshot.Writer()
		p.Archive(a)
		p = ports(t, rate)
		p.Archive(snapshot.Reader(a.Bytes()))
	}
	// Lane 1 has packets 3, 7 and 11, of which 11 is the third; of lane 0 2, 6 and 10 are.
	simtest.Equal(t, marks, "001000100011", "marks")
}

// TestInfiniBandRefused: masks that are no numbers of 256 bits, and weights beyond 15.
func TestInfiniBandRefused(t *testing.T) {
	for key, values := range map[string][]any{
		"cc_sw_cong_setting_victim_mask": {"", "-1", "0xg", "0x1" + strings.Repeat("0", 64)},
		"cc_sw_cong_setting_threshold":   {16, -1},
	} {
		for _, v := range values {
			simtest.Refuse(Registry.New("infiniband", atPort, param.Set(key, v)))(t, key)
		}
	}
}
