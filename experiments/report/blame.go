package report

import (
	"cmp"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/sim/lists"
)

// blame shows where the latency of the points of an experiment came from.
type blame struct {
	Picture template.HTML
	Narrow  template.HTML // for the width of a telephone
	Note    string
	Caption string // of the point with the worst channels
	Worst   []worst
}

// worst is one of the channels that are most to blame.
type worst struct {
	From, To, Class, Share, Time, Most string
}

const (
	mostBars    = 40
	mostWorst   = 10
	barsWidth   = 640 // of the picture in its own units; the page scales it
	narrowWidth = 340
)

// partColours are the fills of the parts, by core.Part.
var partColours = [core.NumParts]color.NRGBA{
	{0x9a, 0xa5, 0xb1, 0xff}, {0xc6, 0xdb, 0xef, 0xff}, {0x6b, 0xae, 0xd6, 0xff}, {0x21, 0x71, 0xb5, 0xff},
	{0xd7, 0x30, 0x1f, 0xff}, {0xfd, 0x8d, 0x3c, 0xff}, {0x67, 0x00, 0x0d, 0xff}, {0xd9, 0xd9, 0xd9, 0xff},
}

func stackedBars(points []blamedPoint) *plot.StackedBars {
	bars := &plot.StackedBars{Parts: core.PartNames[:], Colours: partColours[:], Unit: "ns"}
	for _, p := range points {
		bars.Bars = append(bars.Bars, plot.StackedBar{Label: p.label, Parts: p.parts[:], Total: p.total, Saturated: p.behind})
	}
	return bars
}

// blamedPoint is the rows of scope all and of scope channel with a label: of a point, or the
// means of its seeds.
type blamedPoint struct {
	label    string
	behind   bool // the network did not keep up
	channels []*blamedChannel
	blamedTime
}

type blamedChannel struct {
	from, to, class string
	blamedTime
}

type blamedTime struct {
	parts [core.NumParts]float64 // nanoseconds
	total float64
	root  float64 // share of all waiting, whose root it is
}

func (b *blamedTime) add(other *blamedTime, share float64) {
	b.total += share * other.total
	b.root += share * other.root
	for i, x := range other.parts {
		b.parts[i] += share * x
	}
}

// newBlame reads blame.csv; nil where there is none that can be read.
func newBlame(f *engine.Folder) *blame {
	t := f.Tables["blame"]
	if t == nil {
		return nil
	}
	points := blamedPoints(f, t)
	if len(points) == 0 {
		return nil
	}
	b := &blame{Note: "Mean latency of the measured packets by its parts, in ns."}
	shown := points
	if len(shown) > mostBars {
		shown = shown[:mostBars]
		b.Note += fmt.Sprintf(" The first %d of %d points; blame.csv has them all.", mostBars, len(points))
	}
	if slices.Contains(f.File.SweptKeys(), results.SeedKey) {
		b.Note += " Each is the mean of its seeds."
	}
	bars := stackedBars(shown)
	b.Picture, b.Narrow = embedded(bars.Draw(barsWidth), "parts of the mean latency"), embedded(bars.Draw(narrowWidth), "parts of the mean latency")
	slowest := slices.MaxFunc(points, func(a, b blamedPoint) int { return cmp.Compare(a.total, b.total) })
	b.Caption = slowest.label
	slices.SortStableFunc(slowest.channels, func(a, b *blamedChannel) int { return cmp.Compare(b.root, a.root) })
	for _, c := range slowest.channels[:min(mostWorst, len(slowest.channels))] {
		if c.root == 0 {
			break
		}
		most := core.PartVC // what is most of the waiting
		for _, part := range []core.Part{core.PartSwitch, core.PartCredit, core.PartSerial, core.PartEjection} {
			if c.parts[part] > c.parts[most] {
				most = part
			}
		}
		b.Worst = append(b.Worst, worst{
			c.from, c.to, c.class, percentage(c.root),
			strconv.FormatFloat(c.total, 'f', 3, 64), core.PartNames[most],
		})
	}
	return b
}

// percentage is a share of all with two digits that count or, from 10 % on,
// three: shares are small in a network of thousands of channels.
func percentage(share float64) string {
	const least = 0.01
	percent := 100 * share
	if percent < least {
		return "< 0.01 %"
	}
	digits := 1
	for limit := 1.0; percent < limit; limit /= 10 {
		digits++
	}
	return strconv.FormatFloat(percent, 'f', digits, 64) + " %"
}

// blamedPoints reads the table; nil where a column is missing. Points that differ only in their
// seed are one, and count alike.
func blamedPoints(f *engine.Folder, t *results.Table) []blamedPoint {
	names := []string{"point", "scope", "from", "to", "channel_class", "total_ns", "root_share"}
	for _, part := range core.PartNames {
		names = append(names, part+"_ns")
	}
	at, err := t.Places(names)
	if err != nil {
		return nil
	}
	// Variant by variant and by load: refinement adds points behind all others.
	labels, order := map[string]string{}, map[string]int{}
	for _, v := range variants(f, func(*experiments.Point) bool { return true }) {
		for _, p := range v.points {
			order[withoutSeed(f.File, p)] = len(order)
		}
	}
	for _, p := range f.File.Points {
		labels[strconv.Itoa(p.Index)] = cmp.Or(withoutSeed(f.File, p), "The only point")
	}
	saturated := map[string]bool{}
	for i := range f.Results.Rows {
		saturated[f.Results.Cell(i, "point")] = f.Results.State(i) == measure.Saturated
	}
	var points []blamedPoint
	labelled := func(row []string) string { return labels[row[at[0]]] }
	for _, rows := range results.Grouped(t.Rows, labelled) {
		p := blamedPoint{label: labelled(rows[0])}
		seeds := len(results.Grouped(rows, func(row []string) string { return row[at[0]] }))
		channels := map[[3]string]*blamedChannel{}
		for _, r := range rows {
			b := blamedTime{total: number(r[at[5]]), root: number(r[at[6]])}
			for i := range b.parts {
				b.parts[i] = number(r[at[len(names)-int(core.NumParts)+i]])
			}
			switch r[at[1]] {
			case "all":
				p.behind = p.behind || saturated[r[at[0]]]
				p.add(&b, 1/float64(seeds))
			case "channel":
				c := &blamedChannel{from: r[at[2]], to: r[at[3]], class: r[at[4]]}
				name := [3]string{c.from, c.to, c.class}
				if channels[name] == nil {
					channels[name] = c
					p.channels = append(p.channels, c)
				}
				channels[name].add(&b, 1/float64(seeds))
			}
		}
		points = append(points, p)
	}
	slices.SortStableFunc(points, func(a, b blamedPoint) int { return cmp.Compare(order[a.label], order[b.label]) })
	return points
}

// jobBlame shows which jobs slow each other, and at which cables.
type jobBlame struct {
	Picture drawnFigure
	Note    string
	Worst   []worstCable
}

// worstCable is a cable at which a job waits for another.
type worstCable struct{ Job, By, From, To, Slowdown string }

// newJobBlame reads job_blame.csv or, without, the slowdowns of jobs.csv; nil where there is nothing that
// can be drawn. Of several points it shows the one in which a job is slowed most by another.
func newJobBlame(f *engine.Folder) *jobBlame {
	p := figures.NewPlot()
	t := f.Tables["job_blame"]
	if t == nil {
		b := &jobBlame{Note: "The time of each job beside the others, in times that it takes alone. measure.blame = true tells which jobs and cables slow it."}
		p.Title, p.Table, p.Style, p.X, p.Y = "Slowdown of jobs", "jobs", "bar", "job", []string{"slowdown"}
		return b.drawn(f, &p)
	}
	at, err := t.Places([]string{"point", "job", "slowed_by", "from", "to", "slowdown"})
	if err != nil {
		return nil
	}
	slowdown := func(row []string) float64 { return number(row[at[5]]) }
	sums, point := map[[3]string]float64{}, ""
	most := math.Inf(-1)
	for _, row := range t.Rows {
		cell := [3]string{row[at[0]], row[at[1]], row[at[2]]}
		sums[cell] += slowdown(row)
		if sums[cell] > most {
			most, point = sums[cell], row[at[0]]
		}
	}
	b := &jobBlame{Note: "By how much each job (a row) is slowed by each other one (a column), in times that it takes alone."}
	if len(f.File.Points) > 1 {
		for _, p := range f.File.Points {
			if strconv.Itoa(p.Index) == point {
				b.Note += fmt.Sprintf(" The point in which a job is slowed most: %s.", withoutSeed(f.File, p))
			}
		}
	}
	p.Title, p.Table, p.Style, p.X, p.Y, p.Z, p.Aggregate = "Who slows whom", "job_blame", "heat", "slowed_by", []string{"job"}, "slowdown", "sum"
	p.XLabel, p.YLabel, p.ZLabel, p.Where = "slowed by", "job", "slowdown added", map[string]string{"point": point}
	rows := lists.Filter(t.Rows, func(row []string) bool {
		return row[at[0]] == point && row[at[3]] != "" && slowdown(row) > 0
	})
	slices.SortStableFunc(rows, func(a, b []string) int { return cmp.Compare(slowdown(b), slowdown(a)) })
	for _, row := range rows[:min(mostWorst, len(rows))] {
		b.Worst = append(b.Worst, worstCable{row[at[1]], row[at[2]], row[at[3]], row[at[4]], strconv.FormatFloat(slowdown(row), 'f', 3, 64)})
	}
	return b.drawn(f, &p)
}

// drawn is b with its picture; nil if it cannot be drawn.
func (b *jobBlame) drawn(f *engine.Folder, p *figures.PlotConfig) *jobBlame {
	var err error
	if b.Picture, err = drawFigure(f, p); err != nil {
		return nil
	}
	return b
}

// withoutSeed names a point by its swept settings but for the seed, which does
// not make another variant, and for further keys.
func withoutSeed(f *experiments.File, p *experiments.Point, further ...string) string {
	var parts []string
	for i, key := range f.SweptKeys() {
		if key != results.SeedKey && !slices.Contains(further, key) {
			parts = append(parts, key+" = "+p.Swept[i])
		}
	}
	return strings.Join(parts, ", ")
}

// timeline shows what the ranks of a point did, with the critical path drawn over it.
type timeline struct {
	Name            string // of the variant
	Caption         string
	Picture, Narrow template.HTML
	Steps           []pathPart
}

// pathPart is what the critical path has of something, and of a cable.
type pathPart struct{ Job, What, Cable, Time, Share string }

const (
	mostTimelines = 4
	mostRanks     = 32
	mostParts     = 12
)

// activities are what ranks do, and their colours; all else on a path are parts of messages.
var (
	activities      = []string{"compute", "copy", "send", "receive", "relay", "connect", "pause", "wait"}
	activityColours = plot.Scale{
		color.NRGBA{0x21, 0x71, 0xb5, 0xff}, color.NRGBA{0x6b, 0xae, 0xd6, 0xff}, color.NRGBA{0xfd, 0x8d, 0x3c, 0xff}, color.NRGBA{0xfd, 0xd0, 0xa2, 0xff},
		color.NRGBA{0x9e, 0x9a, 0xc8, 0xff}, color.NRGBA{0x67, 0x00, 0x0d, 0xff}, color.NRGBA{0xee, 0xee, 0xee, 0xff}, color.NRGBA{0xd7, 0xdc, 0xe2, 0xff},
	}
)

// rankRow is a row of timeline.csv or critical_path.csv.
type rankRow struct {
	job, rank, what, peer, message, cable string
	start, end                            float64 // us
}

func (r rankRow) label() string { return cmp.Or(r.job, "rank") + " " + r.rank }

func (r rankRow) title() string {
	title := fmt.Sprintf("%s: %s, %.6g us", r.label(), r.what, r.end-r.start)
	if r.message != "" {
		title += ", message " + r.message + ", rank " + r.peer
	}
	if r.cable != "" {
		title += ", " + r.cable
	}
	return title
}

// rankRows reads a table by point; nil where there is none that can be read.
func rankRows(t *results.Table) map[string][]rankRow {
	if t == nil {
		return nil
	}
	at, err := t.Places([]string{"point", "job", "rank", "what", "peer", "message", "start_ns", "end_ns"})
	if err != nil {
		return nil
	}
	cable := slices.Index(t.Columns, "cable")
	all := map[string][]rankRow{}
	for _, cells := range t.Rows {
		r := rankRow{job: cells[at[1]], rank: cells[at[2]], what: cells[at[3]], peer: cells[at[4]], message: cells[at[5]]}
		start, err1 := strconv.ParseFloat(cells[at[6]], 64)
		end, err2 := strconv.ParseFloat(cells[at[7]], 64)
		if err1 != nil || err2 != nil || !(start >= 0 && end >= start && end < 1e30) {
			return nil
		}
		r.start, r.end = start/1000, end/1000
		if cable >= 0 {
			r.cable = cells[cable]
		}
		all[cells[at[0]]] = append(all[cells[at[0]]], r)
	}
	return all
}

// timelines shows the variants that have one; note says what is shown.
func timelines(f *engine.Folder) (list []timeline, note string) {
	rows, paths := rankRows(f.Tables["timeline"]), rankRows(f.Tables["critical_path"])
	has := func(p *experiments.Point) bool { return rows[strconv.Itoa(p.Index)] != nil }
	chosen, note := atMost(f, mostTimelines, has, "timeline.csv",
		"What each rank does, in us; the line is the critical path: the chain of work and messages that led to the end.")
	for _, v := range chosen {
		point := v.highest()
		t := newTimeline(rows[strconv.Itoa(point.Index)], paths[strconv.Itoa(point.Index)])
		t.Name, t.Caption = v.name, describe(f.File, point)+t.Caption
		list = append(list, t)
	}
	return list, note
}

// newTimeline draws a point: the ranks of the path first, where there are too many.
func newTimeline(rows, path []rankRow) (t timeline) {
	ranks := results.Grouped(slices.Concat(path, rows), rankRow.label)
	shown := lists.Set(ranks[:min(mostRanks, len(ranks))], func(of []rankRow) string { return of[0].label() })
	if len(ranks) > mostRanks {
		t.Caption = fmt.Sprintf(". %d of %d ranks, those of the path first", mostRanks, len(ranks))
	}
	d := &plot.Timeline{Parts: activities, Colours: activityColours, Unit: "us"}
	place := map[string]int{}
	for _, of := range results.Grouped(rows, rankRow.label) { // in their own order
		row := plot.TimelineRow{Label: of[0].label()}
		if !shown[row.Label] {
			continue
		}
		for _, r := range of {
			if part := slices.Index(activities, r.what); part >= 0 {
				row.Spans = append(row.Spans, plot.TimelineSpan{Part: part, From: r.start, To: r.end, Title: r.title()})
			}
		}
		place[row.Label] = len(d.Rows)
		d.Rows = append(d.Rows, row)
	}
	d.Path = pathSteps(path, place)
	t.Picture, t.Narrow = embedded(d.Draw(900), "timeline of ranks"), embedded(d.Draw(narrowWidth), "timeline of ranks")
	t.Steps = pathParts(path)
	return t
}

// pathSteps are the lines of a path: along the rows of ranks at work, and from row to row of
// messages, all of whose parts are one line.
func pathSteps(path []rankRow, place map[string]int) (steps []plot.PathStep) {
	for i := 0; i < len(path); i++ {
		r := &path[i]
		to, ok := place[r.label()]
		s := plot.PathStep{FromRow: to, ToRow: to, From: r.start, To: r.end, Title: r.title()}
		if !slices.Contains(activities, r.what) {
			for i+1 < len(path) && path[i+1].job == r.job && path[i+1].rank == r.rank && path[i+1].message == r.message && !slices.Contains(activities, path[i+1].what) {
				i++
			}
			s.To = path[i].end
			sender := *r
			sender.rank = r.peer
			from, known := place[sender.label()]
			s.FromRow, ok = from, ok && known
			s.Title = fmt.Sprintf("message %s to %s: %.6g us", r.message, r.label(), s.To-s.From)
		}
		if ok {
			steps = append(steps, s)
		}
	}
	return steps
}

// pathParts sums a path up, the longest first.
func pathParts(path []rankRow) (parts []pathPart) {
	type key struct{ job, what, cable string }
	sums, whole := map[key]float64{}, map[string]float64{}
	var keys []key
	for i := range path {
		r := &path[i]
		k := key{r.job, r.what, r.cable}
		if _, known := sums[k]; !known {
			keys = append(keys, k)
		}
		sums[k] += r.end - r.start
		whole[r.job] += r.end - r.start
	}
	slices.SortStableFunc(keys, func(a, b key) int { return cmp.Compare(sums[b], sums[a]) })
	for _, k := range keys[:min(mostParts, len(keys))] {
		parts = append(parts, pathPart{k.job, k.what, k.cable, strconv.FormatFloat(sums[k], 'f', 3, 64), percentage(sums[k] / whole[k.job])})
	}
	return parts
}
