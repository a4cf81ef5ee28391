package report

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/topology"
)

// drawnFigure is a figure as plot draws it, and for the width of a telephone.
type drawnFigure struct {
	Wide, Narrow template.HTML
	Panels       bool
	Files        []file
}

func drawFigure(f *engine.Folder, p *figures.PlotConfig) (drawnFigure, error) {
	source, err := f.PlotSource(p)
	if err != nil {
		return drawnFigure{}, err
	}
	wide, narrow, err := p.PagePictures(source)
	if err != nil {
		return drawnFigure{}, err
	}
	label := p.Title + ": " + strings.Join(p.Y, ", ") + " over " + p.X
	return drawnFigure{Wide: svgElement(wide, label), Narrow: svgElement(narrow, label), Panels: p.Panels != ""}, nil
}

// svgElement is a picture as an element of a page, with a label for readers that do not see it.
func svgElement(picture []byte, label string) template.HTML {
	_, rest, found := strings.Cut(string(picture), "<svg ")
	if !found {
		panic("report: a picture that is not SVG")
	}
	return template.HTML(`<svg role="img" aria-label="` + template.HTMLEscapeString(label) + `" ` + rest)
}

// embedded is a drawing as an element of a page.
func embedded(d *plot.Drawing, label string) template.HTML {
	picture, err := d.Render("svg")
	if err != nil {
		panic("report: " + err.Error()) // of another format only
	}
	return svgElement(picture, label)
}

// networkFigure shows the load of a network's channels: a picture that the page's script
// colours by the frame that a slider chooses and, without the script and on paper, stills.
type networkFigure struct {
	Name    string // of the variant; empty: the only one
	Caption string
	Picture template.HTML // empty where the network is too large to draw
	Top     float64       // load at the hot end of the scale
	Digits  int           // of base 36 for the level of an element
	Frames  string        // the levels of the elements of the picture, in their order
	Labels  string        // of the frames; empty: there is one
	Last    int           // frame
	Hottest []hottest     // per frame
	Stills  []still
	stills  int // at most so many
}

// frame is the loads of one time or load.
type frame struct {
	label string
	loads []float64 // of the channels
}

// still is the picture of a frame.
type still struct {
	Label   string
	Picture template.HTML
}

// Bounds of what a page shows.
const (
	mostMaps      = 12
	mostHottest   = 5
	mostFrames    = 24 // loads of a map
	mostLapses    = 4
	mostStills    = 12
	stillElements = 20_000 // in all stills of a figure
)

// draw draws the network of a point with some loads, and every frame as that was drawn.
func (m *networkFigure) draw(file *experiments.File, p *experiments.Point, shown []float64, all []frame) {
	m.Caption, m.Last = describe(file, p), len(all)-1
	network, err := file.TopologyOf(p)
	if err != nil {
		m.Caption += "; the network cannot be drawn: " + err.Error()
		return
	}
	picture, how := drawNetwork(network, shown, nil, m.Top, false)
	m.Caption += ". " + how
	if picture == nil {
		return
	}
	m.Picture = embedded(&picture.Drawing, networkLabel)
	stills := min(len(all), m.stills, max(2, stillElements/max(1, len(picture.Heats))))
	var frames, labels []string
	for k, one := range all {
		picture, how := drawNetwork(network, one.loads, shown, m.Top, true)
		if picture == nil {
			m.Caption += " " + how
			return
		}
		var frame strings.Builder // how far up the scale every element is, in one or two digits
		for _, heat := range picture.Heats {
			level := strconv.FormatInt(int64(math.Round(heat*(math.Pow(36, float64(m.Digits))-1))), 36)
			frame.WriteString(strings.Repeat("0", m.Digits-len(level)) + level)
		}
		frames, labels = append(frames, frame.String()), append(labels, one.label)
		if n := len(m.Stills); n < stills && k == n*m.Last/max(1, stills-1) {
			m.Stills = append(m.Stills, still{one.label, embedded(&picture.Drawing, networkLabel)})
		}
	}
	m.Frames, m.Labels = strings.Join(frames, " "), strings.Join(labels, "|")
}

// networkLabel is for readers that do not see the picture.
const networkLabel = "the network and the load of its links"

// mostDrawn bounds the links of a picture, mostRings the switches of one that shows
// them in groups: of larger networks the page has a matrix of groups.
const (
	mostDrawn = 6000
	mostRings = 120
)

// drawNetwork lays a network out by its family so that one sees the hot spot; how
// explains the picture. The elements of pictures with the same order are the same.
func drawNetwork(network topology.Topology, loads, order []float64, top float64, plain bool) (picture *plot.NetworkPicture, how string) {
	g := network.Graph()
	if n := g.NumPorts() + g.Terminals(); len(loads) != n {
		return nil, "The channels that were recorded are not those of the network: not drawn."
	}
	m := &plot.Network{Topology: network, Loads: loads, Order: order, Top: top, Plain: plain, Most: mostDrawn}
	if g.Switches() > mostRings {
		if picture, how, ok := m.Matrix(); ok {
			return picture, how
		}
	}
	return m.Draw()
}

// variant is a combination of the swept keys other than load and seed, with its
// points by load. Seeds are replications: the first stands for all.
type variant struct {
	name   string
	points []*experiments.Point
	loads  []float64 // of the points; nil: no load is swept
}

func (v *variant) highest() *experiments.Point { return v.points[len(v.points)-1] }

// variants lists the variants of the points that have something to show.
func variants(f *engine.Folder, has func(*experiments.Point) bool) []*variant {
	at := slices.Index(f.File.SweptKeys(), results.LoadKey)
	name := func(p *experiments.Point) string { return withoutSeed(f.File, p, results.LoadKey) }
	shown := slices.DeleteFunc(slices.Clone(f.File.Points), func(p *experiments.Point) bool { return !has(p) })
	var all []*variant
	for _, points := range results.Grouped(shown, name) {
		v := &variant{name: name(points[0]), points: points[:1]}
		if at >= 0 {
			v.points = nil
			for _, p := range points {
				load := number(p.Swept[at])
				if i, found := slices.BinarySearch(v.loads, load); !found {
					v.loads, v.points = slices.Insert(v.loads, i, load), slices.Insert(v.points, i, p)
				}
			}
		}
		all = append(all, v)
	}
	return all
}

// atMost lists the first of the variants that have something to show, and says so behind a note;
// all of them are in a file. The note is empty if there are none.
func atMost(f *engine.Folder, most int, has func(*experiments.Point) bool, all, note string) ([]*variant, string) {
	chosen := variants(f, has)
	if len(chosen) == 0 {
		return nil, ""
	}
	keys := f.File.SweptKeys()
	if slices.Contains(keys, results.LoadKey) {
		note += " Each variant is shown at its highest load."
	}
	if slices.Contains(keys, results.SeedKey) {
		note += " Of several seeds, the first is shown."
	}
	if len(chosen) > most {
		note += fmt.Sprintf(" The first %d of %d variants; %s has them all.", most, len(chosen), all)
		chosen = chosen[:most]
	}
	return chosen, note
}

func describe(file *experiments.File, p *experiments.Point) string {
	if len(file.SweptKeys()) == 0 {
		return "The only point"
	}
	return file.Describe(p)
}

// hottest is the hottest channels in a frame.
type hottest struct {
	Frame    int
	Shown    bool
	Channels []hot
}

// hot is one of the hottest channels.
type hot struct{ From, To, Load string }

// linkMaps draws a map for each variant of the sweep; note says what is shown.
func linkMaps(f *engine.Folder) (maps []networkFigure, note string) {
	loads, err := f.ChannelLoads()
	if err != nil {
		return nil, err.Error()
	}
	has := func(p *experiments.Point) bool { return loads[p.Index] != nil }
	top := 0.0
	for _, v := range variants(f, has) {
		for _, p := range v.points {
			for _, c := range loads[p.Index] {
				top = max(top, c.Load)
			}
		}
	}
	points, note := atMost(f, mostMaps, has, "links.csv",
		"Flits per cycle of each channel in the window, all virtual channels together; the colours mean the same in all pictures of this experiment.")
	for _, v := range points {
		maps = append(maps, newLinkMap(f.File, v, loads, top))
	}
	return maps, note
}

// newLinkMap shows how much the channels of a network carried: a variant of the sweep at
// its highest load and, by the page's script, at each of its loads; of many, the highest.
func newLinkMap(file *experiments.File, v *variant, loads map[int][]results.ChannelLoad, top float64) networkFigure {
	m := networkFigure{Name: v.name, Top: top, Digits: 2}
	first := max(0, len(v.points)-mostFrames)
	var frames []frame
	for i, p := range v.points[first:] {
		var one frame
		for _, c := range loads[p.Index] {
			one.loads = append(one.loads, c.Load)
		}
		if v.loads != nil {
			one.label = "load " + strconv.FormatFloat(v.loads[first+i], 'g', -1, 64)
		}
		frames = append(frames, one)
		m.Hottest = append(m.Hottest, hottest{i, p == v.highest(), hottestOf(loads[p.Index])})
	}
	m.draw(file, v.highest(), frames[len(frames)-1].loads, frames)
	return m
}

// hottestOf lists the channels of the highest loads.
func hottestOf(channels []results.ChannelLoad) []hot {
	var list []hot
	sorted := slices.Clone(channels)
	slices.SortStableFunc(sorted, func(a, b results.ChannelLoad) int { return cmp.Compare(b.Load, a.Load) })
	for _, c := range sorted[:min(mostHottest, len(sorted))] {
		list = append(list, hot{c.From, c.To, strconv.FormatFloat(c.Load, 'f', 3, 64)})
	}
	return list
}

// timelapses shows the variants of a sweep of which series were recorded, each
// at its highest load; note says what is shown.
func timelapses(f *engine.Folder) (lapses []networkFigure, note string) {
	series := map[int]*results.LoadSeries{}
	for _, p := range f.File.Points {
		s, err := f.Series(p.Index)
		if err != nil {
			return nil, err.Error()
		}
		if s != nil {
			series[p.Index] = s
		}
	}
	has := func(p *experiments.Point) bool { return series[p.Index] != nil }
	chosen, note := atMost(f, mostLapses, has, "series/",
		"Flits per cycle of each channel in intervals of the window, counted as they cross the switch; the colours mean the same throughout.")
	top := 0.0
	for _, v := range chosen {
		for _, c := range series[v.highest().Index].Channels {
			for _, load := range c.Flits {
				top = max(top, load)
			}
		}
	}
	for _, v := range chosen {
		lapses = append(lapses, newTimelapse(f.File, v, series[v.highest().Index], top))
	}
	return lapses, note
}

// seriesMean is the load of each channel over the whole window.
func seriesMean(s *results.LoadSeries) []float64 {
	window := float64(s.Ends[len(s.Ends)-1])
	mean := make([]float64, len(s.Channels))
	for i, c := range s.Channels {
		begin := int64(0)
		for k, end := range s.Ends {
			mean[i] += c.Flits[k] * float64(end-begin) / window
			begin = end
		}
	}
	return mean
}

// newTimelapse shows the load of the channels of a variant at its highest load, interval by
// interval.
func newTimelapse(file *experiments.File, v *variant, s *results.LoadSeries, top float64) networkFigure {
	l := networkFigure{Name: v.name, Top: top, Digits: 1, stills: mostStills}
	var frames []frame
	begin := int64(0)
	for k, end := range s.Ends {
		one := frame{label: fmt.Sprintf("cycles %d to %d of the window", begin, end)}
		for _, c := range s.Channels {
			one.loads = append(one.loads, c.Flits[k])
		}
		frames = append(frames, one)
		begin = end
	}
	l.draw(file, v.highest(), seriesMean(s), frames)
	return l
}
