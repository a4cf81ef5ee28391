package command

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

// fourHosts is two switches with two hosts each and one cable between them.
const fourHosts = `{"format": "weft-topology", "version": 1, "classes": [{"name": "c", "latency": 1}],
"switches": [{}, {}],
"terminals": [{"switch": 0, "class": "c"}, {"switch": 0, "class": "c"}, {"switch": 1, "class": "c"}, {"switch": 1, "class": "c"}],
"links": [{"a": {"switch": 0}, "b": {"switch": 1}, "class": "c"}]}
`

const qualityOfService = `kind = "traffic"
[topology]
type = "file"
path = "net.json"
[routing]
type = "lft"
tables = "net.lfts"
service_levels = "net.psl"
[switch]
buffer_flits = 192
output_buffer_flits = 4
flow_control = "cut-through"
vlarb_low = "0:192,1:64"
[traffic]
pattern = "bit-complement"
packet_flits = [64]
load = 1.0
[measure]
levels = true
warmup = 10000
window = 400000
`

// Two flows each way over one cable, of service levels 0 and 1: with weights of 192 to
// 64 units and packets of 64 they have three quarters and one quarter of it.
func TestServiceLevels(t *testing.T) {
	var levels strings.Builder // host 0 and 3 are on level 0
	for src := range 4 {
		for dst := range 4 {
			level := 1
			if src == 0 || src == 3 {
				level = 0
			}
			fmt.Fprintf(&levels, "0x%016x %d %d\n", 0x100001+2*src, dst+1, level)
		}
	}
	inFolder(t, map[string]string{"net.json": fourHosts, "net.psl": levels.String(), "qos.toml": qualityOfService,
		"plain.toml": "kind = \"traffic\"\n[topology]\ntype = \"file\"\npath = \"net.json\"\n[routing]\ntype = \"table\"\n"})
	succeeds(t, "topology", "plain.toml", "--lfts", "net.lfts")
	shares := func(settings ...string) (flits [2]float64) {
		t.Helper()
		args := []string{"run", "qos.toml", "--out", "results", "--force", "--quiet"}
		for _, s := range settings {
			args = append(args, "--set", s)
		}
		succeeds(t, args...)
		rows := readRows(t, "results/levels.csv")
		if len(rows) != 2 {
			t.Fatal(rows)
		}
		for i, row := range rows {
			if row["service_level"] != strconv.Itoa(i) {
				t.Errorf("row %d is of level %s", i, row["service_level"])
			}
			flits[i], _ = strconv.ParseFloat(row["flits_per_cycle"], 64)
		}
		return flits
	}
	for _, c := range []struct {
		settings []string
		want     [2]float64 // both ways together
	}{
		{nil, [2]float64{1.5, 0.5}},
		{[]string{"switch.vlarb_low=0:3,1:1"}, [2]float64{1, 1}},
		{[]string{"switch.vlarb_high=0:64", "switch.vlarb_low=1:64", "switch.vl_high_limit=3"}, [2]float64{1.5, 0.5}},
	} {
		// Offered: 1 flit a cycle of each host, at random; the sources' queues are never
		// long empty, but at first.
		if got := shares(c.settings...); math.Abs(got[0]-c.want[0]) > 0.01 || math.Abs(got[1]-c.want[1]) > 0.01 {
			t.Errorf("%v: %v flits a cycle, want %v", c.settings, got, c.want)
		}
	}
	// Blame by level: the parts add up to the level's mean latency.
	shares("measure.blame=true", "measure.window=20000", "traffic.load=0.3")
	mean := map[string]string{}
	for _, row := range readRows(t, "results/levels.csv") {
		mean[row["service_level"]] = row["latency_mean_ns"]
	}
	blamed := 0
	for _, row := range readRows(t, "results/blame.csv") {
		if row["scope"] == "level" {
			blamed++
			total, _ := strconv.ParseFloat(row["total_ns"], 64)
			if want, _ := strconv.ParseFloat(mean[row["from"]], 64); math.Abs(total-want) > 1e-6*want {
				t.Errorf("level %s: parts of %s ns, mean latency %s ns", row["from"], row["total_ns"], mean[row["from"]])
			}
		}
	}
	if blamed != 2 {
		t.Errorf("%d levels in blame.csv", blamed)
	}
	for _, c := range []struct{ set, want string }{
		{"routing.type=table", "routing.service_levels is not a key of"},
		{"switch.flow_control=wormhole", "switch.flow_control = wormhole: want cut-through"},
		{"routing.vlarb=net.psl", "net.psl:1: "},
	} {
		refuses(t, c.want, "check", "qos.toml", "--set", c.set)
	}
}

// readRows reads a table of results, each row by column.
func readRows(t *testing.T, path string) (list []map[string]string) {
	t.Helper()
	text := simtest.Must(os.ReadFile(path))(t)
	in := csv.NewReader(strings.NewReader(string(text)))
	in.Comment = '#'
	rows := simtest.Must(in.ReadAll())(t)
	for _, cells := range rows[1:] {
		row := map[string]string{}
		for i, name := range rows[0] {
			row[name] = cells[i]
		}
		list = append(list, row)
	}
	return list
}
