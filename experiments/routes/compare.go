package routes

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/traffic"
	"github.com/weft-sim/weft/routing/opensm"
)

// Compared is what one engine makes of a fabric.
type Compared struct {
	Engine   string
	Refusal  string // why it does not, "" if it does
	Seconds  float64
	tables   *opensm.Tables
	load     *Load
	lost     int // pairs without a path
	cycle    int // channels in the shortest cycle, 0 none
	describe string
}

// Comparison is several engines on one fabric under one pattern of traffic.
type Comparison struct {
	Pattern string
	Engines []*Compared
	subnet  *opensm.Subnet
}

// Compare routes the fabric by each of the engines named. processor is the processor
// time of this process in seconds. An error is one of the input; engines that refuse
// the fabric are part of the outcome.
func (r *Request) Compare(engines []string, pattern string, seed uint64, processor func() float64) (*Comparison, error) {
	s, err := r.subnet()
	if err != nil {
		return nil, err
	}
	matrix, err := patternMatrix(r.Network, pattern, seed)
	if err != nil {
		return nil, err
	}
	c := &Comparison{Pattern: pattern, subnet: s}
	for _, name := range engines {
		e := &Compared{Engine: name}
		begin := processor()
		tables, refusal, err := route(r.Network, s, name, &r.Config.Options)
		e.Seconds = processor() - begin
		c.Engines = append(c.Engines, e)
		switch {
		case refusal != nil:
			e.Refusal = refusal.Reason
			continue
		case err != nil:
			e.Refusal = err.Error()
			continue
		}
		e.tables = tables
		e.load = loads(tables, matrix)
		e.lost, _ = tables.Unreachable()
		proof := certificate(tables)
		e.cycle, e.describe = len(proof.Cycle), proof.Describe(s.Graph)
	}
	return c, nil
}

// patternMatrix makes a registered pattern with its defaults.
func patternMatrix(network topology.Topology, name string, seed uint64) (Matrix, error) {
	config, err := traffic.Patterns.Config(name)
	if err != nil {
		return nil, fmt.Errorf("--pattern: %w", err)
	}
	pattern, err := traffic.Patterns.Build(name, config, traffic.Env{Topology: network, Seed: seed})
	if err != nil {
		return nil, fmt.Errorf("--pattern %s: %w", name, err)
	}
	matrix, ok := pattern.(traffic.Matrix)
	if !ok {
		return nil, fmt.Errorf("--pattern %s: its traffic matrix is not known", name)
	}
	return matrix, nil
}

// Table is one line for each engine.
func (c *Comparison) Table() *experiments.Table {
	t := &experiments.Table{Columns: []string{"engine", "status", "pairs_without_path", "hops_mean", "hops_max",
		"cable_load_mean", "cable_load_max", "idle_cables", "throughput_bound", "service_levels", "lanes", "deadlock", "hottest_cable", "note"}}
	for _, e := range c.Engines {
		if e.tables == nil {
			t.Rows = append(t.Rows, []string{e.Engine, "refused", "", "", "", "", "", "", "", "", "", "", "", e.Refusal})
			continue
		}
		mean, most, idle := c.spread(e)
		deadlock := "free"
		if e.cycle > 0 {
			deadlock = fmt.Sprintf("cycle of %d", e.cycle)
		}
		hottest := ""
		if list := e.load.Hottest(1); len(list) > 0 && e.load.Use[list[0]] > 0 {
			hottest = cableName(c.subnet, list[0])
		}
		t.Rows = append(t.Rows, []string{e.Engine, "ok", strconv.Itoa(e.lost), decimal(e.load.Hops), strconv.Itoa(e.load.MaxHops),
			decimal(mean), decimal(most), strconv.Itoa(idle), decimal(e.load.Throughput()),
			strconv.Itoa(len(e.tables.LevelsInUse())), strconv.Itoa(e.tables.VCs()), deadlock, hottest, ""})
	}
	return t
}

// spread is the mean and the largest use of a direction of a cable, and how many carry
// nothing.
func (c *Comparison) spread(e *Compared) (mean, most float64, idle int) {
	for _, x := range e.load.Use {
		mean += x
		most = max(most, x)
		if x == 0 {
			idle++
		}
	}
	return mean / math.Max(1, float64(len(e.load.Use))), most, idle
}

// decimal writes a number with five digits.
func decimal(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }

// Cables is the load of every direction of every cable under every engine.
func (c *Comparison) Cables() *experiments.Table {
	s := c.subnet
	t := &experiments.Table{Columns: []string{"from", "from_port", "to", "to_port"}}
	for _, e := range c.Engines {
		if e.tables != nil {
			t.Columns = append(t.Columns, e.Engine)
		}
	}
	for i, l := range s.Links {
		back := s.Links[l.Back]
		row := []string{s.Graph.SwitchName(s.Switches[back.Peer]), strconv.Itoa(int(l.Port)), s.Graph.SwitchName(s.Switches[l.Peer]), strconv.Itoa(int(back.Port))}
		for _, e := range c.Engines {
			if e.tables != nil {
				row = append(row, decimal(e.load.Use[i]))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// hottestCables is how many cables [Comparison.Hottest] lists.
const hottestCables = 8

// Hottest is the use, under every engine, of the directions of cables with the highest
// use under any of them, the highest first.
func (c *Comparison) Hottest() *experiments.Table {
	t := &experiments.Table{Columns: []string{"cable_from", "cable_to", "engine", "load_share"}}
	most := make([]float64, len(c.subnet.Links))
	for _, e := range c.Engines {
		if e.tables != nil {
			for l, x := range e.load.Use {
				most[l] = max(most[l], x)
			}
		}
	}
	s := c.subnet
	for _, link := range (&Load{Use: most}).Hottest(hottestCables) {
		from, to := s.Graph.PortName(s.Links[link].Graph), s.Graph.PortName(s.Links[s.Links[link].Back].Graph)
		for _, e := range c.Engines {
			if e.tables != nil && most[link] > 0 {
				t.Rows = append(t.Rows, []string{from, to, e.Engine, decimal(e.load.Use[link])})
			}
		}
	}
	return t
}

// bins is the number of bins of the histogram.
const bins = 20

// Histogram counts the directions of cables by their load, in the same bins for all
// engines.
func (c *Comparison) Histogram() *experiments.Table {
	t := &experiments.Table{Columns: []string{"engine", "load_from_share", "load_to_share", "cables"}}
	top := 0.0
	for _, e := range c.Engines {
		if e.tables != nil {
			_, most, _ := c.spread(e)
			top = max(top, most)
		}
	}
	if top == 0 {
		return t
	}
	for _, e := range c.Engines {
		if e.tables == nil {
			continue
		}
		var count [bins]int
		for _, x := range e.load.Use {
			count[min(bins-1, int(x/top*bins))]++
		}
		for i, n := range count {
			t.Rows = append(t.Rows, []string{e.Engine, decimal(float64(i) * top / bins), decimal(float64(i+1) * top / bins), strconv.Itoa(n)})
		}
	}
	return t
}

// Describe lists for each engine the hottest cables, and the cycle if there is one.
func (c *Comparison) Describe(w io.Writer, hottest int) {
	for _, e := range c.Engines {
		if e.tables == nil {
			continue
		}
		fmt.Fprintf(w, "\n%s: %s\n", e.Engine, e.describe)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, link := range e.load.Hottest(hottest) {
			if e.load.Use[link] > 0 {
				fmt.Fprintf(t, "  %s\t%s\n", decimal(e.load.Use[link]), cableName(c.subnet, link))
			}
		}
		t.Flush()
	}
}
