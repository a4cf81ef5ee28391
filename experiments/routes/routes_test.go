package routes

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/opensm"
	"github.com/weft-sim/weft/sim/simtest"
)

// chain is two switches with two hosts each and two cables between them.
func chain() topology.Topology {
	b := topology.NewBuilder(2, topology.Class{Name: "terminal", Latency: 1}, topology.Class{Name: "cable", Latency: 1})
	for _, s := range []topology.SwitchID{0, 0, 1, 1} {
		b.AddTerminal(s, 0)
	}
	b.AddLink(0, 1, 1)
	b.AddLink(0, 1, 1)
	return topology.NewFileNetwork(b.Freeze())
}

// Every host sends a third of its packets to each other one, so two thirds leave the
// switch. minhop sends the two hosts over there by a cable each: two hosts with a third
// for each load every direction of a cable with 2/3, and no cable is full. Of the 16
// pairs of hosts, each with itself counted, 8 take one cable: half a hop in the mean.
func TestLoads(t *testing.T) {
	r := Request{Network: chain(), Config: opensm.DefaultConfig(), Lanes: 8}
	uniform := simtest.Must(PatternDemand(r.Network, "uniform", 1))(t)
	c := simtest.Must(r.Compare([]string{"minhop", "ftree"}, []*Demand{uniform}, func() float64 { return 0 }))(t)
	e := c.Engines[0]
	load := e.loads[0]
	for l, x := range load.Load {
		simtest.ErrorIf(t, math.Abs(x-2./3) > 1e-12, "%s carries %v, want 2/3", cableName(c.subnet, int32(l)), x)
	}
	simtest.Alike(t, "hops", e.hops, 0.5, e.maxHops, 1, load.Throughput(), 1, load.mean, 1)
	simtest.Says(t, c.Engines[1].Refusal, "more than one root")
	table := c.Table()
	simtest.ErrorIf(t, len(table.Rows) != 2 || len(table.Rows[0]) != len(table.Columns) || len(table.Rows[1]) != len(table.Columns), "%v", table)
}

// Hosts of 100 and 25 Gb/s at one switch, two of 50 at the other, a cable of 100: of what a host sends at its own
// full rate two thirds leave its switch. The cable carries 2/3 (100 + 25)/100 one way, 2/3 (50 + 50)/100 the other.
func TestLoadsOfUnevenHosts(t *testing.T) {
	b := topology.NewBuilder(2, topology.Class{Name: "a", Latency: 1, Rate: 100e9}, topology.Class{Name: "b", Latency: 1, Rate: 25e9}, topology.Class{Name: "c", Latency: 1, Rate: 50e9})
	for i, class := range []topology.ClassID{0, 1, 2, 2} {
		b.AddTerminal(topology.SwitchID(i/2), class)
	}
	b.AddLink(0, 1, 0)
	r := Request{Network: topology.NewFileNetwork(b.Freeze()), Config: opensm.DefaultConfig(), Lanes: 8}
	c := simtest.Must(r.Compare([]string{"minhop"}, []*Demand{simtest.Must(PatternDemand(r.Network, "uniform", 1))(t)}, func() float64 { return 0 }))(t)
	for l, want := range []float64{2. / 3 * 1.25, 2. / 3} {
		simtest.Near(t, c.Engines[0].loads[0].Load[l], want, 1e-12, "direction %d carries", l)
	}
}

// A list falls back to what is on it, and to nothing else.
func TestConfigure(t *testing.T) {
	r := Request{Network: chain(), Config: opensm.DefaultConfig(), Lanes: 8}
	r.Config.Engines = []string{"ftree", "lash"}
	c, err := r.Configure()
	simtest.ErrorIf(t, err != nil || c.Tables == nil || c.Tables.Engine != "lash" || len(c.Refusals) != 1 || c.Refused() != nil, "%+v, %v", c, err)
	r.Config.Engines = []string{"ftree"}
	c, err = r.Configure()
	simtest.ErrorIf(t, err != nil || c.Tables != nil || c.Refused() == nil, "%+v, %v", c, err)
	r.Config.Engines = nil
	c, err = r.Configure()
	simtest.ErrorIf(t, err != nil || c.Tables == nil || c.Tables.Engine != DefaultEngine, "%+v, %v", c, err)
	names := topology.NamesOf(r.Network.Graph()) // LIDs 1 to 4 of the hosts; by LMC 1 each has two
	r.Network.Graph().SetNames(names)
	for lmc, want := range []string{"LIDs       1 to 6\n", ", 4 adapter ports with others than stated"} {
		var text strings.Builder
		r.Config.LMC = lmc
		simtest.Must(r.Configure())(t).Describe(&text)
		simtest.ErrorIf(t, !strings.Contains(text.String(), want), "LMC %d: %s: want %q", lmc, &text, want)
	}
	r.Manager = "nobody"
	simtest.Refuse(r.Configure())(t, "nobody")
}

// TestHottestOfEveryEngine: the table of the hottest cables has some of each engine, and
// its loads agree with engines.csv and cables.csv: one kind of mean. Every column of
// the tables is documented.
func TestHottestOfEveryEngine(t *testing.T) {
	b := topology.NewBuilder(4, topology.Class{Name: "terminal", Latency: 1}, topology.Class{Name: "cable", Latency: 1})
	for s := range topology.SwitchID(4) {
		b.AddTerminal(s, 0)
		b.AddTerminal(s, 0)
		b.AddLink(s, (s+1)%4, 1)
	}
	b.AddLink(0, 2, 1)
	r := Request{Network: topology.NewFileNetwork(b.Freeze()), Config: opensm.DefaultConfig(), Lanes: 8}
	permutation := simtest.Must(PatternDemand(r.Network, "permutation", 20))(t)
	c := simtest.Must(r.Compare([]string{"minhop", "updn", "lash"}, []*Demand{permutation}, func() float64 { return 0 }))(t)
	cell := func(table *results.Table, row []string, name string) string {
		at := simtest.Must(table.Column(name))(t)
		return row[at]
	}
	engines, hottest := c.Table(), c.Hottest()
	for _, row := range engines.Rows {
		engine, from, load := cell(engines, row, "engine"), cell(engines, row, "hottest_cable"), cell(engines, row, "hottest_cable_load")
		found := cell(engines, row, "status") == "refused"
		for _, other := range hottest.Rows {
			name := cell(hottest, other, "cable_from") + " to " + cell(hottest, other, "cable_to")
			if cell(hottest, other, "engine") == engine && name == from {
				found = cell(hottest, other, "load_share") == load
			}
		}
		simtest.ErrorIf(t, !found, "%s: its hottest cable, %s with %s, is not among those of\\n%v", engine, from, load, hottest.Rows)
		fullest, _ := strconv.ParseFloat(cell(engines, row, "fullest_cable_load"), 64)
		one, _ := strconv.ParseFloat(load, 64)
		simtest.ErrorIf(t, fullest < one, "%s: the fullest of each draw %v, one cable %v", engine, fullest, one)
	}
	files := simtest.Must(c.Files())(t)
	picture := string(files["histogram.svg"])
	simtest.Alike(t, "the histogram has no panel for each engine", strings.Count(picture, ">minhop<"), 1, strings.Count(picture, ">lash<"), 1)
	uniform := simtest.Must(PatternDemand(r.Network, "uniform", 1))(t)
	several := simtest.Must(r.Compare([]string{"minhop", "lash"}, []*Demand{permutation, uniform}, func() float64 { return 0 }))(t)
	files = simtest.Must(several.Files())(t)
	for _, text := range []string{">permutation<", ">uniform<", ">minhop<", ">lash<"} {
		n := strings.Count(string(files["hottest.svg"]), text)
		simtest.ErrorIf(t, n != 1, "%s stands %d times in the picture of the hottest cables under two patterns", text, n)
	}
	documented := map[string]bool{}
	for _, o := range experiments.CommandTables() {
		for _, column := range o.Columns {
			documented[o.Name+" "+column.Name] = true
		}
	}
	for name, table := range map[string]*results.Table{"engines.csv": engines, "hottest.csv": hottest, "cables.csv": c.Cables(), "histogram.csv": c.Histogram()} {
		for _, column := range table.Columns {
			word, _, _ := strings.Cut(column, " ")
			simtest.ErrorIf(t, !documented[name+" "+word], "%s: column %s is not documented", name, column)
		}
	}
}

// fewCables is two switches with four hosts each, n1 to n8, and one cable; n1 and n5 have
// two rails.
func fewCables() topology.Topology {
	b := topology.NewBuilder(2, topology.Class{Name: "terminal", Latency: 1}, topology.Class{Name: "cable", Latency: 1})
	names := &topology.Names{}
	for host := range 8 {
		for rail := range 1 + (host%4+3)%4/3 {
			b.AddTerminal(topology.SwitchID(host/4), 0)
			names.Terminals = append(names.Terminals, topology.AdapterPort{Name: fmt.Sprintf("n%d mlx5_%d", host+1, rail)})
			names.Host = append(names.Host, int32(host))
		}
	}
	b.AddLink(0, 1, 1)
	g := b.Freeze()
	g.Names = names
	return topology.NewFileNetwork(g)
}

// Job a is n1 and n5, two rails each, all to all: two rails send all that they have over the cable.
// Job b is n2 and n6 to n8, uniform with half a rate: one host sends all of it over the cable,
// three send a third of it back. Job c stays at its switch. So the cable carries 2 + 1/2 one way: a
// gets 1/2 of what it wants alone, and 2/5 with b; b as much with a and all alone.
func TestJobs(t *testing.T) {
	network := fewCables()
	jobs := simtest.Must(ReadJobs(strings.NewReader("# a list\na n[1,5]\nb n2,n[6-8] uniform 0.5 # half\n\nc block:2 permutation\n"), "x", network, 1))(t)
	r := Request{Network: network, Config: opensm.DefaultConfig(), Lanes: 8}
	c := simtest.Must(r.Compare([]string{"minhop"}, []*Demand{JobDemand(jobs)}, func() float64 { return 0 }))(t)
	l := c.Engines[0].loads[0]
	loads := slices.Clone(l.Load)
	slices.Sort(loads)
	// 3 hosts with 1/2, a third of it each, are a half, too.
	simtest.ErrorIf(t, math.Abs(loads[0]-2.5) > 1e-12 || math.Abs(loads[1]-2.5) > 1e-12, "the cable carries %v", loads)
	want := [][]float64{{0.4, 0.5}, {0.4, 1}, {1, 1}}
	for i, w := range want {
		j := l.jobs[i]
		simtest.ErrorIf(t, math.Abs(j.together-w[0]) > 1e-12 || math.Abs(j.alone-w[1]) > 1e-12 || (j.hottest < 0) != (i == 2), "job %s: %+v, want %v", jobs[i].Name, j, w)
	}
	table := c.Jobs()
	simtest.ErrorIf(t, len(table.Rows) != 3 || !slices.Equal(table.Rows[2], []string{"c", "minhop", "2", "permutation", "1", "1", "1", ""}), "%v", table)
}

// Hosts that are chosen by a rule are those that nobody has.
func TestPlacements(t *testing.T) {
	for text, want := range map[string]string{
		"a block:3\nb block:3":  "0 1 2|3 4 5",
		"a n2\nb spread:4":      "1|0 4 2 5",
		"a n[3-4]\nb spread:6":  "2 3|0 4 1 5 6 7",
		"a n[5-8]\nb random:4":  "4 5 6 7|0 1 2 3",
		"a n[1-2],n[07]":        "",
		"a n[1-2],n7,n4":        "0 1 6 3",
		"a random:8 uniform .5": "0 1 2 3 4 5 6 7",
		// squeue -o "%i %N", of which 2 and 3 wait
		"JOBID NODELIST\n1 n[1-2]\n2 \n3 (Priority)\n4_1 n7\n": "0 1|6",
	} {
		network := fewCables()
		jobs, err := ReadJobs(strings.NewReader(text), "x", network, 1)
		if (err != nil) != (want == "") {
			t.Errorf("%q: %v", text, err)
			continue
		}
		all := network.Graph().Hosts()
		var parts []string
		for _, j := range jobs {
			var hosts []int
			for _, rails := range j.Hosts {
				hosts = append(hosts, slices.IndexFunc(all, func(h []topology.TerminalID) bool { return h[0] == rails[0] }))
			}
			if strings.Contains(text, j.Name+" random") {
				slices.Sort(hosts)
			}
			parts = append(parts, strings.Trim(fmt.Sprint(hosts), "[]"))
		}
		simtest.Equal(t, strings.Join(parts, "|"), want, "%q:", text)
	}
}

func TestJobProblems(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "x: no jobs"},
		{"a", "x:1: 1 words: want NAME HOSTS"},
		{"a n1,n2\nb n[2-3]", "x:2: host n2 mlx5_0 is in job a already"},
		{"a n1,n2\na n3,n4", "x:2: job a is a duplicate"},
		{"a n9,n1", `x:1: no host "n9" in the network: want names such as "n1 mlx5_0"`},
		{"a n[1-", "a bracket is not closed"},
		{"a n[2-1]", "[2-1]: want numbers and ranges"},
		{"a n[0-99999999]", "more than 1048576 hosts"},
		{"a n1,", "a name is missing after the last comma"},
		{"a n1,,n2", "a name is empty"},
		{"a block:x", "block:x: want a number of hosts"},
		{"a block:9", "block:9: 8 of the 8 hosts are free"},
		{"a cyclic:2", "want block, spread or random"},
		{"a n1,n2 storm", "storm"},
		{"a n1,n2,n3 bit-complement", "job a of 3 hosts: pattern \"bit-complement\" needs a power of two"},
		{"a n1,n2 uniform 2", "load 2: want a number above 0"},
		{"a n1,n2 uniform 1 x", "5 words"},
	} {
		simtest.Refuse(ReadJobs(strings.NewReader(c.text), "x", fewCables(), 1))(t, c.want)
	}
}

func FuzzReadJobs(f *testing.F) {
	f.Add("a n[1-2,5]\nb spread:2 hot-spot 0.5 # c\n")
	network := fewCables()
	f.Fuzz(func(t *testing.T, text string) {
		jobs, err := ReadJobs(strings.NewReader(text), "fuzz", network, 1)
		if err != nil {
			for _, line := range strings.Split(err.Error(), "\n") {
				simtest.ErrorIf(t, !strings.HasPrefix(line, "fuzz:") && !strings.Contains(line, "want"), "%q: no place in %q", text, line)
			}
			return
		}
		seen := map[topology.TerminalID]bool{}
		for i := range jobs {
			for _, rails := range jobs[i].Hosts {
				sent := 0.0
				for _, rail := range rails {
					simtest.ErrorIf(t, seen[rail], "%q: terminal %d twice", text, rail)
					seen[rail] = true
				}
				jobs[i].Weights(rails[0], func(_ topology.TerminalID, w float64) { sent += w })
				simtest.ErrorIf(t, len(jobs[i].Hosts) > 1 && math.Abs(sent-jobs[i].Load) > 1e-9, "%q: a rail sends %v", text, sent)
			}
		}
	})
}
