package experiments

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestReferenceProblems: what is wrong with a reference is said with its key, all of it.
func TestReferenceProblems(t *testing.T) {
	text := `
kind = "toy"
[[plot]]
file = "other"
x = "offered_load"
y = "latency_mean_ns"
reference = [
    { target = "no-such-row", formula = "2 * x" },
    { file = "absent.csv", target = "dragonfly-fig8a-ur-min-saturation-throughput" },
    { axis = "z", colour = "red" },
]
`
	_, err := Load("test.toml", text, Options{})
	simtest.Fail(t, err, `reference[0].target`, `"no-such-row"`, `reference[0].formula`, `"x"`,
		`reference[1]`, `one of file and target`, `absent.csv`, `reference[2].axis`, `"z"`, `reference[2].colour`)
}

// TestLabels: axis labels with units from column names; settings are called what they
// are, not by the end of their key; a letter stands beside its table.
func TestLabels(t *testing.T) {
	for column, want := range map[string]string{
		"latency_mean_ns":         "Mean latency (ns)",
		"latency_p99_ns":          "99th percentile of latency (ns)",
		"network_latency_mean_ns": "Mean network latency (ns)",
		"accepted_load":           "Accepted load (flits per terminal and cycle)",
		"switch.buffer_flits":     "Input buffer of each virtual channel (flits)",
		"time_us":                 "Time (µs)",
		"hops_mean":               "Mean hops",
		"minimal_fraction":        "Minimal fraction",
		"memory_per_process_mb":   "Memory per process (MB)",
		"groups.size":             "Members of a group", "program.window": "Packets under way per terminal",
		"toy.w": "Toy: w", "topology.n": "Topology: n" /* stages, levels or letters */, "max_efi": "Maximum EFI", "messages_per_us": "Messages per µs", "messages_per_s": "Messages (1/s)", "bandwidth_bytes_per_s": "Bandwidth (B/s)", "total_s": "Total time (s)",
		"routing.type": "Routing",
	} {
		simtest.Equal(t, figures.AxisLabel(column), want, "%s:", column)
	}
}

// TestRehearsal: what no results could mend is a problem of the file, with its figure; what
// hangs on results, or on what --set and [quick] leave out, is none.
func TestRehearsal(t *testing.T) {
	const head = `[sweep]
"routing.type" = ["min", "val"]
"traffic.load" = [0.1, 0.2]
[[sweep.lockstep]]
"switch.vcs" = [4, 8]
seed = [1, 2]
[[plot]]
y = "latency_mean_ns"
`
	const line = "x = \"offered_load\"\nby = [\"routing.type\", \"switch.vcs\"]\n"
	refusals(t, head, map[string]string{
		"x = \"traffic.load\"\nby = \"routing.type\"\n":          `x.toml:7:1: plot[0] cannot be drawn: points of one series at traffic.load = 0.1 differ in switch.vcs: name it under by`,
		"x = \"offered_load\"\nby = \"routing.type\"\n":          `plot[0] cannot be drawn: points of one series at offered_load = 0.1 differ in switch.vcs`,
		"x = \"routing.type\"\n":                                 `plot[0] cannot be drawn: x = "routing.type" has no number: want a column of numbers, or style = "bar"`,
		"x = \"state\"\n":                                        `plot[0].x = "state": holds words: want a column of numbers, or style = "bar"`,
		"x = \"switch.vcs\"\nannotate = \"knee\"\n":              `plot[0] cannot be drawn: annotate is for figures over the load`,
		line + "where = { \"routing.type\" = \"valiant\" }\n":    `plot[0] cannot be drawn: no row has routing.type = valiant: there are min, val`,
		line + "baseline = { \"routing.type\" = \"valiant\" }\n": `baseline: no row has routing.type = valiant`,
		line + "order = \"valiant\"\n":                           `order has "valiant", which is no value of routing.type, switch.vcs`,
		line + "panels = \"traffic.load\"\nreference = [{ target = \"dragonfly-fig8a-ur-min-saturation-throughput\", panel = \"0.3\" }]\n":                                                               `has the panel "0.3": there is none`,
		"x = \"routing.type\"\nby = [\"switch.vcs\", \"traffic.load\"]\nstyle = \"bar\"\nreference = [{ target = \"dragonfly-fig8a-ur-min-saturation-throughput\", x = \"min\", series = \"vcs 5\" }]\n": `has the series "vcs 5": there is none`,
	})
	refused(t, head+line+"[[plot]]\nx = \"offered_load\"\ny = \"state\"\n", `plot[1].y = "state": holds words: want a column of numbers`)
	refused(t, "[measure]\nlinks = true\n[[plot]]\ntable = \"links\"\nx = \"vc\"\ny = \"flit_per_cycle\"\n", `plot[0].y = "flit_per_cycle": not a column of table links (did you mean "flits_per_cycle"?): there are point, seed, from,`)
	refused(t, "[[plot]]\ntable = \"performance\"\nx = \"events\"\ny = \"wall_time\"\n", `plot[0].y = "wall_time": not a column of table performance`)
	for _, rest := range []string{
		line + "where = { state = \"undecided\" }\n",
		line + "[[plot]]\ntable = \"performance\"\nx = \"offered_load\"\ny = \"wall_seconds\"\n",
		"x = \"accepted_load\"\nstyle = \"scatter\"\n",
		"x = \"state\"\nstyle = \"bar\"\n",
	} {
		load(t, head+rest)
	}
	load(t, head+line+"where = { \"routing.type\" = \"val\" }\n", "routing.type=min")
	load(t, head+line+"where = { \"routing.type\" = \"val\" }\n[quick]\nsweep.routing.type = [\"min\"]\n")
	simtest.Must(LoadFinished("x.toml", head+"x = \"traffic.load\"\nby = \"routing.type\"\n"))(t)
}

// TestLoadBound: uniform traffic on a ring of 8 by the shortest way. Half of the 7
// others are nearer on either side: distances 1, 2, 3 and half of the packets to the
// opposite one, 6+2 = 8 channel crossings to the right of 7 destinations: at load x
// a channel carries x*8/7, so 7/8 is the bound. The bisection gives 2*4*7/64 = 7/8.
func TestLoadBound(t *testing.T) {
	f := load(t, "[topology]\ntype = \"torus\"\ndims = [8]\n[routing]\ntype = \"dor\"\n")
	simtest.Near(t, f.LoadBound(f.Points[0]), 7.0/8, 1e-9, "bound")
	f = load(t, "kind = \"connections\"\n")
	simtest.Equal(t, f.LoadBound(f.Points[0]), 0, "a kind without loads:")
}

// TestPlotOptionProblems: what cannot be is refused with what is allowed.
func TestPlotOptionProblems(t *testing.T) {
	for line, want := range map[string]string{
		`x_range = [2, 1]`:         `plot[0].x_range = [2, 1]: want two numbers, the lower one first`,
		`y_range = [1]`:            `plot[0].y_range = [1]: want two numbers`,
		`annotate = "knees"`:       `plot[0].annotate[0] = "knees": want bound, knee`,
		`style = "heat"`:           `plot[0] has no z`,
		`panels = "routing"`:       `plot[0].panels = "routing": not a column of the results`,
		`size = "huge"`:            `plot[0].size = "huge": want page, one-column, two-columns, slide`,
		`font_size = 1`:            `plot[0].font_size = 1: want at least 3 points`,
		`width = 0.5`:              `want at least 1 inch`,
		`formats = "gif"`:          `plot[0].formats[0] = "gif": want svg, png, pdf, csv`,
		`aggregate = "mode"`:       `plot[0].aggregate = "mode": want mean, median, smallest, largest`,
		`colour_by = "colour"`:     `plot[0].colour_by = "colour": not a column`,
		`z = "100 * acepted_load"`: `x.toml:4:1: plot[0].z = "100 * acepted_load": has the unknown name "acepted_load" (did you mean "accepted_load"?)`,
	} {
		refused(t, "[[plot]]\nx = \"offered_load\"\ny = \"latency_mean_ns\"\n"+line+"\n", want)
	}
	refused(t, "[[plot]]\nx = \"traffic.load\"\nstyle = \"box\"\n", `plot[0] has no y`)
}

const titled = `title = "Torus {topology.dims}, {traffic.pattern} traffic, {terminals} terminals"
topology = { type = "torus", dims = [4, 4] }
routing = { type = "dor" }
traffic = { pattern = "uniform" }
[sweep]
"traffic.load" = [0.1, 0.2, 0.3, 0.4]
[[plot]]
x = "offered_load"
y = "latency_mean_ns"
where = { "seed" = 1, "state" = "steady" }
[[plot]]
title = "Throughput, from load {traffic.load}"
y_label = "Accepted by {terminals}"
x = "offered_load"
y = "accepted_load"
`

// TestPublishedNumbersLeave: a paper's number is of a network, a program and its traffic. Where --set changes
// these it is in no figure, nor in the resolved file; measurements of the user's own stay.
func TestPublishedNumbersLeave(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.csv")
	simtest.Check(t, os.WriteFile(file, []byte("offered_load,accepted_load\n0.1,0.1\n"), 0o600))
	text := titled + "reference = [{ target = \"dragonfly-fig8a-ur-min-saturation-throughput\" }, { file = \"" + file + "\" }]\n"
	for set, want := range map[string]int{
		"": 2, "topology.dims=[2,4]": 1, "topology.dims=[4,4]": 2, // as it is
		"traffic.pattern=tornado seed=7": 1, "sweep.traffic.pattern=[uniform,tornado]": 1,
		"traffic.load=0.3 switch.vcs=4 measure.links=true": 2,
	} {
		f := load(t, text, strings.Fields(set)...)
		simtest.Alike(t, set, len(f.Plots[1].References), want, strings.Count(f.Resolved(), "dragonfly-fig8a"), want-1)
	}
}

// TestTitlesFollowSettings: a title says what the settings have come to, those of --set, too, and so does that of the
// resolved file, which another --set may change again. That of the file is followed by what a figure selects.
func TestTitlesFollowSettings(t *testing.T) {
	for _, c := range []struct {
		set   []string
		want  string
		other string // of the second figure
	}{
		{nil, "Torus 4x4, uniform traffic, 16 terminals", "Throughput, from load 0.1 to 0.4"},
		{
			[]string{"topology.dims=[2,4]", "traffic.pattern=tornado", "switch.vcs=4"},
			"Torus 2x4, tornado traffic, 8 terminals, switch.vcs = 4",
			"Throughput, from load 0.1 to 0.4, topology.dims = 2x4, traffic.pattern = tornado, switch.vcs = 4",
		},
		{[]string{"traffic.load=0.3", "seed=7"}, "Torus 4x4, uniform traffic, 16 terminals, traffic.load = 0.3, seed = 7", "Throughput, from load 0.3, seed = 7"},
		{[]string{"title=Mine", "switch.vcs=4"}, "Mine", "Throughput, from load 0.1 to 0.4, switch.vcs = 4"},
		// What only asks for more output changes no figure.
		{[]string{"measure.links=true", "measure.series=5", "trace.packets=9", "switch.vcs=4"}, "Torus 4x4, uniform traffic, 16 terminals, switch.vcs = 4", "Throughput, from load 0.1 to 0.4, switch.vcs = 4"},
		// What is swept is on an axis or in the legend.
		{[]string{"sweep.switch.vcs=[2,4]", "sweep.seed=[1,2]"}, "Torus 4x4, uniform traffic, 16 terminals", "Throughput, from load 0.1 to 0.4"},
		{[]string{"sweep.switch.vcs=[4]"}, "Torus 4x4, uniform traffic, 16 terminals, switch.vcs = 4", "Throughput, from load 0.1 to 0.4, switch.vcs = 4"},
	} {
		f := load(t, titled, c.set...)
		label := f.Plots[1].YLabel
		simtest.ErrorIf(t, !strings.HasPrefix(label, "Accepted by ") || strings.Contains(label, "{"), "%q: %s", c.set, label)
		for _, x := range []*File{f, load(t, f.Resolved())} {
			simtest.Alike(t, fmt.Sprint(c.set), x.Title, c.want, x.Plots[0].Title, c.want+": seed 1, steady", x.Plots[1].Title, c.other, x.Plots[1].YLabel, label)
		}
	}
	f := load(t, load(t, titled, "switch.vcs=4").Resolved(), "switch.vcs=8")
	simtest.Equal(t, f.Title, "Torus 4x4, uniform traffic, 16 terminals, switch.vcs = 8", "set twice:")
	refused(t, strings.Replace(titled, "{traffic.pattern}", "{trafic.pattern}", 1), `x.toml:1:1: title = "Torus {topology.dims}, {trafic.pattern} traffic, {terminals} terminals": {trafic.pattern} is not a setting of this experiment (did you mean "traffic.pattern"?): want a setting of a point, as weft check --resolved lists them, or seed, terminals or switches`)
	typo := strings.Replace(strings.Replace(titled, "{terminals} terminals", "{terminal} of {grops}", 1), "{traffic.load}", "{load}", 1)
	simtest.Refuse(Load("x.toml", typo, Options{}))(t,
		`x.toml:1:1: title = "Torus {topology.dims}, {traffic.pattern} traffic, {terminal} of {grops}": {terminal} is not a setting of this experiment (did you mean "terminals"?)`,
		`{grops} is not a setting`, `plot[1].title = "Throughput, from load {load}": {load} is not a setting`)
	refused(t, strings.Replace(titled, "by {terminals}", "by {hosts}", 1), `plot[1].y_label = "Accepted by {hosts}": {hosts} is not a setting of this experiment`)
	refused(t, strings.Replace(titled, "{topology.dims}", "{topology.dims[0]}", 1), "{topology.dims[0]} is not a setting of this experiment (did you mean \"topology.dims\"?)")
	old, err := LoadFinished("x.toml", typo)
	simtest.ErrorIf(t, err != nil || old.Title != "Torus 4x4, uniform traffic, {terminal} of {grops}", "results that are there: %v", err)
}

// TestPaperExperiments: every published number is measured by an experiment that comes with weft,
// and by one only; and in full that experiment has the points that the number is about, as far as
// settings say which (cells of results and of further tables are known only once it has run).
func TestPaperExperiments(t *testing.T) {
	bound := map[string]string{}
	for _, name := range Embedded("papers") {
		f := embeddedFile(t, name)
		settings := f.settingsTable()
		for _, e := range f.Expects {
			first, twice := bound[e.Target]
			simtest.ErrorIf(t, twice, "%s is judged by %s and by %s", e.Target, first, name)
			bound[e.Target] = name
			of := slices.Collect(maps.Values(e.Of))
			if len(of) == 0 {
				of = []map[string]string{nil}
			}
			if len(e.Baseline) > 0 {
				of = append(of, e.Baseline)
			}
			for _, more := range of {
				where := map[string]string{}
				maps.Copy(where, e.Where)
				maps.Copy(where, more)
				maps.DeleteFunc(where, func(column, _ string) bool { return !slices.Contains(settings.Columns, column) })
				rows, err := settings.Where(where)
				simtest.ErrorIf(t, err != nil || len(rows.Rows) == 0, "%s: %s: no point has %v (%v)", name, e.Target, where, err)
			}
		}
	}
	for _, target := range verdict.Targets() {
		simtest.ErrorIf(t, bound[target.ID] == "", "%s is bound to no experiment", target.ID)
	}
}

// openedFiles are those that come with weft and several tests look at.
var openedFiles = map[string]*File{}

// embeddedFile opens a file that comes with weft, once for all tests.
func embeddedFile(t *testing.T, name string) *File {
	t.Helper()
	if openedFiles[name] == nil {
		f := simtest.Must(Open(name, Options{}))(t)
		f.shared.forget() // its networks
		openedFiles[name] = f
	}
	return openedFiles[name]
}

// settingsTable has a row for each point and the swept keys for columns.
func (f *File) settingsTable() *results.Table {
	t := &results.Table{Columns: f.keys}
	for _, p := range f.Points {
		t.Rows = append(t.Rows, p.Swept)
	}
	return t
}

// TestListTitles: where a title speaks of points or networks, it is listed as it is in the
// file read in full.
func TestListTitles(t *testing.T) {
	shown := 0
	for _, name := range Embedded("") {
		text := simtest.Must(embedded.ReadFile(name))(t)
		listed := EmbeddedTitle(name)
		d, err := document.Parse(name, string(text))
		if title, _ := d.Root["title"].(string); err == nil && !placeholder().MatchString(title) {
			simtest.ErrorIf(t, listed != title, "%s is listed as %q, its title is %q", name, listed, title)
			continue
		}
		f := embeddedFile(t, name)
		if shown++; listed != f.Title {
			t.Errorf("%s is listed as %q, its title is %q", name, listed, f.Title)
		}
	}
	simtest.ErrorIf(t, shown == 0, "no title speaks of points")
}

// TestReproductionTime: every paper has been timed, whole and in its quick variant, without the
// trials beside it; dswitch has one of those, exchange.
func TestReproductionTime(t *testing.T) {
	papers := map[string]bool{}
	for _, path := range Embedded("papers") {
		if !StandsBeside(path) {
			papers[paperOf(path)] = true
		}
	}
	for paper := range papers {
		took := reproductionTimes()[paper]
		simtest.ErrorIf(t, took[0] <= 0 || took[1] <= 0, "%s took %v s", paper, took)
	}
	simtest.ErrorIf(t, len(reproductionTimes()) != len(papers), "%d times of %d papers", len(reproductionTimes()), len(papers))
	for _, c := range []struct {
		paths []string
		quick bool
		want  string
	}{
		{[]string{"papers/dswitch/theorem1.toml"}, false, "1 of the 5 experiments of dswitch, all of which take roughly 36 s of processor time, 18 s on 2 idle processors (on weft's own machine)"},
		{filesOf("dswitch"), true, "5 experiments: roughly 5 s of processor time, 2 s on 2 idle processors; 1 beside them (on weft's own machine)"},
	} {
		simtest.Equal(t, ReproductionTime(c.paths, c.quick, 2), c.want, "got")
	}
}

// filesOf lists the files of a paper.
func filesOf(paper string) (paths []string) {
	for _, path := range Embedded("papers") {
		if paperOf(path) == paper {
			paths = append(paths, path)
		}
	}
	return paths
}

// Dragonflies from 72 to 16,512 terminals, unbalanced ones, and one with several channels between
// groups carry what the experiment offers them, in less than 2 GiB. The window of 100 cycles is
// short, for time's sake: of the smallest network's 1,080 worst-case packets the standard deviation
// is 3 %, so that 10 % are missing by chance in one run of 2,000; the others have more.
func TestDragonflySizes(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates 16,512 terminals")
	}
	f := simtest.Must(Open("papers/dragonfly/sizes", Options{Quick: true}))(t)
	found := &results.Table{}
	for _, c := range f.kind.columns {
		found.Columns = append(found.Columns, c.Name)
	}
	for _, p := range f.Points {
		found.Rows = append(found.Rows, compute(t, f, p).Cells)
	}
	offered, accepted, packets := numbers(t, found, "offered_load"), numbers(t, found, "accepted_load"), numbers(t, found, "packets_measured")
	simtest.FatalIf(t, len(offered) != 10, "%d points", len(offered)) // 5 networks, 2 patterns
	most := 0.0
	for i, load := range offered {
		simtest.ErrorIf(t, accepted[i] < 0.9*load, "point %d accepts %v of %v", i, accepted[i], load)
		most = max(most, packets[i])
	}
	want := 0.9 * 16512 * 0.3 * 100
	simtest.ErrorIf(t, most < want, "the largest network measured %v packets, want at least %v", most, want)
	peak := peakMemory()
	simtest.ErrorIf(t, peak >= 2<<30, "%d MiB", peak>>20)
}

// numbers returns a column of a table.
func numbers(t *testing.T, table *results.Table, name string) []float64 {
	t.Helper()
	return simtest.Must(table.Numbers(name))(t)
}
