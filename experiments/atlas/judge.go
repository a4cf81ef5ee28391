package atlas

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/booksim"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/input"
)

// shares are what two means may differ by, if the seeds do not allow more. A curve has one seed of
// BookSim2's, whose exactness seeds.csv tells.
var shares = booksim.Shares{Latency: 0.03, Accepted: 0.01, Beyond: 0.02}

func init() {
	judge.Register(judge.Source{
		Name: "atlas", Example: "weft reproduce atlas/targets", Open: Open,
		Help: `atlas, or atlas/CURVE, holds weft against the numbers, graphs and curves of the field's
topologies that come with weft, or those of a folder of that form: targets.csv, curves.csv,
curves/ and graphs/. atlas/targets is the numbers alone.`,
	})
}

// Open is the reference of a folder, or weft's own: its numbers together are the entry targets,
// each curve is one.
func Open(data string) (*judge.Reference, error) {
	r, err := Read(judge.Folder(data, Own(), "the atlas of weft"))
	if err != nil {
		return nil, err
	}
	all := &judge.Reference{Name: "atlas", Place: r.name, Entry: "curve", Faults: r.seedFaults}
	if len(r.Targets) > 0 {
		all.Sections = append(all.Sections, r.numberSection())
	}
	if len(r.Curves) > 0 {
		all.Sections = append(all.Sections, r.curveSection())
	}
	return all, nil
}

// numberSection is targets.csv; the rows to be looked at are shown.
func (r *Reference) numberSection() *judge.Section {
	e := &judge.Entry{Name: "targets", Faults: new(document.Problems)}
	for _, t := range r.Targets {
		e.Partly = e.Partly || len(t.Faults) == 0
		*e.Faults = append(*e.Faults, t.Faults...)
	}
	e.Judge = func(s *judge.Session) ([]judge.Row, bool, error) {
		rows, err := experiments.Interruptible(s.Context, func() ([]judge.Row, error) { return r.JudgeTargets(), nil })
		return rows, false, err
	}
	section := &judge.Section{File: "targets.csv", Columns: []string{"id", "topology", "instance", "metric", "kind", "reference", "weft"}, Entries: []*judge.Entry{e}}
	section.Conclude = func(table *results.Table, count judge.Count, _ bool) (judge.Conclusion, error) {
		c := judge.Conclusion{Text: fmt.Sprintf("of %d numbers %s", len(table.Rows), count), Failed: count[judge.Differs] > 0}
		for _, row := range table.Rows {
			if v := row[len(section.Columns)]; v != judge.Agrees && v != judge.NotJudged {
				if c.Shown == nil {
					c.Shown = &results.Table{Columns: table.Columns}
				}
				c.Shown.Rows = append(c.Shown.Rows, row)
			}
		}
		return c, nil
	}
	return section
}

// curveSection is the curves; a summary of each is shown.
func (r *Reference) curveSection() *judge.Section {
	var all []judge.Row
	section := &judge.Section{File: "verdicts.csv", Columns: booksim.Columns}
	for i := range r.Curves {
		c := &r.Curves[i]
		section.Entries = append(section.Entries, &judge.Entry{Name: c.Name, Faults: &c.Faults,
			Judge: func(s *judge.Session) ([]judge.Row, bool, error) {
				x := booksim.Experiment{Name: c.Name, Curves: []*booksim.Curve{&c.Curve}, Text: func(loads []float64, seeds int) (string, map[string][]byte, bool, error) {
					return r.Experiment(c, loads, seeds)
				}}
				rows, failed, err := x.Judge(s, filepath.Join(s.Out, "atlas"))
				all = append(all, summarise(c, rows))
				return rows, failed, err
			}})
	}
	section.Conclude = func(_ *results.Table, count judge.Count, _ bool) (judge.Conclusion, error) {
		// Nine of ten curves are to agree, among those that another program measured and that can be judged.
		agree, peers := 0, 0
		for _, s := range all {
			if s.Cells[4] == "true" || s.Verdict == judge.NotJudged || s.Verdict == judge.Unreadable {
				continue
			}
			peers++
			if s.Verdict == judge.Agrees {
				agree++
			}
		}
		shown := judge.TableOf([]string{"curve", "graph", "routing", "traffic", "second_reading", "agree", "differ", "not_judged"}, all)
		return judge.Conclusion{Shown: shown, File: "curves.csv", Text: fmt.Sprintf("%d of %d curves agree; points: %s", agree, peers, count), Failed: 10*agree < 9*peers}, nil
	}
	return section
}

// summarise is the verdict on a curve: it agrees if all its points do that are judged.
func summarise(c *Curve, rows []judge.Row) judge.Row {
	count, s := judge.Count{}, judge.Row{Verdict: judge.Agrees}
	for _, r := range rows {
		count.Add(r.Verdict)
		if r.Verdict == judge.NotRun || r.Verdict == judge.Unreadable {
			s.Note = r.Note
		}
	}
	s.Cells = []string{c.Name, c.Graph, c.Routing, c.Traffic, fmt.Sprint(c.SecondReading()),
		fmt.Sprint(count[judge.Agrees]), fmt.Sprint(count[judge.Differs]), fmt.Sprint(count[judge.NotJudged])}
	for _, verdict := range []string{judge.Differs, judge.Unreadable, judge.NotRun} {
		if count[verdict] > 0 {
			s.Verdict = verdict
			return s
		}
	}
	if count[judge.Agrees] == 0 {
		s.Verdict, s.Note = judge.NotJudged, "no point can be judged"
	}
	return s
}

// Curve is a row of curves.csv with its points and configuration.
type Curve struct {
	booksim.Curve
	Graph, Routing, Traffic string
	line                    int
}

// SecondReading tells a curve that no other program measured: the reference's own reading of
// HyperX's papers.
func (c *Curve) SecondReading() bool { return strings.HasPrefix(c.Routing, "hx") }

// readCurves finds the curves' points in the folder curves. A curve without points has that as its
// fault.
func (r *Reference) readCurves() {
	place := path.Join(r.name, "curves")
	byName, faults := map[string]booksim.Curve{}, document.Problems{}
	folder, err := fs.Sub(r.folder, "curves")
	if err == nil {
		var measured []booksim.Curve
		measured, _, err = booksim.ReadFolder(folder, place)
		for _, c := range measured {
			byName[c.Name] = c
		}
	}
	if !errors.As(err, &faults) && err != nil {
		faults = document.Problems{{At: place, Message: err.Error()}}
	}
	for i := range r.Curves {
		c := &r.Curves[i]
		found, there := byName[c.Name]
		switch {
		case there:
			found.Faults = append(found.Faults, c.Faults...)
			c.Curve = found
			c.Shares = shares
		case len(faults) > 0:
			c.Faults = append(c.Faults, faults...)
		default:
			c.Faults = append(c.Faults, &document.Problem{At: fmt.Sprintf("%s:%d", path.Join(r.name, "curves.csv"), c.line), Message: fmt.Sprintf("curve %q is not in the folder curves", c.Name)})
		}
	}
}

// grid is the shape in the name of a graph.
var grid = input.Pattern(`^(?:hx|hyperx)_(\d+(?:x\d+)*)$`)

// Experiment is the text of the experiment file for a curve's network, switch and traffic at some
// loads, with so many seeds, and the files of the reference that it reads, by their names there.
// canDeadlock: the curve's routing can. The error says why weft has no counterpart; a reference's
// fault is among the curve's Faults.
func (r *Reference) Experiment(c *Curve, loads []float64, seeds int) (text string, files map[string][]byte, canDeadlock bool, err error) {
	defer func() {
		if errors.As(err, new(*dataError)) {
			c.Faults = append(c.Faults, &document.Problem{Message: err.Error()})
		}
	}()
	m := booksim.Counterpart{Files: map[string][]byte{}}
	routing, known := counterparts().Routings[c.Routing]
	if !known {
		return "", nil, false, fmt.Errorf("routing %q has no counterpart", c.Routing)
	}
	m.CanDeadlock = routing.CanDeadlock
	terminals, order, err := r.curveNetwork(c, &m)
	if err != nil {
		return "", nil, false, err
	}
	m.Routing = routing.Text
	if strings.Contains(m.Routing, "%q") {
		name := c.Graph + ".nexthop.gz"
		if _, err := r.numbers("graphs/" + name); err != nil {
			return "", nil, false, err
		}
		if m.Files[name], err = fs.ReadFile(r.folder, "graphs/"+name); err != nil {
			return "", nil, false, err
		}
		m.Routing = fmt.Sprintf(m.Routing, name)
	}
	if m.Traffic, err = r.curveTraffic(c, terminals, order, m.Files); err != nil {
		return "", nil, false, err
	}
	text, err = c.Config.ExperimentOf("BookSim2's "+c.Name, loads, seeds, m)
	return text, m.Files, m.CanDeadlock, err
}

// curveNetwork writes a curve's topology and gives its number of terminals and, where the curve
// numbers terminals in another order, weft's number of each.
func (r *Reference) curveNetwork(c *Curve, m *booksim.Counterpart) (terminals int, order []int, err error) {
	each := c.Config.Whole("k")
	shape := grid().FindStringSubmatch(c.Graph)
	if shape == nil {
		name := c.Graph + ".edges.gz"
		n, err := r.graphFile(c.Graph, each)
		if err != nil {
			return 0, nil, err
		}
		if m.Files[name], err = fs.ReadFile(r.folder, "graphs/"+name); err != nil {
			return 0, nil, err
		}
		m.Topology = fmt.Sprintf("type = \"edges\"\npath = %q\nterminals = %d\n", name, each)
		return n.graph.Terminals(), nil, nil
	}
	if c.Config.Text("topology") == "flatfly" {
		each = c.Config.Whole("c")
	}
	dims := strings.Split(shape[1], "x")
	terminals = each
	for _, d := range dims {
		n, err := strconv.Atoi(d)
		if err != nil || n < 2 || terminals > 1<<20 {
			return 0, nil, fmt.Errorf("graph %q: want a shape such as 4x4", c.Graph)
		}
		terminals *= n
	}
	m.Topology = fmt.Sprintf("type = \"hyperx\"\ndims = [%s]\nterminals = %d\n", strings.Join(dims, ", "), each)
	rows, err := r.numbers("graphs/" + c.Graph + ".terminals.gz")
	switch {
	case errors.Is(err, fs.ErrNotExist): // numbered by switch, as in weft
		return terminals, nil, nil
	case err != nil:
		return 0, nil, err
	}
	order = make([]int, terminals)
	next := 0
	for _, row := range rows {
		for _, t := range row {
			if t < 0 || t >= terminals || next >= terminals {
				return 0, nil, dataErrorf("graphs/%s.terminals.gz: terminal %d of %d", c.Graph, t, terminals)
			}
			order[t] = next
			next++
		}
	}
	return terminals, order, nil
}

func (r *Reference) curveTraffic(c *Curve, terminals int, order []int, files map[string][]byte) (string, error) {
	if c.Traffic == "uniform" {
		return "pattern = \"uniform\"\npacket_flits = 1\nself = true\n", nil
	}
	destinations, err := r.destinations(c.Graph, c.Traffic, terminals)
	if err != nil {
		return "", err
	}
	to := destinations
	if order != nil {
		to = make([]int, terminals)
		for t, d := range destinations {
			to[order[t]] = order[d]
		}
	}
	var b strings.Builder
	for _, d := range to {
		fmt.Fprintln(&b, d)
	}
	name := c.Graph + "." + c.Traffic
	files[name] = []byte(b.String())
	return fmt.Sprintf("pattern = \"file\"\npath = %q\npacket_flits = 1\n", name), nil
}
