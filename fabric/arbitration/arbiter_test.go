package arbitration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
	"github.com/weft-sim/weft/sim/snapshot"
)

func entries(t testing.TB, text string) []Entry {
	t.Helper()
	e := simtest.Must(ParseEntries(text))(t)
	return e
}

// sequence sends so many packets of lanes that always have one, of so many bytes each.
func sequence(t testing.TB, tables *Tables, ready uint32, n int, bytes func(lane int) int64) (counts [MaxLanes]int, order string) {
	t.Helper()
	a := New(tables)
	var text strings.Builder
	for range n {
		c, ok := a.Choose(ready)
		simtest.FatalIf(t, !ok, "nothing chosen")
		again, _ := a.Choose(ready)
		simtest.FatalIf(t, again != c, "chosen %v, then %v", c, again)
		counts[c.Lane]++
		text.WriteString(fmt.Sprint(c.Lane))
		a.Send(c, bytes(int(c.Lane)))
	}
	return counts, text.String()
}

func fixed(bytes int64) func(int) int64 { return func(int) int64 { return bytes } }

// What the tables promise of lanes that always have a packet of an MTU of 4,096 bytes, 64 units.
func TestClosedForms(t *testing.T) {
	for _, c := range []struct {
		name      string
		high, low string
		limit     uint8
		bytes     int64
		order     string // of 12 packets
	}{
		// 192 units are three packets.
		{"weights of three packets and one", "", "0:192,1:64", 0, 4096, "000100010001"},
		// A packet may start while weight is left: a unit is as good as 64.
		{"weights below a packet", "", "0:3,1:1", 0, 4096, "010101010101"},
		{"weights in small packets", "", "0:3,1:1", 0, 64, "000100010001"},
		// 65 bytes are two units: of five, three packets may start.
		{"rounded up", "", "0:5,1:1", 0, 65, "000100010001"},
		{"a lane in two places", "", "0:1,1:1,0:1,2:1", 0, 64, "010201020102"},
		{"weight 0 is no turn", "", "0:0,1:1,2:1", 0, 64, "121212121212"},
		{"limit 0: one to one", "0:255", "1:255", 0, 4096, "010101010101"},
		{"limit 1 and a packet of 4 KiB", "0:255", "1:255", 1, 4096, "010101010101"},
		{"limit 3", "0:255", "1:255", 3, 4096, "000100010001"},
		{"limit 2 in packets of 2 KiB", "0:255", "1:255", 2, 2048, "000010000100"},
		// 4,096 bytes are 64 units, and 3,000 are 47: two packets start below 64.
		{"limit 1 in packets of 3,000 B", "0:255", "1:255", 1, 3000, "001001001001"},
		{"no limit: the low table starves", "0:1", "1:255", 255, 4096, "000000000000"},
		{"turns of the low table go on", "0:255", "1:2,2:1", 1, 4096, "010201020102"},
		{"turns of the low table, small packets", "0:255", "1:2,2:1", 0, 64, "010102010102"},
		{"a lane in both tables", "0:1", "0:1,1:1", 0, 64, "000100010001"},
	} {
		tables := &Tables{entries(t, c.high), entries(t, c.low), c.limit}
		_, order := sequence(t, tables, tables.Lanes(), 12, fixed(c.bytes))
		simtest.ErrorIf(t, order != c.order, "%s: %s, want %s", c.name, order, c.order)
	}
}

// With a limit of L and both tables loaded, the high one sends as many packets as may
// start in L*64 units, and the low one one: shares of n to 1 with n = ceil(64L/units).
func TestLimits(t *testing.T) {
	for _, limit := range []int{1, 2, 3, 7, 31, 64, 200, 254} {
		for _, bytes := range []int64{64, 256, 1000, 2048, 4096} {
			units := (bytes + 63) / 64
			n := (64*int64(limit) + units - 1) / units
			tables := &Tables{entries(t, "0:255,2:1"), entries(t, "1:7"), uint8(limit)}
			rounds := int64(2)
			counts, _ := sequence(t, tables, 0b11, int(rounds*(n+1)), fixed(bytes))
			simtest.FatalIf(t, int64(counts[0]) != rounds*n || int64(counts[1]) != rounds,
				"limit %d, packets of %d B: %d to %d, want %d to %d", limit, bytes, counts[0], counts[1], rounds*n, rounds)
		}
	}
}

// A lane that has nothing to send loses its turn, and a chance that nobody takes is over: the limit begins anew.
func TestIdleLanes(t *testing.T) {
	tables := &Tables{entries(t, "0:255"), entries(t, "1:255,2:255"), 2}
	a := New(tables)
	order := ""
	send := func(ready uint32) {
		c, ok := a.Choose(ready)
		if !ok {
			order += "-"
			return
		}
		order += fmt.Sprint(c.Lane)
		a.Send(c, 4096)
	}
	for _, ready := range []uint32{
		0b001, 0b001, 0b001, // no low packet: the third begins a limit of its own
		0b111, 0b111, // one more, then the low table's chance
		0b010, 0b000, // the low table alone
		0b100,        // lane 1's turn is not over, but it has no packet
		0b110,        // lane 2's turn: 255 units, 64 of them used
		0b1000,       // of no table
		0b111, 0b111, // the limit has begun anew
	} {
		send(ready)
	}
	want := "000011" + "-" + "22" + "-" + "00"
	simtest.ErrorIf(t, order != want, "%s, want %s", order, want)
}

// Shares in bytes follow the weights where these are multiples of the packets.
func TestUnequalPackets(t *testing.T) {
	tables := &Tables{Low: entries(t, "0:128,1:64,2:32")}
	size := func(lane int) int64 { return []int64{1024, 4096, 512}[lane] }
	counts, _ := sequence(t, tables, 0b111, 8*8+8*1+8*4, size)
	// A round is 8 packets of 1,024 B, one of 4,096 and four of 512.
	want := []int{64, 8, 32}
	simtest.ErrorIf(t, !slices.Equal(counts[:3], want), "%v, want %v", counts[:3], want)
}

func TestParseEntries(t *testing.T) {
	got := entries(t, " 0:4, 1:0,14:0xff")
	simtest.ErrorIf(t, !slices.Equal(got, []Entry{{0, 4}, {1, 0}, {14, 255}}), "%v", got)
	for _, text := range []string{"1", "1:256", "15:1", "-1:1", "1:x", "1:1,", ":", strings.Repeat("0:1,", 64) + "0:1"} {
		_, err := ParseEntries(text)
		simtest.ErrorIf(t, err == nil, "%q was read", text)
	}
	if got := (&Tables{High: entries(t, "0:4,1:0"), Low: entries(t, "3:1")}).Lanes(); got != 0b1001 {
		t.Errorf("lanes %b", got)
	}
}

func FuzzParseEntries(f *testing.F) {
	f.Add("0:4,1:0,2:64")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := ParseEntries(text)
		if err != nil || len(table) == 0 {
			return
		}
		tables := &Tables{High: table, Low: table, Limit: 3}
		if set := tables.Lanes(); set != 0 {
			counts, _ := sequence(t, tables, set, MaxEntries*255, fixed(64)) // the longest round
			for lane := range counts {
				simtest.ErrorIf(t, (set>>lane&1 != 0) != (counts[lane] > 0), "lane %d has sent %d packets", lane, counts[lane])
			}
		}
	})
}

// Taking up as many packets at a time as Packets says gives the order of one at a time. They are as
// many as the turn's 100 units, and 64, which is the limit, only beside a packet of the low table.
func TestPackets(t *testing.T) {
	first := New(&Tables{entries(t, "0:100"), entries(t, "1:192"), 1})
	c, _ := first.Choose(0b01)
	simtest.Alike(t, "packets at a time", first.Packets(c, 0b01, Unit), 100, first.Packets(c, 0b11, Unit), 64)
	for _, limit := range []uint8{0, 1, 3, 17, 254, Unlimited} {
		for _, bytes := range []int64{64, 100, 2048, 4096} {
			for _, ready := range []uint32{0b111, 0b110, 0b001, 0b101} {
				tables := &Tables{entries(t, "0:100,3:9,2:1"), entries(t, "1:192,2:64"), limit}
				_, want := sequence(t, tables, ready, 600, fixed(bytes))
				a := New(tables)
				var got strings.Builder
				for got.Len() < 600 {
					c, _ := a.Choose(ready)
					for i := range a.Packets(c, ready, bytes) {
						if i > 0 { // as the first, but for the limit's beginning
							again, _ := a.Choose(ready)
							simtest.FatalIf(t, again.Lane != c.Lane,
								"limit %d, packets of %d B: packet %d of a turn is of lane %d, not %d", limit, bytes, i, again.Lane, c.Lane)
						}
						again, _ := a.Choose(ready)
						a.Send(again, bytes)
						got.WriteString(fmt.Sprint(c.Lane))
					}
				}
				simtest.Equal(t, got.String()[:600], want, "limit %d, packets of %d B, lanes %b:", limit, bytes, ready)
			}
		}
	}
}

// TestArbiterSnapshot: an arbiter that goes on from a snapshot chooses as the one that wrote
// it, packet after packet of 2 units in a table of weights 3 and 5.
func TestArbiterSnapshot(t *testing.T) {
	tables := &Tables{High: []Entry{{Lane: 0, Weight: 3}, {Lane: 1, Weight: 5}}, Low: []Entry{{Lane: 2, Weight: 4}, {Lane: 0, Weight: 2}}, Limit: 1}
	for at := range 40 {
		one, other := New(tables), New(tables)
		for i := range 80 {
			if i == at {
				w := snapshot.Writer()
				snapshot.Value(w, &one)
				r := snapshot.Reader(w.Bytes())
				snapshot.Value(r, &other)
				simtest.FatalIf(t, r.End() != nil, "%v", r.End())
			}
			c, _ := one.Choose(7)
			one.Send(c, 2*Unit)
			if i < at {
				continue
			}
			d, _ := other.Choose(7)
			simtest.FatalIf(t, d != c, "after a snapshot before choice %d, choice %d is %+v, want %+v", at, i, d, c)
			other.Send(c, 2*Unit)
		}
	}
}
