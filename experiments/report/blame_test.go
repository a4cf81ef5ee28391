package report

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	_ "github.com/weft-sim/weft/experiments/flows" // tests read experiment files
	_ "github.com/weft-sim/weft/experiments/kinds"
	_ "github.com/weft-sim/weft/experiments/kinds/cost"
	_ "github.com/weft-sim/weft/experiments/kinds/jobs"
	"github.com/weft-sim/weft/fabric/core"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	"github.com/weft-sim/weft/sim/simtest"
)

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
	simtest.ErrorIf(t, math.Abs(a-2*b) > 0.1 || c != a || d != b || a < 500,
		"bars of %v, %v, %v and %v for 10, 5, 1000 (saturated) and 5", a, b, c, d)
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
