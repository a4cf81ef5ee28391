package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
)

//go:embed timelapse.js
var timelapseJS string

// timelapse shows the load of a network's channels, interval by interval: a
// picture that the page's script colours by a slider, and without the script
// and on paper, pictures of some intervals.
type timelapse struct {
	Caption string
	Picture template.HTML // of the mean over the window
	Last    int           // interval, from 0
	Frames  string        // per interval, the colour of each element of the picture as a digit in base 36, in the order of the elements
	Colours string
	Labels  string
	Top     float64
	Small   []still
}

// still is a picture of an interval.
type still struct {
	Label   string
	Picture template.HTML
}

const (
	mostLapses    = 4
	mostStills    = 12
	stillElements = 20_000 // in all stills of a time-lapse
	colourLevels  = 36
)

// timelapses shows the variants of a sweep of which series were recorded, each
// at its highest load; note says what is shown.
func timelapses(f *experiments.Folder) (lapses []timelapse, note string) {
	series := map[int]*experiments.LoadSeries{}
	loads := map[int][]channel{}
	top := 0.0
	for _, p := range f.File.Points {
		s, err := f.Series(p.Index)
		if err != nil {
			return nil, err.Error()
		}
		if s != nil {
			series[p.Index], loads[p.Index] = s, seriesMean(s)
		}
	}
	chosen := variants(f, loads)
	if len(chosen) == 0 {
		return nil, ""
	}
	note = "Flits per cycle of each channel in intervals of the window, counted as they cross the switch; the colours mean the same throughout."
	chosen, more := atMost(f, chosen, mostLapses, "series/")
	note += more
	for _, p := range chosen {
		for i := range series[p.Index].Channels {
			for _, load := range series[p.Index].Channels[i].Flits {
				top = max(top, load)
			}
		}
	}
	for _, p := range chosen {
		lapses = append(lapses, newTimelapse(f.File, p, series[p.Index], loads[p.Index], top))
	}
	return lapses, note
}

// seriesMean is the load of each channel over the whole window.
func seriesMean(s *experiments.LoadSeries) []channel {
	window := float64(s.Ends[len(s.Ends)-1])
	mean := make([]channel, len(s.Channels))
	for i, c := range s.Channels {
		mean[i] = channel{from: c.From, to: c.To}
		begin := int64(0)
		for k, end := range s.Ends {
			mean[i].load += c.Flits[k] * float64(end-begin) / window
			begin = end
		}
	}
	return mean
}

func newTimelapse(file *experiments.File, p *experiments.Point, s *experiments.LoadSeries, mean []channel, top float64) timelapse {
	l := timelapse{Caption: file.Describe(p), Last: len(s.Ends) - 1, Top: top}
	if len(file.SweptKeys()) == 0 {
		l.Caption = "The only point"
	}
	network, err := file.NetworkOf(p)
	if err != nil {
		l.Caption += "; the network cannot be drawn: " + err.Error()
		return l
	}
	whole := &view{graph: network.Topology.Graph(), channels: mean, top: top}
	var how string
	if l.Picture, how = whole.draw(network.Topology); l.Picture != "" {
		l.animate(network, s, whole)
	}
	l.Caption += ". " + how
	return l
}

// animate draws every interval as the whole window was drawn.
func (l *timelapse) animate(network *experiments.Network, s *experiments.LoadSeries, whole *view) {
	elements := len(whole.drawn.loads)
	stills := min(len(s.Ends), mostStills, max(2, stillElements/max(1, elements)))
	var frames, labels []string
	begin := int64(0)
	for k, end := range s.Ends {
		v := &view{graph: whole.graph, channels: make([]channel, len(whole.channels)), order: whole.channels, top: whole.top, plain: true}
		for i, c := range s.Channels {
			v.channels[i] = channel{c.From, c.To, c.Flits[k]}
		}
		picture, _ := v.draw(network.Topology)
		levels := make([]byte, 0, elements)
		for _, load := range v.drawn.loads {
			levels = strconv.AppendInt(levels, int64(math.Round(v.drawn.fraction(load)*(colourLevels-1))), 36)
		}
		frames = append(frames, string(levels))
		labels = append(labels, fmt.Sprintf("cycles %d to %d of the window", begin, end))
		if n := len(l.Small); n < stills && k == n*(len(s.Ends)-1)/max(1, stills-1) {
			l.Small = append(l.Small, still{labels[k], picture})
		}
		begin = end
	}
	l.Frames, l.Labels = strings.Join(frames, " "), strings.Join(labels, "|")
	colours := make([]string, colourLevels)
	for i := range colours {
		colours[i] = whole.drawn.colour(whole.top * float64(i) / (colourLevels - 1))
	}
	l.Colours = strings.Join(colours, " ")
}
