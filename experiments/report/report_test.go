package report

import (
	"bytes"
	_ "embed"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/simtest"
)

//go:embed testdata/ring.toml
var ring string

//go:embed testdata/two-halos.toml
var twoHalos string

// resultFolder runs an experiment into a folder.
func resultFolder(t *testing.T, dir, text string) {
	t.Helper()
	f := simtest.Must(experiments.Load("ring.toml", text, experiments.Options{}))(t)
	simtest.Must(engine.Execute(t.Context(), f, engine.Execution{Dir: dir}))(t)
}

// reported runs an experiment into a new folder, and makes its page.
func reported(t *testing.T, text string) (dir string, page []byte) {
	t.Helper()
	dir = t.TempDir()
	resultFolder(t, dir, text)
	return dir, simtest.Must(Make([]string{dir}, ""))(t)
}

// readBack runs an experiment and reads its folder.
func readBack(t *testing.T, text string) *engine.Folder {
	t.Helper()
	dir := t.TempDir()
	resultFolder(t, dir, text)
	return simtest.Must(engine.ReadFolder(dir))(t)
}

// element is a node of a parsed page.
type element struct {
	Name     string
	Attr     map[string]string
	Children []*element
	Text     string // of the element and all below
}

// all lists the elements of a name below e, in document order.
func (e *element) all(name string) []*element {
	var found []*element
	for _, c := range e.Children {
		if c.Name == name {
			found = append(found, c)
		}
		found = append(found, c.all(name)...)
	}
	return found
}

// texts are those of some elements.
func texts(all []*element) (list []string) {
	for _, e := range all {
		list = append(list, e.Text)
	}
	return list
}

// parse reads a page, which must be well-formed, and checks that it needs nothing from elsewhere.
func parse(t *testing.T, page []byte) *element {
	t.Helper()
	root := &element{}
	open := []*element{root}
	decoder := xml.NewDecoder(bytes.NewReader(page))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		simtest.FatalIf(t, err != nil, "not well-formed: %v", err)
		switch x := token.(type) {
		case xml.StartElement:
			e := &element{Name: x.Name.Local, Attr: map[string]string{}}
			for _, a := range x.Attr {
				e.Attr[a.Name.Local] = a.Value
				elsewhere := a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#") && !strings.HasPrefix(a.Value, "./") && !strings.HasPrefix(a.Value, "../")
				simtest.ErrorIf(t, elsewhere || a.Name.Local == "src", "<%s> refers to %s", e.Name, a.Value)
			}
			simtest.ErrorIf(t, e.Name == "link" || e.Name == "img" || e.Name == "script" && len(x.Attr) > 0, "the page has a <%s>", e.Name)
			last := open[len(open)-1]
			last.Children = append(last.Children, e)
			open = append(open, e)
		case xml.EndElement:
			open = open[:len(open)-1]
		case xml.CharData:
			for _, e := range open {
				e.Text += string(x)
			}
		}
	}
	simtest.Equal(t, regexp.MustCompile(`url\(|@import`).FindString(root.all("style")[0].Text), "", "the style sheet refers elsewhere:")
	for _, script := range root.all("script") {
		s := regexp.MustCompile(`//\w|import|fetch|XMLHttp|eval`).FindString(script.Text)
		simtest.ErrorIf(t, s != "", "the script may reach elsewhere: %s", s)
	}
	return root
}

// TestPage: one experiment, with everything that the page must hold.
func TestPage(t *testing.T) {
	dir, page := reported(t, ring)
	again, err := Make([]string{dir}, "")
	simtest.ErrorIf(t, err != nil || !bytes.Equal(page, again), "a second report differs (%v)", err)
	root := parse(t, page)
	simtest.Equal(t, root.all("h1")[0].Text, "Tornado <on> a torus", "title")
	var questions []string
	for _, p := range root.all("p") {
		if p.Attr["class"] == "question" {
			questions = append(questions, p.Text)
		}
	}
	simtest.EqualSlices(t, questions, []string{`Where does a <ring> & its "tornado" saturate?`, "A second paragraph, of two lines."}, "question")
	// 1 plot and, of 2 variants, a map of the higher load.
	simtest.Equal(t, len(root.all("svg")), 4, "pictures, want the figure for two widths, and two maps:")
	for i, vcs := range []string{"2", "4"} {
		got := root.all("figcaption")[i].Text
		simtest.ErrorIf(t, !strings.HasPrefix(got, "switch.vcs = "+vcs+", traffic.load = 1. Switches at their coordinates"), "caption %q", got)
	}
	// A row is marked in the page where it is not steady in the results.
	table := simtest.Must(results.ReadTableFile(filepath.Join(dir, "results.csv")))(t)
	at := simtest.Must(table.Column("state"))(t)
	tables := root.all("table")
	rows := tables[len(tables)-1].all("tr")[1:]
	simtest.FatalIf(t, len(rows) != 4, "%d rows of results", len(rows))
	for i, r := range rows {
		want := table.Rows[i][at]
		if want == "steady" {
			want = ""
		}
		simtest.ErrorIf(t, r.Attr["class"] != want || !strings.Contains(r.Text, want), "row %d: %q, want %q", i, r.Attr["class"], want)
	}
	settings := root.all("pre")
	simtest.Equal(t, len(settings), 13, "tables of settings:")
	simtest.Says(t, settings[1].Text, "dims = [4, 4]")
}

// leadsTo counts the elements with an id.
func leadsTo(e *element, id string) int {
	n := 0
	for _, c := range e.Children {
		if c.Attr["id"] == id {
			n++
		}
		n += leadsTo(c, id)
	}
	return n
}

// TestSections: question, answer, figures, why and how stand in this order, in the
// contents too; the page links to the files that are there, wherever it stands.
func TestSections(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "r: 50 %")
	resultFolder(t, dir, ring)
	for _, out := range []string{filepath.Join(dir, "report.html"), filepath.Join(filepath.Dir(dir), "page.html"), filepath.Join(filepath.Dir(dir), "other", "page.html")} {
		page := simtest.Must(Make([]string{dir}, out))(t)
		root := parse(t, page)
		const sections = "[Answer Figures Why Every point How]"
		simtest.Alike(t, "contents and heads", texts(root.all("nav")[0].all("a")), sections, texts(root.all("h3")), sections)
		linked := map[string]bool{}
		for _, a := range root.all("a") {
			link := simtest.Must(url.Parse(a.Attr["href"]))(t)
			if link.Path == "" {
				simtest.Equal(t, leadsTo(root, link.Fragment), 1, "places that %s leads to:", a.Attr["href"])
				continue
			}
			path := filepath.Join(filepath.Dir(out), filepath.FromSlash(link.Path))
			simtest.Must(os.Stat(path))(t)
			linked[filepath.Base(path)] = true
		}
		for _, name := range []string{"results.csv", "links.csv", "resolved.toml", "manifest.json", "latency_mean_ns-offered_load.svg", "latency_mean_ns-offered_load.png"} {
			simtest.ErrorIf(t, !linked[name], "no link to %s", name)
		}
	}
}

// TestSeedsAreNoVariants: a page about a sweep of seeds has as many maps, bars of
// blame and lines of a figure as one without, and its blame is the mean.
func TestSeedsAreNoVariants(t *testing.T) {
	f := readBack(t, strings.NewReplacer("links = true", "links = true\nblame = true", "[0.1, 1.0]", "[0.1, 0.2]\nseed = [1, 2, 3]").Replace(ring))
	maps, note := linkMaps(f)
	simtest.ErrorIf(t, len(maps) != 2 || !strings.Contains(note, "Of several seeds, the first is shown."), "%d maps, %s", len(maps), note)
	points := blamedPoints(f, f.Tables["blame"])
	simtest.FatalIf(t, len(points) != 4 || points[0].label != "switch.vcs = 2, traffic.load = 0.1", "%d points, %+v", len(points), points)
	results := simtest.Must(f.Results.Where(map[string]string{"switch.vcs": "2", "traffic.load": "0.1"}))(t)
	means, err := results.Numbers("latency_mean_ns")
	simtest.FatalIf(t, err != nil || len(means) != 3, "%v %v", err, means)
	parts, roots := 0.0, 0.0
	for _, x := range points[0].parts {
		parts += x
	}
	for _, c := range points[0].channels {
		roots += c.root
	}
	want := (means[0] + means[1] + means[2]) / 3
	simtest.Near(t, parts, want, 1e-6*want, "parts")
	simtest.Near(t, points[0].total, want, 1e-6*want, "total")
	simtest.ErrorIf(t, roots > 1+1e-9, "shares of the channels come to %v", roots)
	picture, err := drawFigure(f, &f.File.Plots[0])
	svg := string(picture.Wide)
	simtest.ErrorIf(t, err != nil || strings.Contains(svg, "seed") || strings.Count(svg, ">vcs<") != 1, "%v\n%s", err, svg)
}

// TestVerdicts: a published number beside the measured one. fig8b's minimal
// routing saturates at 1/32 = 0.03125; 0.031 is 0.8 % below.
func TestVerdicts(t *testing.T) {
	text := "[sweep]\n\"traffic.load\" = [0.031]\n[[expect]]\ntarget = \"dragonfly-fig8b-wc-min-saturation-throughput\"\nmetric = \"accepted_load\"\n[[expect]]\ntarget = \"dragonfly-fig8b-wc-val-saturation-throughput\"\nmetric = \"accepted_load\"\nnote = \"far off\"\n"
	file := simtest.Must(experiments.Load("x.toml", text, experiments.Options{}))(t)
	e, verdicts := newExperiment(&engine.Folder{File: file, Results: &results.Table{
		Columns: []string{"point", "accepted_load"}, Rows: [][]string{{"0", "0.031"}},
	}}, "")
	want := []verdictRow{
		{"dragonfly", "fig8b", "WC MIN", "saturation throughput", "0.03125", "0.031", "-0.8 %", "predicted", "met", ""},
		{"dragonfly", "fig8b", "WC VAL", "saturation throughput", "0.5", "0.031", "-93.8 %", "predicted", "missed", "far off"},
	}
	simtest.ErrorIf(t, fmt.Sprint(e.Verdicts) != fmt.Sprint(want), "got %q\nwant %q", e.Verdicts, want)
	for x, want := range map[float64]string{0.0004: "0.0 %", -0.0004: "0.0 %", 0.0006: "+0.1 %", -1: "-100.0 %"} {
		simtest.Equal(t, percent(x), want, "percent(%v) =", x)
	}
	c := content{Experiments: make([]experiment, 2)}
	c.sum(verdicts)
	simtest.ErrorIf(t, fmt.Sprint(c.Counts) != "[{met 1} {missed 1}]" || len(c.Verdicts) != 1 || len(c.Verdicts[0]) != 2,
		"counts %v, papers %v", c.Counts, c.Verdicts)
}

// TestFolders: several folders below one, an interrupted one among them, and
// folders that hold nothing.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	text := strings.Replace(ring, "links = true", "", 1)
	resultFolder(t, filepath.Join(dir, "paper", "b"), text)
	resultFolder(t, filepath.Join(dir, "paper", "aa"), "beside = true\n"+strings.TrimLeft(text, "\n"))
	resultFolder(t, filepath.Join(dir, "paper", "a"), text)
	simtest.Check(t, os.Mkdir(filepath.Join(dir, "half"), 0o777))
	simtest.Check(t, os.WriteFile(filepath.Join(dir, "half", "journal"), nil, 0o666))
	page := simtest.Must(Make([]string{dir}, ""))(t)
	root := parse(t, page)
	for _, a := range root.all("a") {
		simtest.Equal(t, leadsTo(root, strings.TrimPrefix(a.Attr["href"], "#")), 1, "link %s leads to places:", a.Attr["href"])
	}
	simtest.Alike(t, "contents", texts(root.all("nav")[0].all("a")), "[paper/a paper/b paper/aa]") // what stands beside others comes last
	lists := root.all("nav")[0].all("ol")
	simtest.ErrorIf(t, len(lists) != 2 || lists[1].Attr["start"] != "3", "%d lists of contents", len(lists))
	simtest.Says(t, root.all("header")[0].Text, "Interrupted, without results: "+filepath.Join(dir, "half"))
	var folder *engine.FolderError
	for _, bad := range []string{t.TempDir(), filepath.Join(dir, "nothing")} {
		_, err := Make([]string{bad}, "")
		simtest.ErrorIf(t, !errors.As(err, &folder), "%s: %v", bad, err)
	}
	simtest.Check(t, os.WriteFile(filepath.Join(dir, "half", "manifest.json"), []byte("{"), 0o666))
	_, err := Make([]string{dir}, "")
	simtest.ErrorIf(t, !errors.As(err, &folder) || !strings.Contains(err.Error(), "damaged"), "damaged manifest: %v", err)
}

// TestAnswer: the knees stand in the page as the results have them, with the bound
// of the channels: on rings of 4 tornado traffic goes one hop (4/2 - 1), so that its
// channels carry a flit a cycle at load 1.
func TestAnswer(t *testing.T) {
	f := readBack(t, ring)
	rows, bounds := knees(f)
	simtest.FatalIf(t, len(rows) != 2 || rows[0].Variant != "switch.vcs = 2" || rows[1].Variant != "switch.vcs = 4" || !bounds, "%+v", rows)
	for i, k := range f.Results.Knees() {
		simtest.ErrorIf(t, rows[i].Bound != "1" || !strings.HasSuffix(rows[i].Idle, " at 0.1") || !strings.HasPrefix(rows[i].Idle, results.Short(k.Idle)),
			"%+v, want %+v", rows[i], k)
	}
}

// TestAnswerOfKinds: reports of all kinds that are ranked begin with the best variant, by the
// numbers of the table, as weft compare --best says it.
func TestAnswerOfKinds(t *testing.T) {
	for _, c := range []struct{ text, column, name, variants string }{
		{strings.Replace(ring, `"switch.vcs" = [2, 4]`, `"routing.type" = ["dor", "val"]`, 1), "accepted_load", "highest throughput", "dor val"},
		{
			"kind = \"mpi\"\njob = { ranks = 8 }\nworkload = { type = \"osu-alltoall\", bytes = \"1KiB\", iterations = 2 }\n[sweep]\n\"workload.algorithm\" = [\"alltoall-plp\", \"alltoall-lss\"]\n",
			"total_s", "lowest run time", "alltoall-plp alltoall-lss",
		},
		{
			"kind = \"jobs\"\n[topology]\ntype = \"xgft\"\nm = [2, 4]\nw = [1, 1]\n[routing]\ntype = \"nca\"\n[job.a]\nprogram = \"osu-alltoall\"\nranks = 4\niterations = 1\n[job.b]\nprogram = \"many-to-one\"\nranks = 4\nbytes = \"64KiB\"\niterations = 1\n" +
				"[sweep]\n\"job.a.placement\" = [\"contiguous\", \"random\"]\n",
			"slowdown_max", "lowest slowdown of the job that is slowed most", "contiguous random",
		},
		{
			"kind = \"flows\"\n[topology]\ntype = \"xgft\"\nm = [4, 4]\nw = [1, 1]\n[flows]\npattern = \"incast\"\nsenders = 12\nbytes = \"300000B\"\n[sweep]\n\"switch.full\" = [\"trim\", \"drop\"]\n",
			"fct_p99_us", "lowest 99th percentile of the completion times", "trim drop",
		},
	} {
		f := readBack(t, c.text)
		values := simtest.Must(f.Results.Numbers(c.column))(t)
		variants := strings.Fields(c.variants)
		best := 0
		for i, x := range values {
			// Of the sweep of loads, the throughput is the most of each variant's two rows.
			if better := x < values[best]; better != strings.HasPrefix(c.name, "highest") && x != values[best] {
				best = i
			}
		}
		winner := variants[best*len(variants)/len(values)]
		want := fmt.Sprintf("%s has the %s, %s", winner, c.name, results.Short(values[best]))
		simtest.Says(t, strings.Join(answer(f), " "), want)
		page := string(simtest.Must(Make([]string{f.Dir}, ""))(t))
		at, points := strings.Index(page, `<p class="answer">Of 2 variants, `+winner+" has the "), strings.Index(page, "Every point</h3>")
		simtest.ErrorIf(t, at < 0 || at > points, "%s: the page has no answer at its head", c.name)
	}
}

// TestCommand: a command line is written as a shell takes it.
func TestCommand(t *testing.T) {
	simtest.Equal(t, commandOf([]string{"weft", "run", "my file.toml", "--set=traffic.load=[0.1, 0.2]", "--out=it's"}),
		`weft run 'my file.toml' '--set=traffic.load=[0.1, 0.2]' '--out=it'\''s'`, "")
	simtest.Equal(t, fmt.Sprint(shortList([]uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13})), "[1 2 … 13]", "")
}
