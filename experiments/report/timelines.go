package report

import (
	"cmp"
	"fmt"
	"html/template"
	"image/color"
	"slices"
	"strconv"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/plot"
)

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

func (r *rankRow) label() string { return cmp.Or(r.job, "rank") + " " + r.rank }

func (r *rankRow) title() string {
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
func rankRows(t *experiments.Table) map[string][]rankRow {
	if t == nil {
		return nil
	}
	at := columns(t, "point", "job", "rank", "what", "peer", "message", "start_ns", "end_ns")
	if at == nil {
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
func timelines(f *experiments.Folder) (list []timeline, note string) {
	rows, paths := rankRows(f.Tables["timeline"]), rankRows(f.Tables["critical_path"])
	chosen := variants(f, func(p *experiments.Point) bool { return rows[strconv.Itoa(p.Index)] != nil })
	if len(chosen) == 0 {
		return nil, ""
	}
	note = "What each rank does, in us; the line is the critical path: the chain of work and messages that led to the end."
	chosen, more := atMost(f, chosen, mostTimelines, "timeline.csv")
	for _, v := range chosen {
		point := v.highest()
		t := newTimeline(rows[strconv.Itoa(point.Index)], paths[strconv.Itoa(point.Index)])
		t.Name, t.Caption = v.name, describe(f.File, point)+t.Caption
		list = append(list, t)
	}
	return list, note + more
}

// newTimeline draws a point: the ranks of the path first, where there are too many.
func newTimeline(rows, path []rankRow) (t timeline) {
	ranks := map[string]int{} // by label, in the order in which they are shown
	for _, list := range [][]rankRow{path, rows} {
		for i := range list {
			if _, known := ranks[list[i].label()]; !known {
				ranks[list[i].label()] = len(ranks)
			}
		}
	}
	if len(ranks) > mostRanks {
		t.Caption = fmt.Sprintf(". %d of %d ranks, those of the path first", mostRanks, len(ranks))
	}
	d := &plot.Timeline{Parts: activities, Colours: activityColours, Unit: "us"}
	place := map[string]int{}
	for i := range rows { // in their own order
		r := &rows[i]
		if ranks[r.label()] >= mostRanks {
			continue
		}
		at, ok := place[r.label()]
		if !ok {
			at = len(d.Rows)
			place[r.label()] = at
			d.Rows = append(d.Rows, plot.TimelineRow{Label: r.label()})
		}
		if part := slices.Index(activities, r.what); part >= 0 {
			d.Rows[at].Spans = append(d.Rows[at].Spans, plot.TimelineSpan{Part: part, From: r.start, To: r.end, Title: r.title()})
		}
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
