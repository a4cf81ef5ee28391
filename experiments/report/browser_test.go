//go:build unix

package report

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

// everything is an experiment whose report has all that a report can have: on rings
// of 8, tornado traffic goes 3 hops in one direction, so that the channels are full
// at a load of 1/3.
var everything = strings.NewReplacer("links = true", "links = true\nblame = true\nseries = 5", "[4, 4]", "[8, 4]", "[0.1, 1.0]", "[0.05, 0.1, 0.2, 1.0]").Replace(ring)

// opened is the report of an experiment in a browser.
func opened(t *testing.T, text string, width int) (b *browser, dir string) {
	t.Helper()
	if os.Getenv("WEFT_TEST_REPORT") == "" {
		t.Skip("starts a browser: run by make test-report")
	}
	dir = t.TempDir()
	resultFolder(t, dir, text)
	name := filepath.Join(dir, "report.html")
	page, err := Make([]string{dir}, name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, page, 0o666); err != nil {
		t.Fatal(err)
	}
	return openBrowser(t, name, width), dir
}

// TestBrowserWidths: the page is no wider than a phone or a desktop window, light,
// dark and in print; wide tables scroll inside. In print the figures are the
// pictures, and every variant has its map.
func TestBrowserWidths(t *testing.T) {
	b, _ := opened(t, everything, 1400)
	for _, scheme := range []string{"light", "dark"} {
		b.media("screen", scheme)
		for _, width := range []int{360, 390, 768, 1280, 1400} {
			b.window(width)
			b.want("document.documentElement.scrollWidth", width)
			b.picture(fmt.Sprintf("page-%s-%d", scheme, width))
		}
		// What is written can be read: ink and paper are far apart.
		b.want(`(function () {
			const light = function (c) { const [r, g, b] = c.match(/\d+/g).map(Number); return 0.3 * r + 0.6 * g + 0.1 * b; };
			const s = getComputedStyle(document.body);
			return Math.abs(light(s.color) - light(s.backgroundColor)) > 180;
		})()`, true)
	}
	b.window(794) // A4 at 96 points an inch
	b.media("print", "dark")
	b.want("getComputedStyle(document.body).backgroundColor", "rgb(255, 255, 255)")
	b.want("Array.from(document.querySelectorAll('.still')).every(e => e.offsetHeight > 50)", true)
	b.want("document.querySelector('.chart-live').offsetHeight", 0)
	b.want("Array.from(document.querySelectorAll('.map')).filter(e => e.offsetHeight > 50).length", 2)
	b.picture("page-print")
}

// TestBrowserChart: values show under the pointer, series can be switched off, the
// axis be logarithmic, and a part be enlarged.
func TestBrowserChart(t *testing.T) {
	b, dir := opened(t, everything, 1280)
	folder, err := experiments.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	latency, err := folder.Results.Numbers("latency_mean_ns")
	if err != nil {
		t.Fatal(err)
	}
	const chart = "document.querySelector('figure[data-chart]')"
	b.want(chart+".querySelectorAll('.mark.s0').length", 1+4) // a sample in the legend, and four loads
	x, y := b.center(chart + ".querySelectorAll('.chart-holder .mark.s0')[1]")
	b.want(chart+".querySelector('.tip').hidden", true)
	b.mouse("mouseMoved", x, y)
	b.want(chart+".querySelector('.tip').hidden", false)
	tip := b.eval(chart + ".querySelector('.tip').innerText").(string)
	number := strings.TrimSuffix(strconv.FormatFloat(latency[1], 'g', 5, 64), "0")
	if !strings.Contains(tip, "Offered load (flits per terminal and cycle): 0.1") || !strings.Contains(tip, "Mean latency (ns): "+number) {
		t.Errorf("under the pointer: %q, want a latency of %v at 0.1", tip, number)
	}
	b.picture("chart-hover")

	b.click(chart + ".querySelector('button.series')")
	b.want(chart+".querySelector('button.series').getAttribute('aria-pressed')", "false")
	b.want(chart+".querySelectorAll('.chart-holder .mark.s0').length", 0)
	b.want(chart+".querySelectorAll('.chart-holder .mark.s1').length", 4)
	b.click(chart + ".querySelector('button.series')")
	b.want(chart+".querySelectorAll('.chart-holder .mark.s0').length", 4)

	// On a logarithmic axis equal ratios are equal distances; saturated points
	// leave the strip.
	b.want(chart+".querySelectorAll('.strip').length", 1)
	b.click(chart + ".querySelectorAll('.chart-tools input')[1]")
	b.want(chart+".querySelectorAll('.strip').length", 0)
	places := b.eval("Array.from(" + chart + ".querySelectorAll('.chart-holder .mark.s0')).map(e => Number(e.getAttribute('cy')))").([]any)
	height := func(i int) float64 { return places[i].(float64) }
	if got, want := (height(0)-height(2))/(height(0)-height(3)), math.Log(latency[2]/latency[0])/math.Log(latency[3]/latency[0]); math.Abs(got-want) > 0.01 {
		t.Errorf("on a logarithmic axis the third point is at %v of the way, want %v", got, want)
	}
	b.click(chart + ".querySelectorAll('.chart-tools input')[1]")

	// A part: from the left of the second point to the right of the third.
	b.want(chart+".querySelector('.reset').disabled", true)
	x1, y1 := b.center(chart + ".querySelectorAll('.chart-holder .mark.s0')[1]")
	x2, _ := b.center(chart + ".querySelectorAll('.chart-holder .mark.s0')[2]")
	b.mouse("mousePressed", x1-20, y1-20)
	b.mouse("mouseMoved", (x1+x2)/2, y1)
	b.mouse("mouseMoved", x2+20, y1+20)
	b.mouse("mouseReleased", x2+20, y1+20)
	b.want(chart+".querySelector('.reset').disabled", false)
	b.want(`(function () {
		const frame = `+chart+`.querySelector('.frame').getBoundingClientRect();
		return Array.from(`+chart+`.querySelectorAll('.chart-holder .mark.s0')).map(e => { const r = e.getBoundingClientRect(), x = r.x + r.width / 2; return x > frame.left && x < frame.right; });
	})()`, []bool{false, true, true, false})
	b.picture("chart-part")
	b.click(chart + ".querySelector('.reset')")
	b.want(chart+".querySelector('.reset').disabled", true)
}

// TestBrowserTables: a press on a head sorts, numbers as numbers, another one turns
// the order; words leave the rows that have them.
func TestBrowserTables(t *testing.T) {
	b, _ := opened(t, everything, 1280)
	const table = "Array.from(document.querySelectorAll('.scroll table')).pop()"
	column := func(name string) string {
		return fmt.Sprintf("(function () { const t = %s; const i = Array.from(t.tHead.rows[0].cells).findIndex(c => c.textContent === '%s'); return Array.from(t.tBodies[0].rows).filter(r => !r.hidden).map(r => r.cells[i].textContent); })()", table, name)
	}
	head := func(name string) string {
		return fmt.Sprintf("Array.from(%s.tHead.rows[0].cells).find(c => c.textContent === '%s')", table, name)
	}
	b.want(column("traffic.load"), []string{"0.05", "0.1", "0.2", "1", "0.05", "0.1", "0.2", "1"})
	b.click(head("traffic.load"))
	b.want(head("traffic.load")+".getAttribute('aria-sort')", "ascending")
	b.want(column("traffic.load"), []string{"0.05", "0.05", "0.1", "0.1", "0.2", "0.2", "1", "1"})
	b.want(column("switch.vcs"), []string{"2", "4", "2", "4", "2", "4", "2", "4"})
	b.click(head("traffic.load"))
	b.want(column("traffic.load"), []string{"1", "1", "0.2", "0.2", "0.1", "0.1", "0.05", "0.05"})
	b.click(head("packets_measured"))
	b.want(fmt.Sprintf("(function (list) { return list.every((x, i) => i === 0 || x >= list[i - 1]); })(%s.map(Number))", column("packets_measured")), true)
	b.eval("(function () { const f = " + table + ".closest('.scroll').previousElementSibling.querySelector('input'); f.value = 'saturated'; f.dispatchEvent(new Event('input')); })()")
	b.want(column("traffic.load"), []string{"1", "1"})
	b.want(table+".closest('.scroll').previousElementSibling.querySelector('output').textContent", "2 of 8 rows")
	b.picture("table-filtered")
}

// TestBrowserMaps: one variant's map shows at a time, at the load of the slider, in
// the colours of that load, above the hottest channels there.
func TestBrowserMaps(t *testing.T) {
	b, dir := opened(t, everything, 1280)
	folder, err := experiments.ReadFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	loads, err := folder.ChannelLoads()
	if err != nil {
		t.Fatal(err)
	}
	visible := "Array.from(document.querySelectorAll('.map')).map(e => e.offsetHeight > 0)"
	b.want(visible, []bool{true, false})
	b.eval("(function () { const s = document.querySelector('.choose select'); s.selectedIndex = 1; s.dispatchEvent(new Event('change')); })()")
	b.want(visible, []bool{false, true})
	const figure = "document.querySelectorAll('.map')[1]"
	b.want(figure+".querySelector('output').textContent", "load 1")
	b.eval("(function () { const s = " + figure + ".querySelector('input'); s.value = 1; s.dispatchEvent(new Event('input')); })()")
	b.want(figure+".querySelector('output').textContent", "load 0.1")
	top := 0.0
	for _, list := range loads {
		for _, c := range list {
			top = max(top, c.Load)
		}
	}
	// Points 4 to 7 are the second variant, 5 its second load.
	checked := 0
	for _, c := range loads[5] {
		from, _, _ := strings.Cut(c.From, " port ")
		to, _, _ := strings.Cut(c.To, " port ")
		if !strings.HasPrefix(to, "switch") || !strings.HasPrefix(from, "switch") {
			continue
		}
		title := b.eval(fmt.Sprintf("Array.from(%s.querySelectorAll('g title')).map(t => t.textContent).find(t => t.startsWith('%s to %s:'))", figure, from, to)).(string)
		_, number, _ := strings.Cut(title, "about ")
		if x, err := strconv.ParseFloat(number, 64); err != nil || math.Abs(x-c.Load) > 0.001+top/1295 {
			t.Errorf("%q, want %v", title, c.Load)
		}
		if checked++; checked == 12 {
			break
		}
	}
	hottest := hottestOf(loads[5])[0]
	b.want("Array.from("+figure+".querySelectorAll('[data-frame]')).filter(e => !e.hidden).map(e => e.querySelector('tbody td').textContent)", []string{hottest.From})
	b.picture("map-variant")
}

// TestBrowserTimelapse: the first interval shows when the page is open, and another
// when the slider is there.
func TestBrowserTimelapse(t *testing.T) {
	b, dir := opened(t, everything, 1280)
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	lapse := withClass(parse(t, page), "figure", "timelapse")[0]
	frames := strings.Fields(lapse.Attr["data-frames"])
	const figure = "document.querySelector('.timelapse')"
	b.want(figure+".querySelector('.stills').offsetHeight", 0)
	for _, k := range []int{0, 3} {
		b.eval(fmt.Sprintf("(function () { const s = %s.querySelector('input'); s.value = %d; s.dispatchEvent(new Event('input')); })()", figure, k))
		b.want(figure+".querySelector('output').textContent", fmt.Sprintf("cycles %d to %d of the window", 80*k, 80*(k+1)))
		digit, err := strconv.ParseInt(frames[k][:1], 36, 64)
		if err != nil {
			t.Fatal(err)
		}
		near(t, b.eval(figure+".querySelector('.player g line').getAttribute('stroke')").(string), heatOf(digit))
	}
	b.click(figure + ".querySelector('button')")
	b.want(figure+".querySelector('button').textContent", "Pause")
}

// TestBrowserBars: the charts of bars and of histograms are drawn, with values.
func TestBrowserBars(t *testing.T) {
	text := strings.Replace(ring, "links = true", "histogram = true", 1) +
		"style = \"bar\"\n[[plot]]\ntable = \"histogram\"\nstyle = \"histogram\"\nx = \"latency_from_ns\"\n"
	b, _ := opened(t, text, 1280)
	b.want("document.querySelectorAll('figure.live').length", 2)
	for i, class := range []string{"bar", "bin"} {
		mark := fmt.Sprintf("document.querySelectorAll('figure.live')[%d].querySelector('.chart-holder .%s')", i, class)
		x, _ := b.center(mark)
		y := b.eval(mark + ".getBoundingClientRect().top").(float64)
		b.mouse("mouseMoved", x, y+2)
		if tip := b.eval(fmt.Sprintf("document.querySelectorAll('.tip')[%d].innerText", i)).(string); !strings.Contains(tip, ": ") {
			t.Errorf("%s: %q", class, tip)
		}
	}
	b.picture("bars")
}

// TestBrowserPanels: small multiples have axes of one range, lines alone no markers,
// percentiles their own axis; colours of a scale and marks are drawn; a heat map is a
// picture.
func TestBrowserPanels(t *testing.T) {
	text := strings.NewReplacer("links = true", "histogram = true", "[4, 4]", "[8, 4]", "[0.1, 1.0]", "[0.1, 0.2, 1.0]").Replace(ring) + `panels = "switch.vcs"
annotate = "bound"
[[plot]]
file = "p"
table = "histogram"
style = "percentile"
x = "latency_from_ns"
where = { "traffic.load" = 0.2 }
[[plot]]
file = "s"
style = "scatter"
x = "accepted_load"
y = "latency_mean_ns"
by = ["switch.vcs", "traffic.load"]
colour_by = "traffic.load"
[[plot]]
file = "h"
style = "heat"
x = "traffic.load"
y = "switch.vcs"
z = "latency_mean_ns"
`
	b, _ := opened(t, text, 1280)
	const panels = "document.querySelectorAll('.panels > div')"
	b.want(panels+".length", 2)
	ticks := func(i int) string {
		return fmt.Sprintf("Array.from(%s[%d].querySelectorAll('.chart-holder text')).map(e => e.textContent).join()", panels, i)
	}
	if a, c := b.eval(ticks(0)), b.eval(ticks(1)); a != c || !strings.Contains(a.(string), "bound 0.3333") {
		t.Errorf("panels with %v and %v", a, c)
	}
	const percentiles = "document.querySelectorAll('figure.live')[1]"
	b.want(percentiles+".querySelectorAll('.chart-holder .mark').length", 0)
	b.want(percentiles+".querySelectorAll('.chart-holder .curve').length", 2)
	b.want(percentiles+".querySelector('.chart-holder').textContent.includes('90 %')", true)
	const scatter = "document.querySelectorAll('figure.live')[2]"
	b.want(scatter+".querySelectorAll('.chart-holder .curve').length", 0)
	// The scale runs from #440154 to #b5de2b.
	b.want("Array.from("+scatter+".querySelectorAll('.chart-holder .mark')).map(e => getComputedStyle(e).stroke).filter(c => c === 'rgb(68, 1, 84)' || c === 'rgb(181, 222, 43)').length", 4)
	b.want("Array.from(document.querySelectorAll('.figures .still')).filter(e => e.offsetHeight > 50).length", 1)
	b.picture("panels")
}
