package report

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/engine"
	_ "github.com/weft-sim/weft/experiments/flows" // tests read experiment files
	_ "github.com/weft-sim/weft/experiments/kinds"
	_ "github.com/weft-sim/weft/experiments/kinds/cost"
	_ "github.com/weft-sim/weft/experiments/kinds/jobs"
	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/core"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	"github.com/weft-sim/weft/sim/simtest"
)

// lapsed is the ring with a series of 5 intervals.
var lapsed = strings.Replace(ring, "links = true", "series = 5", 1)

// ends names a channel by the switches that it leads from and to, as pictures do.
func ends(from, to string) string {
	from, _, _ = strings.Cut(from, " port ")
	to, _, _ = strings.Cut(to, " port ")
	return from + " to " + to
}

// hottestLoad is the largest of all points.
func hottestLoad(loads map[int][]results.ChannelLoad) (top float64) {
	for _, list := range loads {
		for _, c := range list {
			top = max(top, c.Load)
		}
	}
	return top
}

// withClass lists the elements below e of a class.
func withClass(e *element, name, class string) []*element {
	var some []*element
	for _, x := range e.all(name) {
		if x.Attr["class"] == class {
			some = append(some, x)
		}
	}
	return some
}

// TestTimelapse: both variants at load 1, each with 5 intervals of 80 cycles. A digit of a frame is
// the load of the element of the picture at its place: for the line from one switch to another, its
// channel's, found in the series and rounded to 35ths of the hottest in any interval.
func TestTimelapse(t *testing.T) {
	dir, html := reported(t, lapsed)
	page := parse(t, html)
	lapses := withClass(page, "figure", "timelapse")
	simtest.FatalIf(t, len(lapses) != 2, "%d time-lapses", len(lapses))
	folder := simtest.Must(engine.ReadFolder(dir))(t)
	top := 0.0
	for _, point := range []int{1, 3} {
		s := simtest.Must(folder.Series(point))(t)
		for _, c := range s.Channels {
			for _, x := range c.Flits {
				top = max(top, x)
			}
		}
	}
	for i, lapse := range lapses {
		series := simtest.Must(folder.Series(2*i + 1))(t)
		load := map[string][]float64{} // by the switches that a channel leads from and to
		for _, c := range series.Channels {
			load[ends(c.From, c.To)] = c.Flits
		}
		labels := lapse.Attr["data-labels"]
		simtest.ErrorIf(t, !strings.HasPrefix(labels, "cycles 0 to 80 of the window|cycles 80 to 160 of") || strings.Count(labels, "|") != 4, "labels %s", labels)
		frames := strings.Fields(lapse.Attr["data-frames"])
		named := withTitles(lapse)
		// 16 switches, and 64 channels between them; those that close a ring
		// of 4 are drawn at both ends: 16 more.
		simtest.FatalIf(t, len(frames) != 5 || len(named) != 16+64+16, "%d frames, %d elements", len(frames), len(named))
		checked := 0
		for k, frame := range frames {
			simtest.FatalIf(t, len(frame) != len(named), "frame %d has %d digits for %d elements", k, len(frame), len(named))
			for j, e := range named {
				name, _, _ := strings.Cut(e.Text, ":")
				if !strings.Contains(name, " to ") {
					continue // a switch
				}
				digit, err := strconv.ParseInt(frame[j:j+1], 36, 64)
				if err != nil || int(digit) != int(math.Round(load[name][k]/top*35)) {
					t.Errorf("%s in interval %d: %q for a load of %v", name, k, frame[j], load[name][k])
				}
				checked++
			}
		}
		simtest.ErrorIf(t, checked != 5*80, "%d lines compared", checked)
		stills := withClass(lapse, "div", "stills")[0]
		got := len(stills.all("svg"))
		simtest.ErrorIf(t, got != 5 || stills.all("p")[4].Text != "cycles 320 to 400 of the window", "%d stills, %s", got, stills.Text)
		// What a still shows is what the slider does.
		for k, svg := range stills.all("svg") {
			j := 0
			for _, e := range svg.all("path") {
				_, colour, _ := strings.Cut(strings.TrimPrefix(e.Attr["style"], "fill:none;"), ":")
				colour, _, _ = strings.Cut(colour, ";")
				if colour == "#FFFFFF" {
					continue // behind a switch
				}
				digit := simtest.Must(strconv.ParseInt(frames[k][j:j+1], 36, 64))(t)
				near(t, colour, "#%02X%02X%02X", digit)
				j++
			}
			simtest.ErrorIf(t, j != len(named), "a still of %d elements", j)
		}
	}
}

// near compares a colour in a format with the colour of a digit of a frame: a 70th of the scale is
// at most 5 of 255, in a stretch of it where a channel of colour falls by 141 in a quarter.
func near(t *testing.T, got, format string, digit int64) {
	t.Helper()
	want := plot.LoadColours.At(float64(digit) / 35)
	var rgb [3]int
	_, err := fmt.Sscanf(got, format, &rgb[0], &rgb[1], &rgb[2])
	simtest.FatalIf(t, err != nil, "colour %q: %v", got, err)
	for i, w := range []uint8{want.R, want.G, want.B} {
		if d := rgb[i] - int(w); d < -9 || d > 9 {
			t.Errorf("colour %s, want about %v", got, want)
			return
		}
	}
}

// TestDamagedSeries: the page says what is wrong with a series.
func TestDamagedSeries(t *testing.T) {
	dir, _ := reported(t, lapsed)
	simtest.Check(t, os.WriteFile(filepath.Join(dir, "series", "1.csv"), []byte("from,to,class,0-80,90-100\n"), 0o666))
	simtest.Says(t, string(simtest.Must(Make([]string{dir}, ""))(t)), "want an interval that begins at 80")
}

// TestLinkMaps: a map for each variant, with a frame for each load, lowest first. Two
// digits of a frame are the load of an element of the picture, in 1295ths of the
// hottest channel of all points; the picture shows the highest load.
func TestLinkMaps(t *testing.T) {
	f := readBack(t, strings.Replace(ring, "[0.1, 1.0]", "[1.0, 0.1, 0.5]", 1))
	loads, err := f.ChannelLoads()
	simtest.FatalIf(t, err != nil || len(loads) != 6, "%v, loads of %d points", err, len(loads))
	top := hottestLoad(loads)
	maps, note := linkMaps(f)
	simtest.FatalIf(t, len(maps) != 2 || !strings.Contains(note, "Each variant is shown at its highest load."), "%d maps, %s", len(maps), note)
	for i, m := range maps {
		frames := strings.Fields(m.Frames)
		if m.Name != "switch.vcs = "+[]string{"2", "4"}[i] || m.Labels != "load 0.1|load 0.5|load 1" || m.Last != 2 || len(frames) != 3 || math.Abs(m.Top-top) > 1e-12 {
			t.Fatalf("%q, %q, %d frames, to %d", m.Name, m.Labels, len(frames), m.Last)
		}
		root := parse(t, []byte("<p><style></style>"+string(m.Picture)+"</p>"))
		var titles []string
		for _, e := range root.all("title") {
			titles = append(titles, e.Text)
		}
		for k, point := range []int{3*i + 1, 3*i + 2, 3 * i} { // points in the order of their loads
			simtest.FatalIf(t, len(frames[k]) != 2*len(titles), "%d digits for %d elements", len(frames[k]), len(titles))
			of := map[string]float64{}
			for _, c := range loads[point] {
				of[ends(c.From, c.To)] = c.Load
			}
			checked := 0
			for j, title := range titles {
				name, number, _ := strings.Cut(title, ": ")
				load, isLink := of[name]
				if !isLink {
					continue // a switch
				}
				level, err := strconv.ParseInt(frames[k][2*j:2*j+2], 36, 64)
				simtest.Alike(t, name, err, nil, level, int64(math.Round(load/top*1295)))
				shown, err := strconv.ParseFloat(number, 64)
				simtest.ErrorIf(t, k == 2 && (err != nil || math.Abs(shown-load) > 0.0006), "%s: the picture says %s, want %v", name, number, load)
				checked++
			}
			// 64 channels between 16 switches, 16 of them drawn at both ends.
			simtest.ErrorIf(t, checked != 80, "%d links", checked)
			h := m.Hottest[k]
			simtest.Alike(t, "hottest", h.Frame, k, h.Shown, k == 2, h.Channels[0], hottestOf(loads[point])[0])
		}
	}
}

// TestTimelines: the report of a run with timelines has a picture with a row for each rank and the
// parts of the critical path, whose shares are of its length.
func TestTimelines(t *testing.T) {
	dir, html := reported(t, `
kind = "mpi"
job = { ranks = 6, machine = "fabric" }
placement = { per_node = 1 }
workload = { type = "osu-alltoall", algorithm = "alltoall-linear", bytes = "16KiB", iterations = 1 }
topology = { terminals = 6 }
measure = { timeline = true }
`)
	f := simtest.Must(engine.ReadFolder(dir))(t)
	list, note := timelines(f)
	simtest.FatalIf(t, len(list) != 1 || note == "", "%d timelines", len(list))
	share, time := 0.0, 0.0
	for _, s := range list[0].Steps {
		percent, err := strconv.ParseFloat(strings.Trim(s.Share, "< %"), 64)
		us, err2 := strconv.ParseFloat(s.Time, 64)
		simtest.FatalIf(t, err != nil || err2 != nil, "%v %v", err, err2)
		share, time = share+percent, time+us
	}
	elapsed, err := f.Results.Numbers("elapsed_s")
	if err != nil || share < 99 || share > 101 || time < 0.99e6*elapsed[0] || time > 1.01e6*elapsed[0] {
		t.Errorf("parts of %v %% and %v us, want 100 %% and %v (%v)", share, time, 1e6*elapsed[0], err)
	}
	parse(t, html)
	for _, want := range []string{"Timeline of ranks", `aria-label="timeline of ranks"`, ">rank 5<", "On the critical path", "<td>serialisation</td>", "<title>message "} {
		simtest.ErrorIf(t, !strings.Contains(string(html), want), "no %s", want)
	}
	// A table that somebody has changed is left out.
	f.Tables["timeline"].Rows[0][len(f.Tables["timeline"].Rows[0])-4] = "x"
	if list, _ := timelines(f); list != nil {
		t.Error("a row without a time is drawn")
	}
}

// TestTimelineOfManyRanks: of more ranks than a picture has rows, the path's ranks are shown.
func TestTimelineOfManyRanks(t *testing.T) {
	var rows []rankRow
	for i := range 100 {
		rows = append(rows, rankRow{rank: strconv.Itoa(i), what: "compute", end: 1})
	}
	last := newTimeline(rows, []rankRow{
		{rank: "98", what: "compute", end: 1},
		{rank: "99", what: "serialisation", peer: "98", message: "98:0", start: 1, end: 2},
		{rank: "99", what: "cable", peer: "98", message: "98:0", cable: "a to b", start: 2, end: 4},
		{rank: "99", what: "receive", peer: "98", message: "98:0", start: 4, end: 5},
	})
	if !strings.Contains(last.Caption, "32 of 100 ranks") || !strings.Contains(string(last.Picture), ">rank 99<") || !strings.Contains(string(last.Picture), ">rank 29<") || strings.Contains(string(last.Picture), ">rank 30<") {
		t.Errorf("%s: not the 30 first ranks and the two of the path", last.Caption)
	}
	simtest.Says(t, string(last.Picture), "<title>message 98:0 to rank 99: 3 us</title>")
	s := last.Steps
	simtest.ErrorIf(t, len(s) != 4 || s[0].Cable != "a to b" || s[0].Share != "40.0 %" || s[0].Time != "2.000", "parts %+v", s)
}

// TestBlameOfSaturatedPoints: a point that did not keep up leaves the others their length.
func TestBlameOfSaturatedPoints(t *testing.T) {
	point := func(label string, behind bool, total float64) blamedPoint {
		p := blamedPoint{label: label, behind: behind}
		p.total, p.parts[core.PartCredit] = total, total
		return p
	}
	svg := string(embedded(stackedBars([]blamedPoint{point("a", false, 10), point("b", false, 5), point("c", true, 1000), point("d", true, 5)}).Draw(barsWidth), ""))
	width := func(n int) float64 {
		x, end := across(t, withTitles(parse(t, []byte("<p><style></style>"+svg+"</p>")))[n])
		return end - x
	}
	a, b, c, d := width(0), width(1), width(2), width(3)
	simtest.ErrorIf(t, math.Abs(a-2*b) > 0.1 || c != a || d != b || a < 500, "bars of %v, %v, %v and %v for 10, 5, 1000 (saturated) and 5", a, b, c, d)
	simtest.ErrorIf(t, strings.Count(svg, "not to scale") != 1 || !strings.Contains(svg, ">c (saturated: the bar is not to scale)<"),
		"the shrunk bar does not say so, or others do")
}

// TestBlame: a report of a run with blame has a bar for each load, whose pieces
// are as long as the parts are large, and names the worst channels.
func TestBlame(t *testing.T) {
	_, html := reported(t, strings.Replace(ring, "links = true", "blame = true", 1))
	page := parse(t, html)
	var bars *element
	for _, svg := range page.all("svg") {
		if svg.Attr["aria-label"] == "parts of the mean latency" {
			bars = svg
		}
	}
	simtest.FatalIf(t, bars == nil, "no bars")
	// Two loads for each of two numbers of virtual channels. In a bar pieces
	// touch, and their titles have the times that their widths show.
	starts, perUnit := 0, 0.0
	end := 0.0
	for _, part := range withTitles(bars) {
		x, next := across(t, part)
		width := next - x
		if x < end-0.1 || starts == 0 {
			starts++
			simtest.ErrorIf(t, x != 4, "a bar begins at %v", x)
		} else if x > end+0.1 {
			t.Errorf("a gap from %v to %v", end, x)
		}
		end = next
		_, text, _ := strings.Cut(part.Children[0].Text, ": ")
		time := simtest.Must(strconv.ParseFloat(strings.TrimSuffix(text, " ns"), 64))(t)
		if width < 20 {
			continue // too short to judge
		}
		if perUnit == 0 {
			perUnit = time / width
		}
		simtest.Near(t, time/width, perUnit, 0.01*perUnit, "%q: ns a unit", part.Children[0].Text)
	}
	simtest.ErrorIf(t, starts != 4, "%d bars, want 4", starts)
	text := string(html)
	for _, name := range core.PartNames {
		simtest.ErrorIf(t, !strings.Contains(text, ">"+name+"<"), "no legend for %s", name)
	}
	simtest.Says(t, text, "The channels most to blame: ", "<td>grid</td>")
}

func TestPercentage(t *testing.T) {
	for share, want := range map[float64]string{
		1: "100.0 %", 0.1234: "12.3 %", 0.0567: "5.7 %", 0.01: "1.0 %", 0.00346: "0.35 %", 0.0012: "0.12 %", 0.000456: "0.046 %", 0.0001: "0.010 %", 0.00002: "< 0.01 %",
	} {
		simtest.Equal(t, percentage(share), want, "%v:", share)
	}
}

// withTitles lists the groups of a picture that have titles.
func withTitles(e *element) (all []*element) {
	for _, g := range e.all("g") {
		if len(g.Children) > 0 && g.Children[0].Name == "title" {
			all = append(all, g)
		}
	}
	return all
}

// across is from where to where an area reaches.
func across(t *testing.T, group *element) (from, to float64) {
	t.Helper()
	from, to = math.Inf(1), math.Inf(-1)
	for _, corner := range regexp.MustCompile(`[ML]([0-9.]+),`).FindAllStringSubmatch(group.all("path")[0].Attr["d"], -1) {
		x := simtest.Must(strconv.ParseFloat(corner[1], 64))(t)
		from, to = min(from, x), max(to, x)
	}
	return from, to
}

// TestBlameInOrder: points that were added behind the others stand at their loads.
func TestBlameInOrder(t *testing.T) {
	f := readBack(t, strings.NewReplacer("links = true", "blame = true", "[0.1, 1.0]", "[0.3, 0.1, 0.2]").Replace(ring))
	points := blamedPoints(f, f.Tables["blame"])
	var labels []string
	for _, p := range points {
		labels = append(labels, strings.NewReplacer("switch.vcs = ", "", " traffic.load = ", "").Replace(p.label))
	}
	simtest.Equal(t, strings.Join(labels, " "), "2,0.1 2,0.2 2,0.3 4,0.1 4,0.2 4,0.3", "bars")
}

// TestJobBlame: a report of jobs has the matrix of who slows whom with the cables most to blame, or the
// slowdowns where the file does not ask for blame.
func TestJobBlame(t *testing.T) {
	for more, want := range map[string][]string{
		"[measure]\nblame = true\n": {"Who slows whom: job over slowed_by", "The cables most to blame"},
		"":                          {"Slowdown of jobs: slowdown over job"},
		"[measure]\nblame = true\n[sweep]\n\"job.a.bytes\" = [\"1KiB\", \"64KiB\"]\n": {"The point in which a job is slowed most: job.a.bytes"},
	} {
		_, html := reported(t, twoHalos+more)
		simtest.Says(t, string(html), append(want, "Who slows whom")...)
	}
}
