package routes

import (
	"math"
	"strings"
	"testing"

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
