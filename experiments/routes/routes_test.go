package routes

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/opensm"
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
	uniform, err := PatternDemand(r.Network, "uniform", 1)
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Compare([]string{"minhop", "ftree"}, []*Demand{uniform}, func() float64 { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	e := c.Engines[0]
	load := e.loads[0]
	for l, x := range load.Load {
		if math.Abs(x-2./3) > 1e-12 {
			t.Errorf("%s carries %v, want 2/3", cableName(c.subnet, int32(l)), x)
		}
	}
	if e.hops != 0.5 || e.maxHops != 1 || load.Throughput() != 1 || load.mean != 1 {
		t.Errorf("hops %v, at most %d, throughput %v", e.hops, e.maxHops, load.Throughput())
	}
	if refusal := c.Engines[1].Refusal; !strings.Contains(refusal, "more than one root") {
		t.Errorf("ftree: %q", refusal)
	}
	table := c.Table()
	if len(table.Rows) != 2 || len(table.Rows[0]) != len(table.Columns) || len(table.Rows[1]) != len(table.Columns) {
		t.Errorf("%v", table)
	}
}

// A list falls back to what is on it, and to nothing else.
func TestConfigure(t *testing.T) {
	r := Request{Network: chain(), Config: opensm.DefaultConfig(), Lanes: 8}
	r.Config.Engines = []string{"ftree", "lash"}
	c, err := r.Configure()
	if err != nil || c.Tables == nil || c.Tables.Engine != "lash" || len(c.Refusals) != 1 || c.Refused() != nil {
		t.Errorf("%+v, %v", c, err)
	}
	r.Config.Engines = []string{"ftree"}
	if c, err = r.Configure(); err != nil || c.Tables != nil || c.Refused() == nil {
		t.Errorf("%+v, %v", c, err)
	}
	r.Config.Engines = nil
	if c, err = r.Configure(); err != nil || c.Tables == nil || c.Tables.Engine != DefaultEngine {
		t.Errorf("%+v, %v", c, err)
	}
	r.Manager = "nobody"
	if _, err = r.Configure(); err == nil {
		t.Error("a manager that is not there")
	}
}

// TestHottestOfEveryEngine: the table of the hottest cables has some of each engine, and
// its loads are those of engines.csv and cables.csv: one kind of mean. Every column of
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
	permutation, err := PatternDemand(r.Network, "permutation", 20)
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.Compare([]string{"minhop", "updn", "lash"}, []*Demand{permutation}, func() float64 { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	cell := func(table *experiments.Table, row []string, name string) string {
		at, err := table.Column(name)
		if err != nil {
			t.Fatal(err)
		}
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
		if !found {
			t.Errorf("%s: its hottest cable, %s with %s, is not among those of\\n%v", engine, from, load, hottest.Rows)
		}
		fullest, _ := strconv.ParseFloat(cell(engines, row, "fullest_cable_load"), 64)
		if one, _ := strconv.ParseFloat(load, 64); fullest < one {
			t.Errorf("%s: the fullest of each draw %v, one cable %v", engine, fullest, one)
		}
	}
	files, err := c.Files()
	if err != nil {
		t.Fatal(err)
	}
	if picture := string(files["histogram.svg"]); strings.Count(picture, ">minhop<") != 1 || strings.Count(picture, ">lash<") != 1 {
		t.Error("the histogram has no panel for each engine")
	}
	uniform, err := PatternDemand(r.Network, "uniform", 1)
	if err != nil {
		t.Fatal(err)
	}
	several, err := r.Compare([]string{"minhop", "lash"}, []*Demand{permutation, uniform}, func() float64 { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	if files, err = several.Files(); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{">permutation<", ">uniform<", ">minhop<", ">lash<"} {
		if n := strings.Count(string(files["hottest.svg"]), text); n != 1 {
			t.Errorf("%s stands %d times in the picture of the hottest cables under two patterns", text, n)
		}
	}
	documented := map[string]bool{}
	for _, o := range experiments.CommandTables() {
		for _, column := range o.Columns {
			documented[o.File+" "+column.Name] = true
		}
	}
	for name, table := range map[string]*experiments.Table{"engines.csv": engines, "hottest.csv": hottest, "cables.csv": c.Cables(), "histogram.csv": c.Histogram()} {
		for _, column := range table.Columns {
			word, _, _ := strings.Cut(column, " ")
			if !documented[name+" "+word] {
				t.Errorf("%s: column %s is not documented", name, column)
			}
		}
	}
}
