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

	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/sim/simtest"
)

// everything is an experiment whose report has all that a report can have: on rings of 8, tornado
// traffic goes 3 hops in one direction, so that the channels are full at a load of 1/3.
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
	page := simtest.Must(Make([]string{dir}, name))(t)
	simtest.Check(t, os.WriteFile(name, page, 0o666))
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
			// Nothing of a figure is cut off, and what is written there is large enough.
			b.want(`Array.from(document.querySelectorAll('.figures svg, .blame svg')).filter(e => e.getBoundingClientRect().width > 0).every(function (svg) {
				const r = svg.getBoundingClientRect(), holder = svg.parentElement;
				return holder.scrollWidth <= holder.clientWidth && Array.from(svg.querySelectorAll('text')).every(function (e) {
					const t = e.getBoundingClientRect();
					return t.left > r.left - 1 && t.right < r.right + 1 && t.top > r.top - 1 && t.bottom < r.bottom + 1 && Math.max(t.width, t.height) > 5 && Math.min(t.width, t.height) > 5;
				});
			})`, true)
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
	b.want("Array.from(document.querySelectorAll('.map')).filter(e => e.offsetHeight > 50).length", 2)
	b.picture("page-print")
}

// TestBrowserChart: values show under the pointer, and series can be switched off, at both widths.
func TestBrowserChart(t *testing.T) {
	b, dir := opened(t, everything, 1280)
	folder := simtest.Must(engine.ReadFolder(dir))(t)
	latency := simtest.Must(folder.Results.Numbers("latency_mean_ns"))(t)
	number := strings.TrimSuffix(strconv.FormatFloat(latency[1], 'g', 5, 64), "0")
	for _, c := range []struct {
		width   int
		picture string
	}{{1280, ".still"}, {390, ".small"}} {
		b.window(c.width)
		chart := "document.querySelector('.figures " + c.picture + "')"
		b.want(chart+".querySelectorAll('[data-series=\"2\"] [data-tip]').length", 4) // loads
		const tip = "document.querySelector('.figures .tip')"
		x, y := b.center(chart + ".querySelectorAll('[data-series=\"2\"] [data-tip]')[1]")
		b.mouse("mouseMoved", x, y)
		b.want(tip+".hidden", false)
		got, want := b.eval(tip+".textContent").(string), "2\n0.1\n"+number
		simtest.ErrorIf(t, !strings.HasPrefix(got, want), "under the pointer: %q, want %q", got, want)
		b.picture(fmt.Sprintf("chart-hover-%d", c.width))
		shown := func(series string) string {
			return "getComputedStyle(" + chart + ".querySelector('[data-series=\"" + series + "\"]')).visibility"
		}
		b.click(chart + ".querySelector('[data-entry=\"2\"]')")
		b.want(chart+".querySelector('[data-entry=\"2\"]').getAttribute('aria-pressed')", "false")
		b.want(shown("2"), "hidden")
		b.want(shown("4"), "visible")
		b.click(chart + ".querySelector('[data-entry=\"2\"]')")
		b.want(shown("2"), "visible")
	}
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
	folder := simtest.Must(engine.ReadFolder(dir))(t)
	loads := simtest.Must(folder.ChannelLoads())(t)
	visible := "Array.from(document.querySelectorAll('.map')).map(e => e.offsetHeight > 0)"
	b.want(visible, []bool{true, false})
	b.eval("(function () { const s = document.querySelector('.choose select'); s.selectedIndex = 1; s.dispatchEvent(new Event('change')); })()")
	b.want(visible, []bool{false, true})
	const figure = "document.querySelectorAll('.map')[1]"
	b.want(figure+".querySelector('output').textContent", "load 1")
	b.eval("(function () { const s = " + figure + ".querySelector('input'); s.value = 1; s.dispatchEvent(new Event('input')); })()")
	b.want(figure+".querySelector('output').textContent", "load 0.1")
	top := hottestLoad(loads)
	// Points 4 to 7 are the second variant, 5 its second load.
	checked := 0
	for _, c := range loads[5] {
		if !strings.HasPrefix(c.From, "switch") || !strings.HasPrefix(c.To, "switch") {
			continue
		}
		title := b.eval(fmt.Sprintf("Array.from(%s.querySelectorAll('svg title')).map(t => t.textContent).find(t => t.startsWith('%s:'))", figure, ends(c.From, c.To))).(string)
		_, number, _ := strings.Cut(title, "about ")
		x, err := strconv.ParseFloat(number, 64)
		simtest.ErrorIf(t, err != nil || math.Abs(x-c.Load) > 0.001+top/1295, "%q, want %v", title, c.Load)
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
	page := simtest.Must(os.ReadFile(filepath.Join(dir, "report.html")))(t)
	lapse := withClass(parse(t, page), "figure", "timelapse")[0]
	frames := strings.Fields(lapse.Attr["data-frames"])
	const figure = "document.querySelector('.timelapse')"
	b.want(figure+".querySelector('.stills').offsetHeight", 0)
	for _, k := range []int{0, 3} {
		b.eval(fmt.Sprintf("(function () { const s = %s.querySelector('input'); s.value = %d; s.dispatchEvent(new Event('input')); })()", figure, k))
		b.want(figure+".querySelector('output').textContent", fmt.Sprintf("cycles %d to %d of the window", 80*k, 80*(k+1)))
		digit := simtest.Must(strconv.ParseInt(frames[k][:1], 36, 64))(t)
		near(t, b.eval(figure+".querySelector('.player title + path').style.stroke").(string), "rgb(%d, %d, %d)", digit)
	}
	b.click(figure + ".querySelector('button')")
	b.want(figure+".querySelector('button').textContent", "Pause")
}

// TestBrowserBars: bars and bins of histograms say what they are.
func TestBrowserBars(t *testing.T) {
	text := strings.Replace(ring, "links = true", "histogram = true", 1) +
		"style = \"bar\"\n[[plot]]\ntable = \"histogram\"\nstyle = \"histogram\"\nx = \"latency_from_ns\"\n"
	b, _ := opened(t, text, 1280)
	for i := range 2 {
		point := fmt.Sprintf("document.querySelectorAll('.figures figure')[%d].querySelector('[data-tip]')", i)
		x, y := b.center(point)
		b.mouse("mouseMoved", x, y)
		tip := b.eval(fmt.Sprintf("document.querySelectorAll('.tip')[%d].innerText", i)).(string)
		simtest.ErrorIf(t, strings.Count(tip, "\n") < 1, "figure %d: %q", i, tip)
	}
	b.picture("bars")
}

// TestBrowserPanels: panels, percentiles, scatters and heat maps are drawn for both widths.
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
	for width, shown := range map[int]string{1280: ".still", 390: ".small"} {
		b.window(width)
		b.want("Array.from(document.querySelectorAll('.figures "+shown+"')).filter(e => e.offsetHeight > 50).length", 4)
		b.want("document.documentElement.scrollWidth", width)
	}
	// On a phone one panel stands below the other.
	places := func(picture string) string {
		return "(function () { const all = Array.from(document.querySelectorAll('.figures " + picture + "')[0].querySelectorAll('text')).filter(e => /^vcs [24]$/.test(e.textContent)).map(e => e.getBoundingClientRect()); return [all.length, Math.abs(all[0].top - all[1].top) < 2]; })()"
	}
	b.window(390)
	b.want(places(".small"), []any{2, false})
	b.window(1280)
	b.want(places(".still"), []any{2, true})
	b.picture("panels")
}
