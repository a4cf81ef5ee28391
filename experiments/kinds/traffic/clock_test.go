package traffic

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine/enginetest"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// A fabric of two switches with cables of the given speeds between switches and to hosts.
func speedFabric(t *testing.T, trunk, edge string) string {
	t.Helper()
	text := strings.NewReplacer("TRUNK", trunk, "EDGE", edge).Replace(`Switch 4 "S-a" # "a" base port 0 lid 1 lmc 0
[1] "H-c"[1](c1) # "c" lid 3 EDGE
[2] "S-b"[2] # "b" lid 2 TRUNK
Switch 4 "S-b" # "b" base port 0 lid 2 lmc 0
[1] "H-d"[1](d1) # "d" lid 4 EDGE
[2] "S-a"[2] # "a" lid 1 TRUNK
Ca 1 "H-c" # "c"
[1](c1) "S-a"[1] # lid 3 lmc 0 "a" lid 1 EDGE
Ca 1 "H-d" # "d"
[1](d1) "S-b"[1] # lid 4 lmc 0 "b" lid 2 EDGE
`)
	path := filepath.Join(t.TempDir(), "fabric.txt")
	simtest.Check(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// The clock of an imported fabric is the time of a flit of 64 bytes on its fastest cable: 512 bits.
func TestClockFollowsTheFabric(t *testing.T) {
	for _, c := range []struct {
		name, trunk, edge, more string
		want                    sim.Time
	}{
		{"EDR", "4xEDR", "4xEDR", "", 5120},
		{"mixed", "4xFDR", "4xHDR", "", 2560},
		{"the trunk is faster", "4xNDR", "1xEDR", "", 1280},
		{"XDR, faster than the default", "4xXDR", "4xXDR", "", 640},
		{"FDR does not divide", "4xFDR", "4xFDR", "", 9386}, // 512/54.545454545 = 9386.67
		{"no rates", "4x???", "4x???", "", 1000},
		{"stated", "4xEDR", "4xEDR", "[fabric]\nclock = \"2ns\"\n", 2000},
		{"larger flits", "4xEDR", "4xEDR", "[fabric]\nflit_bytes = \"128B\"\n", 10240},
		{"a channel of another rate", "4xEDR", "4xSDR", "[channel.4xSDR]\nrate = \"200Gb/s\"\n", 2560},
		{"a channel of another link", "4xEDR", "4xSDR", "[channel.4xSDR]\nlink = \"4xNDR\"\n", 1280},
		// The longest divisor of 100 ns that is not above 5,120 ps.
		{"latencies", "4xEDR", "4xSDR", "[channel.4xSDR]\nlatency = \"100ns\"\n", 5000},
		{"link", "4xEDR", "4xEDR", "[fabric]\nlink = \"4xHDR\"\n", 2560},
	} {
		f := enginetest.Load(t, "[topology]\ntype = \"ibnetdiscover\"\npath = \""+speedFabric(t, c.trunk, c.edge)+"\"\n[routing]\ntype = \"table\"\n"+c.more)
		simtest.Equal(t, f.Points[0].Config().(*trafficConfig).Fabric.Clock, c.want, "%s:", c.name)
	}
}

// Generated networks have the clock that they are given; a link gives it, too.
func TestClockOfLinks(t *testing.T) {
	const torus = "[topology]\ntype = \"torus\"\ndims = [4, 4]\n[routing]\ntype = \"dor\"\n"
	for _, c := range []struct {
		text string
		want sim.Time
	}{
		{"", 1000},
		{"[fabric]\nlink = \"4xQDR\"\n", 16000},
		{"[fabric]\nlink = \"4xNDR\"\nflit_bytes = \"32B\"\n", 640},
		{"[fabric]\nlink = \"4xNDR\"\nclock = \"1280ps\"\n", 1280}, // as the resolved file says it
	} {
		simtest.Equal(t, enginetest.Load(t, torus+c.text).Points[0].Config().(*trafficConfig).Fabric.Clock, c.want, "%q:", c.text)
	}
	enginetest.Refusals(t, torus, map[string]string{
		"[fabric]\nlink = \"4xNDR\"\nclock = \"1ns\"\n":        "fabric.clock = 1ns: want 1.28ns, the time of a flit on fabric.link = \"4xNDR\", or either of them left out",
		"[fabric]\nlink = \"3xNDR\"\n":                         "fabric.link = 3xNDR: want a width of 1x,",
		"[channel.grid]\nlink = \"4xndr\"\n":                   "channel.grid.link = 4xndr: want a width of 1x,",
		"[channel.grid]\nlink = \"4xHDR\"\nrate = \"1Gb/s\"\n": "channel.grid.link = 4xHDR: want it alone",
		"[channel.grid]\nlink = \"4xXDR\"\n":                   "want at least 1 cycle a flit: fabric.clock = \"640ps\" works with flits of 64B, and so do larger flits",
	})
	f := enginetest.Load(t, torus+"[fabric]\nclock = \"1ns\"\n[channel.grid]\nlink = \"4xEDR\"\n")
	parts := simtest.Must(f.Points[0].Config().(*trafficConfig).build(1))(t)
	timings, err := parts.fabric.ChannelTimings(parts.topology.Graph())
	simtest.ErrorIf(t, err != nil || timings[1].CyclesPerFlit < 5.11999 || timings[1].CyclesPerFlit > 5.12001, "%+v, %v", timings, err)
}

// TestCyclesAsTimes: settings in cycles take times, in any table, swept or given with --set.
// With a clock of 3 ns, 1.5 us are 500 cycles and 100 ns are 34, since 33 are 99 ns.
func TestCyclesAsTimes(t *testing.T) {
	const text = `kind = "traffic"
topology = { type = "torus", dims = [4, 4] }
routing = { type = "table" }
fabric = { clock = "3ns" }
fault.a = { fraction = 0.1, at = AT }
recovery = { reroute = REROUTE }
measure = { warmup = 100, window = 300 }
[sweep]
"measure.warmup" = WARMUP
`
	row := func(replace []string, set ...string) []string {
		rows := enginetest.OutcomeOf(t, strings.NewReplacer(replace...).Replace(text), set...).Results.Rows
		return rows[len(rows)-1][2:] // behind the point and what is swept
	}
	times := row([]string{"AT", `"600ns"`, "REROUTE", `"100ns"`, "WARMUP", `["1us", "1.5us"]`}, "switch.credit_cycles=4ns", "terminal.injection_cycles=6ns")
	cycles := row([]string{"AT", "200", "REROUTE", "34", "WARMUP", "[334, 500]"}, "switch.credit_cycles=2", "terminal.injection_cycles=2")
	simtest.ErrorIf(t, !slices.Equal(times, cycles), "as times\n%v\nas cycles\n%v", times, cycles)
	_, err := experiments.Load("x.toml", strings.NewReplacer("AT", `"-1us"`, "REROUTE", `"2"`, "WARMUP", "[334]").Replace(text), experiments.Options{})
	for _, want := range []string{"x.toml:5:29: fault.a.at = -333: want at least 0", `x.toml:6:14: recovery.reroute = "2": want an integer, in cycles, or a time with its unit in quotes, for example "2us"`} {
		simtest.Fail(t, err, want)
	}
}
