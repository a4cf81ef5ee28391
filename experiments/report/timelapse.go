package report

import (
	"fmt"
	"html/template"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/topology"
)

// timelapse shows the load of a network's channels, interval by interval: a
// picture that the page's script colours by a slider, and without the script
// and on paper, pictures of some intervals.
type timelapse struct {
	Name    string // of the variant
	Caption string
	Picture template.HTML // of the mean over the window
	Last    int           // interval, from 0
	Frames  string        // per interval, the colour of each element of the picture as a digit in base 36, in the order of the elements
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
	for _, p := range f.File.Points {
		s, err := f.Series(p.Index)
		if err != nil {
			return nil, err.Error()
		}
		if s != nil {
			series[p.Index] = s
		}
	}
	chosen := variants(f, func(p *experiments.Point) bool { return series[p.Index] != nil })
	if len(chosen) == 0 {
		return nil, ""
	}
	note = "Flits per cycle of each channel in intervals of the window, counted as they cross the switch; the colours mean the same throughout."
	chosen, more := atMost(f, chosen, mostLapses, "series/")
	note += more
	top := 0.0
	for _, v := range chosen {
		for _, c := range series[v.highest().Index].Channels {
			for _, load := range c.Flits {
				top = max(top, load)
			}
		}
	}
	for _, v := range chosen {
		p := v.highest()
		lapse := newTimelapse(f.File, p, series[p.Index], top)
		lapse.Name = v.name
		lapses = append(lapses, lapse)
	}
	return lapses, note
}

// seriesMean is the load of each channel over the whole window.
func seriesMean(s *experiments.LoadSeries) []experiments.ChannelLoad {
	window := float64(s.Ends[len(s.Ends)-1])
	mean := make([]experiments.ChannelLoad, len(s.Channels))
	for i, c := range s.Channels {
		mean[i] = experiments.ChannelLoad{From: c.From, To: c.To}
		begin := int64(0)
		for k, end := range s.Ends {
			mean[i].Load += c.Flits[k] * float64(end-begin) / window
			begin = end
		}
	}
	return mean
}

func newTimelapse(file *experiments.File, p *experiments.Point, s *experiments.LoadSeries, top float64) timelapse {
	l := timelapse{Caption: describe(file, p), Last: len(s.Ends) - 1, Top: top}
	network, err := file.TopologyOf(p)
	if err != nil {
		l.Caption += "; the network cannot be drawn: " + err.Error()
		return l
	}
	mean := seriesMean(s)
	whole, how := (&view{network, mean, top}).draw(nil, false)
	if whole != nil {
		l.Picture = embedded(&whole.Drawing, networkLabel)
		l.animate(network, s, mean)
	}
	l.Caption += ". " + how
	return l
}

// animate draws every interval as the whole window was drawn.
func (l *timelapse) animate(network topology.Topology, s *experiments.LoadSeries, mean []experiments.ChannelLoad) {
	var frames, labels []string
	stills := 0
	begin := int64(0)
	for k, end := range s.Ends {
		loads := make([]experiments.ChannelLoad, len(s.Channels))
		for i, c := range s.Channels {
			loads[i] = experiments.ChannelLoad{From: c.From, To: c.To, Load: c.Flits[k]}
		}
		picture, _ := (&view{network, loads, l.Top}).draw(mean, true)
		if k == 0 {
			stills = min(len(s.Ends), mostStills, max(2, stillElements/max(1, len(picture.Heats))))
		}
		frames = append(frames, levels(picture, colourLevels))
		labels = append(labels, fmt.Sprintf("cycles %d to %d of the window", begin, end))
		if n := len(l.Small); n < stills && k == n*(len(s.Ends)-1)/max(1, stills-1) {
			l.Small = append(l.Small, still{labels[k], embedded(&picture.Drawing, networkLabel)})
		}
		begin = end
	}
	l.Frames, l.Labels = strings.Join(frames, " "), strings.Join(labels, "|")
}
