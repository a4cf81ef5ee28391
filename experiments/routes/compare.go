package routes

import (
	_ "embed"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"text/tabwriter"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/opensm"
)

// Compared is what one engine makes of a fabric.
type Compared struct {
	Engine   string
	Refusal  string // why it does not, "" if it does
	Seconds  float64
	tables   *opensm.Tables
	hops     float64
	maxHops  int
	lost     int // pairs without a path
	cycle    int // channels in the shortest cycle, 0 none
	describe string
	loads    []loaded // by demand
}

// loaded is the load of the cables under a demand.
type loaded struct {
	label       string  // engine, and the demand where there are several
	demand      string  // its name
	Load                // mean of its draws
	worst       float64 // load of the fullest cable, mean of the draws
	mean, least float64 // throughput of the draws
	jobs        []jobLoad
}

type jobLoad struct {
	together, alone float64 // throughput beside the others and without them
	hottest         int32   // fullest cable that it uses; -1: it uses none
}

// Comparison is several engines on one fabric under the same demands.
type Comparison struct {
	Demands []*Demand
	Engines []*Compared
	subnet  *opensm.Subnet
}

// Compare routes the fabric by each of the engines named. processor is the processor
// time of this process in seconds. An error is one of the input; engines that refuse
// the fabric are part of the outcome.
func (r *Request) Compare(engines []string, demands []*Demand, processor func() float64) (*Comparison, error) {
	s, err := r.subnet()
	if err != nil {
		return nil, err
	}
	c := &Comparison{Demands: demands, subnet: s}
	rates := ratesOf(s)
	for _, name := range engines {
		e := &Compared{Engine: name}
		begin := processor()
		tables, refusal, err := route(s, name, &r.Config.Options)
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
		sum, pairs := 0, 0 // cables between switches, of all pairs of terminals that the tables join
		tables.Pairs(func(hosts []opensm.Host, _ topology.TerminalID, path []int32, ok bool) {
			if ok {
				sum, pairs, e.maxHops = sum+len(path)*len(hosts), pairs+len(hosts), max(e.maxHops, len(path))
			}
		})
		e.hops = float64(sum) / float64(max(1, pairs))
		for _, d := range demands {
			e.loads = append(e.loads, c.load(e, d, rates))
		}
		e.lost, _ = tables.Unreachable()
		proof := certificate(tables)
		e.cycle, e.describe = len(proof.Cycle), proof.Describe(s.Graph)
	}
	return c, nil
}

// load looks at a demand, draw by draw and job by job.
func (c *Comparison) load(e *Compared, d *Demand, r rates) loaded {
	l := loaded{label: e.Engine, demand: d.Name, Load: make(Load, len(r.links)), least: 1}
	if len(c.Demands) > 1 {
		l.label += " " + d.Name
	}
	for _, matrix := range d.Draws {
		drawn := loadOf(e.tables, matrix, r)
		_, worst, _ := drawn.spread()
		share := drawn.Throughput()
		l.worst += worst / float64(len(d.Draws))
		l.mean += share / float64(len(d.Draws))
		l.least = min(l.least, share)
		for i, x := range drawn {
			l.Load[i] += x / float64(len(d.Draws))
		}
	}
	for i := range d.Jobs {
		own := loadOf(e.tables, &d.Jobs[i], r)
		j := jobLoad{}
		j.together, j.hottest = l.throughputOf(own)
		j.alone = own.Throughput()
		l.jobs = append(l.jobs, j)
	}
	return l
}

// each visits the loads of all engines that route the fabric, demand by demand.
func (c *Comparison) each(visit func(e *Compared, l *loaded)) {
	for d := range c.Demands {
		for _, e := range c.Engines {
			if e.tables != nil {
				visit(e, &e.loads[d])
			}
		}
	}
}

// Table is one line for each demand and engine.
func (c *Comparison) Table() *results.Table {
	t := newTable("engines.csv")
	for i, d := range c.Demands {
		for _, e := range c.Engines {
			if e.tables == nil {
				row := make([]string, len(t.Columns))
				row[0], row[1], row[2], row[len(row)-1] = e.Engine, d.Name, "refused", e.Refusal
				t.Rows = append(t.Rows, row)
				continue
			}
			l := &e.loads[i]
			mean, _, idle := l.spread()
			deadlock := "free"
			if e.cycle > 0 {
				deadlock = fmt.Sprintf("cycle of %d", e.cycle)
			}
			hottest, carries := "", ""
			if list := l.Hottest(1); len(list) > 0 && l.Load[list[0]] > 0 {
				hottest, carries = cableName(c.subnet, list[0]), decimal(l.Load[list[0]])
			}
			t.Rows = append(t.Rows, []string{e.Engine, d.Name, "ok", strconv.Itoa(e.lost), decimal(e.hops), strconv.Itoa(e.maxHops),
				decimal(mean), decimal(l.worst), strconv.Itoa(idle), decimal(l.mean), decimal(l.least),
				strconv.Itoa(len(e.tables.LevelsInUse())), strconv.Itoa(e.tables.VCs()), deadlock, hottest, carries, ""})
		}
	}
	return t
}

// Jobs is one line for each job and engine; nil: no jobs.
func (c *Comparison) Jobs() *results.Table {
	var t *results.Table
	for i, d := range c.Demands {
		for k := range d.Jobs {
			if t == nil {
				t = newTable("jobs.csv")
			}
			job := &d.Jobs[k]
			for _, e := range c.Engines {
				if e.tables == nil {
					continue
				}
				j, hottest := e.loads[i].jobs[k], ""
				if j.hottest >= 0 {
					hottest = cableName(c.subnet, j.hottest)
				}
				t.Rows = append(t.Rows, []string{job.Name, e.Engine, strconv.Itoa(len(job.Hosts)), job.Pattern, decimal(job.Load), decimal(j.together), decimal(j.alone), hottest})
			}
		}
	}
	return t
}

// spread is the mean and the largest load of a direction of a cable, and how many carry nothing.
func (l Load) spread() (mean, most float64, idle int) {
	for _, x := range l {
		mean += x
		most = max(most, x)
		if x == 0 {
			idle++
		}
	}
	return mean / math.Max(1, float64(len(l))), most, idle
}

// decimal writes a number with five digits.
func decimal(x float64) string { return strconv.FormatFloat(x, 'g', 5, 64) }

// Cables is the load of every direction of every cable under every engine.
func (c *Comparison) Cables() *results.Table {
	s := c.subnet
	t := newTable("cables.csv")
	t.Columns = t.Columns[:len(t.Columns)-1] // a column of loads for each engine
	c.each(func(_ *Compared, l *loaded) { t.Columns = append(t.Columns, "load_share "+l.label) })
	for i, link := range s.Links {
		back := s.Links[link.Back]
		row := []string{s.Graph.SwitchName(s.Switches[back.Peer]), strconv.Itoa(int(link.Port)), s.Graph.SwitchName(s.Switches[link.Peer]), strconv.Itoa(int(back.Port))}
		c.each(func(_ *Compared, l *loaded) { row = append(row, decimal(l.Load[i])) })
		t.Rows = append(t.Rows, row)
	}
	return t
}

// hottestCables is how many cables [Comparison.Hottest] lists; where there are more
// engines, one of each.
const hottestCables = 8

// Hottest is the load, under every engine, of the directions of cables that are the
// hottest under one of them: each engine's in turn, so that no engine is left out.
func (c *Comparison) Hottest() *results.Table {
	t := newTable("hottest.csv")
	var lists [][]int32
	c.each(func(_ *Compared, l *loaded) {
		list := l.Hottest(hottestCables)
		lists = append(lists, slices.DeleteFunc(list, func(link int32) bool { return l.Load[link] == 0 }))
	})
	var chosen []int32
	for rank := range hottestCables {
		for _, list := range lists {
			if rank < len(list) && !slices.Contains(chosen, list[rank]) && (rank == 0 || len(chosen) < hottestCables) {
				chosen = append(chosen, list[rank])
			}
		}
	}
	s := c.subnet
	for _, link := range chosen {
		from, to := s.Graph.PortName(s.Links[link].Graph), s.Graph.PortName(s.Links[s.Links[link].Back].Graph)
		c.each(func(e *Compared, l *loaded) {
			t.Rows = append(t.Rows, []string{from, to, e.Engine, l.demand, decimal(l.Load[link])})
		})
	}
	return t
}

// bins is the number of bins of the histogram.
const bins = 20

// Histogram counts the directions of cables by their load, in the same bins for all engines.
func (c *Comparison) Histogram() *results.Table {
	t := newTable("histogram.csv")
	top := 0.0
	c.each(func(_ *Compared, l *loaded) {
		_, most, _ := l.spread()
		top = max(top, most)
	})
	if top == 0 {
		return t
	}
	c.each(func(_ *Compared, l *loaded) {
		var count [bins]int
		for _, x := range l.Load {
			count[min(bins-1, int(x/top*bins))]++
		}
		for i, n := range count {
			t.Rows = append(t.Rows, []string{l.label, decimal(float64(i) * top / bins), decimal(float64(i+1) * top / bins), strconv.Itoa(n)})
		}
	})
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
		for i := range e.loads {
			l := &e.loads[i]
			if len(e.loads) > 1 {
				fmt.Fprintf(t, "  %s:\n", c.Demands[i].Name)
			}
			fmt.Fprintf(t, "  load_share\thottest cable\n")
			for _, link := range l.Hottest(hottest) {
				if l.Load[link] > 0 {
					fmt.Fprintf(t, "  %s\t%s\n", decimal(l.Load[link]), cableName(c.subnet, link))
				}
			}
		}
		t.Flush()
	}
}

//go:embed tables.txt
var tablesText string

// tables are those of a comparison.
var tables = experiments.ReadTables(tablesText, nil)

func init() {
	for _, t := range tables {
		experiments.DescribeCommandTable("weft routes", t)
	}
}

// newTable is a table of that file, without rows.
func newTable(name string) *results.Table {
	t := &results.Table{}
	for _, c := range tables.Named(name).Columns {
		t.Columns = append(t.Columns, c.Name)
	}
	return t
}

// ComparisonFiles are the names of all files of [Comparison.Files].
var ComparisonFiles = []string{"engines.csv", "jobs.csv", "cables.csv", "hottest.csv", "hottest.svg", "histogram.csv", "histogram.svg"}

// Files are the tables of a comparison and pictures of the hottest cables and of the
// histogram, by the names of their files.
func (c *Comparison) Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	histogram, hottest := c.Histogram(), c.Hottest()
	for name, table := range map[string]*results.Table{"engines.csv": c.Table(), "jobs.csv": c.Jobs(), "cables.csv": c.Cables(), "hottest.csv": hottest, "histogram.csv": histogram} {
		if table == nil {
			continue
		}
		var err error
		if files[name], err = table.Encode("csv"); err != nil {
			return nil, err
		}
	}
	const label = "Load of a cable (1 is full)"
	bars, panels := figures.NewPlot(), figures.NewPlot()
	bars.Style, bars.X, bars.Y, bars.By = "bar", "cable_from", []string{"load_share"}, []string{"engine"}
	bars.Title, bars.XLabel, bars.YLabel, bars.Width = "The hottest cables of each engine, "+c.title("by pattern"), "Port out of which the cable leads", label, 9
	if len(c.Demands) > 1 {
		bars.Panels, bars.PanelColumns = "pattern", 1
	}
	panels.Style, panels.X, panels.Y, panels.By, panels.Panels = "histogram", "load_from_share", []string{"cables"}, []string{"engine"}, "engine"
	panels.Title, panels.XLabel, panels.YLabel, panels.Width = "Cables by load, "+c.title("by engine and pattern"), label, "Share of the cables (per unit of load)", 9
	for name, p := range map[string]struct {
		table *results.Table
		plot  figures.PlotConfig
	}{"hottest.svg": {hottest, bars}, "histogram.svg": {histogram, panels}} {
		if len(p.table.Rows) == 0 {
			continue // no cable carries anything
		}
		picture, err := p.plot.Draw(&figures.PlotSource{Table: p.table}, "svg")
		if err != nil {
			return nil, err
		}
		files[name] = picture
	}
	return files, nil
}

// title names what is sent; several, if that is more than one pattern.
func (c *Comparison) title(several string) string {
	if len(c.Demands) > 1 {
		return several
	}
	if c.Demands[0].Jobs != nil {
		return fmt.Sprintf("%d jobs", len(c.Demands[0].Jobs))
	}
	return "pattern " + c.Demands[0].Name
}
