package experiments

import (
	"maps"
	"slices"
	"testing"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/sim/simtest"
)

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
