package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

const ring = `# Where does a <ring> & its "tornado" saturate?
#
# A second paragraph,
# of two lines.
title = "Tornado <on> a torus"
[topology]
type = "torus"
dims = [4, 4]
[routing]
type = "dor"
[traffic]
pattern = "tornado"
[measure]
warmup = 200
window = 400
links = true
[sweep]
"switch.vcs" = [2, 4]
"traffic.load" = [0.1, 1.0]
[[plot]]
x = "offered_load"
y = "latency_mean_ns"
`

// resultFolder runs an experiment into a new folder.
func resultFolder(t *testing.T, dir, text string) {
	t.Helper()
	f, err := experiments.Load("ring.toml", text, experiments.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Execute(t.Context(), experiments.Execution{Dir: dir}); err != nil {
		t.Fatal(err)
	}
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

// parse reads a page, which must be well-formed, and checks that it needs
// nothing from elsewhere.
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
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			e := &element{Name: x.Name.Local, Attr: map[string]string{}}
			for _, a := range x.Attr {
				e.Attr[a.Name.Local] = a.Value
				if (a.Name.Local == "href" && !strings.HasPrefix(a.Value, "#")) || a.Name.Local == "src" {
					t.Errorf("<%s> refers to %s", e.Name, a.Value)
				}
			}
			if e.Name == "link" || e.Name == "img" || e.Name == "script" && len(x.Attr) > 0 {
				t.Errorf("the page has a <%s>", e.Name)
			}
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
	if s := regexp.MustCompile(`url\(|@import`).FindString(root.all("style")[0].Text); s != "" {
		t.Errorf("the style sheet refers elsewhere: %s", s)
	}
	for _, script := range root.all("script") {
		if s := regexp.MustCompile(`//\w|import|fetch|XMLHttp|eval`).FindString(script.Text); s != "" {
			t.Errorf("the script may reach elsewhere: %s", s)
		}
	}
	return root
}

// TestPage: one experiment, with everything that the page must hold.
func TestPage(t *testing.T) {
	dir := t.TempDir()
	resultFolder(t, dir, ring)
	page, err := Make([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Make([]string{dir})
	if err != nil || !bytes.Equal(page, again) {
		t.Errorf("a second report differs (%v)", err)
	}
	root := parse(t, page)
	if got := root.all("h1")[0].Text; got != "Tornado <on> a torus" {
		t.Errorf("title %q", got)
	}
	var questions []string
	for _, p := range root.all("p") {
		if p.Attr["class"] == "question" {
			questions = append(questions, p.Text)
		}
	}
	if want := []string{`Where does a <ring> & its "tornado" saturate?`, "A second paragraph, of two lines."}; fmt.Sprint(questions) != fmt.Sprint(want) {
		t.Errorf("question %q", questions)
	}
	// 1 plot and, of 2 variants, a map of the higher load.
	if n := len(root.all("svg")); n != 3 {
		t.Errorf("%d pictures, want 3", n)
	}
	for i, vcs := range []string{"2", "4"} {
		if got := root.all("figcaption")[i].Text; !strings.HasPrefix(got, "switch.vcs = "+vcs+", traffic.load = 1. Switches at their coordinates") {
			t.Errorf("caption %q", got)
		}
	}
	// A row is marked in the page where it is not steady in the results.
	results, err := os.ReadFile(filepath.Join(dir, "results.csv"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := experiments.ReadTable("results.csv", bytes.NewReader(results))
	if err != nil {
		t.Fatal(err)
	}
	at, err := table.Column("state")
	if err != nil {
		t.Fatal(err)
	}
	tables := root.all("table")
	rows := tables[len(tables)-1].all("tr")[1:]
	if len(rows) != 4 {
		t.Fatalf("%d rows of results", len(rows))
	}
	for i, r := range rows {
		want := table.Rows[i][at]
		if want == "steady" {
			want = ""
		}
		if r.Attr["class"] != want || !strings.Contains(r.Text, want) {
			t.Errorf("row %d: %q, want %q", i, r.Attr["class"], want)
		}
	}
	if got := root.all("pre"); len(got) != 13 || !strings.Contains(got[1].Text, "dims = [4, 4]") {
		t.Errorf("%d tables of settings", len(got))
	}
}

// TestSeedsAreNoVariants: a page about a sweep of seeds has as many maps, bars of
// blame and lines of a figure as one without, and its blame is the mean.
func TestSeedsAreNoVariants(t *testing.T) {
	dir := t.TempDir()
	text := strings.Replace(strings.Replace(ring, "links = true", "links = true\nblame = true", 1), "[0.1, 1.0]", "[0.1, 0.2]\nseed = [1, 2, 3]", 1)
	resultFolder(t, dir, text)
	f, err := experiments.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if maps, note := linkMaps(f); len(maps) != 2 || !strings.Contains(note, "Of several seeds, the first is shown.") {
		t.Errorf("%d maps, %s", len(maps), note)
	}
	points, err := blamedPoints(f, f.Tables["blame"])
	if err != nil || len(points) != 4 || points[0].label != "switch.vcs = 2, traffic.load = 0.1" {
		t.Fatalf("%v, %d points, %+v", err, len(points), points[0].label)
	}
	results, err := f.Results.Where(map[string]string{"switch.vcs": "2", "traffic.load": "0.1"})
	if err != nil {
		t.Fatal(err)
	}
	means, err := results.Numbers("latency_mean_ns")
	if err != nil || len(means) != 3 {
		t.Fatal(err, means)
	}
	parts, roots := 0.0, 0.0
	for _, x := range points[0].parts {
		parts += x
	}
	for _, c := range points[0].channels {
		roots += c.root
	}
	if want := (means[0] + means[1] + means[2]) / 3; math.Abs(parts-want) > 1e-6*want || math.Abs(points[0].total-want) > 1e-6*want {
		t.Errorf("parts %v, total %v, want %v", parts, points[0].total, want)
	}
	if roots > 1+1e-9 {
		t.Errorf("shares of the channels come to %v", roots)
	}
	picture, err := figure(f, &f.File.Plots[0])
	if err != nil || strings.Contains(string(picture), "seed") || strings.Count(string(picture), ">vcs<") != 1 {
		t.Errorf("%v\n%s", err, picture)
	}
}

// TestVerdicts: a published number beside the measured one. fig8b's minimal
// routing saturates at 1/32 = 0.03125; 0.031 is 0.8 % below.
func TestVerdicts(t *testing.T) {
	text := "[sweep]\n\"traffic.load\" = [0.031]\n[[expect]]\ntarget = \"dragonfly-fig8b-wc-min-saturation-throughput\"\nmetric = \"accepted_load\"\n[[expect]]\ntarget = \"dragonfly-fig8b-wc-val-saturation-throughput\"\nmetric = \"accepted_load\"\nnote = \"far off\"\n"
	file, err := experiments.Load("x.toml", text, experiments.Options{})
	if err != nil {
		t.Fatal(err)
	}
	e, verdicts := newExperiment(&experiments.Folder{File: file, Results: &experiments.Table{
		Columns: []string{"point", "accepted_load"}, Rows: [][]string{{"0", "0.031"}},
	}})
	want := []verdict{
		{"dragonfly", "fig8b", "WC MIN", "saturation throughput", "0.03125", "0.031", "-0.8 %", "predicted", "met", ""},
		{"dragonfly", "fig8b", "WC VAL", "saturation throughput", "0.5", "0.031", "-93.8 %", "predicted", "missed", "far off"},
	}
	if fmt.Sprint(e.Verdicts) != fmt.Sprint(want) {
		t.Errorf("got %q\nwant %q", e.Verdicts, want)
	}
	for x, want := range map[float64]string{0.0004: "0.0 %", -0.0004: "0.0 %", 0.0006: "+0.1 %", -1: "-100.0 %"} {
		if got := percent(x); got != want {
			t.Errorf("percent(%v) = %q, want %q", x, got, want)
		}
	}
	c := content{Experiments: make([]experiment, 2)}
	c.sum(verdicts)
	if fmt.Sprint(c.Counts) != "[{met 1} {missed 1}]" || len(c.Verdicts) != 1 || len(c.Verdicts[0]) != 2 {
		t.Errorf("counts %v, papers %v", c.Counts, c.Verdicts)
	}
}

// TestFolders: several folders below one, an interrupted one among them, and
// folders that hold nothing.
func TestFolders(t *testing.T) {
	dir := t.TempDir()
	text := strings.Replace(ring, "links = true", "", 1)
	resultFolder(t, filepath.Join(dir, "paper", "b"), text)
	resultFolder(t, filepath.Join(dir, "paper", "a"), text)
	if err := os.Mkdir(filepath.Join(dir, "half"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "half", "journal"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	page, err := Make([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	root := parse(t, page)
	links := root.all("a")
	if len(links) != 2 || links[0].Text != "paper/a" || links[1].Text != "paper/b" {
		t.Errorf("links %v", links)
	}
	for _, a := range links {
		found := 0
		for _, s := range root.all("section") {
			if "#"+s.Attr["id"] == a.Attr["href"] {
				found++
			}
		}
		if found != 1 {
			t.Errorf("link %s leads to %d places", a.Attr["href"], found)
		}
	}
	if !strings.Contains(root.all("header")[0].Text, "Interrupted, without results: "+filepath.Join(dir, "half")) {
		t.Error("the interrupted folder is not mentioned")
	}
	var folder *experiments.FolderError
	for _, bad := range []string{t.TempDir(), filepath.Join(dir, "nothing")} {
		if _, err := Make([]string{bad}); !errors.As(err, &folder) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "half", "manifest.json"), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Make([]string{dir}); !errors.As(err, &folder) || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("damaged manifest: %v", err)
	}
}

// build makes a topology of the registry.
func build[C any](t *testing.T, name string, set func(*C)) topology.Topology {
	t.Helper()
	x, err := param.Make(topology.Registry, name, struct{}{}, set)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// TestHotSpot: in every layout, the one hot channel has the hottest colour and
// all others the coldest.
func TestHotSpot(t *testing.T) {
	const hottest, coldest = "#67000d", "#e4e8ee"
	for _, c := range []struct {
		name   string
		t      topology.Topology
		from   topology.SwitchID // with a channel to the switch to
		to     topology.SwitchID
		title  string
		marks  int // elements of the hot channel
		shapes int // elements in all, beside the scale
	}{
		// 4x4 torus: 64 directed links, 16 of them closing rings (two stubs
		// each); 16 switches on 16 backgrounds.
		{"torus", build(t, "torus", func(c *topology.GridConfig) { c.Dims = []int{4, 4} }), 0, 1, "switch 0 to switch 1", 1, 48 + 2*16 + 32},
		{"torus, closing a ring", build(t, "torus", func(c *topology.GridConfig) { c.Dims = []int{4, 4} }), 0, 3, "switch 0 to switch 3", 2, 48 + 2*16 + 32},
		// 3x3x2 mesh: between planes only the square shows; each plane has 12
		// cables, 24 directed links; 18 switches.
		{"mesh between planes", build(t, "mesh", func(c *topology.GridConfig) { c.Dims = []int{3, 3, 2} }), 0, 9, "switch 0", 1, 48 + 36},
		// k = 4, n = 2: 4 leaves, 2 roots, two cables between each pair:
		// 8 pairs, 16 directed links; 6 switches.
		{"fat tree", build(t, "fat-tree", func(c *topology.FatTreeConfig) { c.K, c.N = 4, 2 }), 4, 0, "switch 4 to switch 0", 1, 16 + 12},
		// p = h = 1, a = 2: 3 groups, a matrix of 9; switches 0 and 1 in group 0.
		{"dragonfly", build(t, "dragonfly", func(c *topology.DragonflyConfig) { c.P, c.A, c.H = 1, 2, 1 }), 0, 1, "group 0 to 0", 1, 9},
		{"random", build(t, "random-regular", func(c *topology.RandomRegularConfig) { c.Switches, c.Degree = 5, 4 }), 2, 4, "switch 2 to switch 4", 1, 20 + 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := c.t.Graph()
			channels := make([]channel, g.NumPorts()+g.Terminals())
			found := false
			for p := topology.PortID(0); int(p) < g.NumPorts(); p++ {
				if peer, ok := g.PeerPort(p); ok && g.PortSwitch[p] == c.from && g.PortSwitch[peer] == c.to && !found {
					channels[p].load, found = 0.8, true
				}
			}
			if !found {
				t.Fatal("no such channel")
			}
			picture, _ := (&view{graph: c.t.Graph(), channels: channels, top: 0.8}).draw(c.t)
			root := parse(t, []byte("<p><style></style>"+string(picture)+"</p>"))
			marks, shapes := 0, 0
			for _, e := range append(root.all("rect"), root.all("line")...) {
				colour := e.Attr["fill"] + e.Attr["stroke"]
				switch title := strings.TrimSpace(e.Text); {
				case strings.HasPrefix(title, "scale"):
					continue
				case title == c.title+": 0.800":
					marks++
					if colour != hottest {
						t.Errorf("%s has colour %s", title, colour)
					}
				case colour == "#ffffff": // behind a switch
				case colour != coldest || !strings.HasSuffix(title, ": 0.000"):
					t.Errorf("%s has colour %s", title, colour)
				}
				shapes++
				inside(t, root.all("svg")[0], e)
			}
			if marks != c.marks || shapes != c.shapes {
				t.Errorf("%d marks and %d shapes, want %d and %d", marks, shapes, c.marks, c.shapes)
			}
		})
	}
}

// inside checks that a shape lies in the picture.
func inside(t *testing.T, svg, e *element) {
	t.Helper()
	box := strings.Fields(svg.Attr["viewBox"])
	limit := map[string]string{"x": box[2], "y": box[3]}
	for _, key := range []string{"x", "y", "x1", "y1", "x2", "y2"} {
		text, given := e.Attr[key]
		if !given {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		most, err2 := strconv.ParseFloat(limit[key[:1]], 64)
		if err != nil || err2 != nil || math.IsNaN(value) || value < 0 || value > most {
			t.Errorf("%s = %s lies outside %s", key, text, svg.Attr["viewBox"])
		}
	}
}
