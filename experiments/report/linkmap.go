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
	"github.com/weft-sim/weft/experiments/plot"
	"github.com/weft-sim/weft/fabric/topology"
)

// linkMap shows how much the channels of a network carried: a variant of the sweep
// at its highest load, and by the page's script at each of its loads.
type linkMap struct {
	Variant string // empty: the only one
	Caption string
	Picture template.HTML // empty where the network is too large to draw
	Top     float64
	Frames  string // by load, ascending: the level of each element in two digits of base 36
	Labels  string // of the frames
	Last    int    // the highest load, which the picture shows
	Hottest []hottest
}

// hottest is the hottest channels at one load.
type hottest struct {
	Frame    int
	Shown    bool
	Channels []hot
}

// hot is one of the hottest channels.
type hot struct{ From, To, Load string }

const (
	mostMaps    = 12
	mostHottest = 5
	mostFrames  = 24
	loadLevels  = 36 * 36
)

// linkMaps draws a map for each variant of the sweep; note says what is shown.
func linkMaps(f *experiments.Folder) (maps []linkMap, note string) {
	loads, err := f.ChannelLoads()
	if err != nil {
		return nil, err.Error()
	}
	points := variants(f, func(p *experiments.Point) bool { return loads[p.Index] != nil })
	if len(points) == 0 {
		return nil, ""
	}
	top := 0.0
	for _, v := range points {
		for _, p := range v.points {
			for _, c := range loads[p.Index] {
				top = max(top, c.Load)
			}
		}
	}
	note = "Flits per cycle of each channel in the window, all virtual channels together; the colours mean the same in all pictures of this experiment."
	points, more := atMost(f, points, mostMaps, "links.csv")
	note += more
	for _, v := range points {
		maps = append(maps, newLinkMap(f.File, v, loads, top))
	}
	return maps, note
}

// variant is a combination of the swept keys other than load and seed, with its
// points by load. Seeds are replications: the first stands for all.
type variant struct {
	name   string
	points []*experiments.Point
	loads  []float64 // of the points; nil: no load is swept
}

// highest is the point of the highest load.
func (v *variant) highest() *experiments.Point { return v.points[len(v.points)-1] }

// loadKey is swept along curves.
const loadKey = "traffic.load"

// variants lists the variants of the points that have something to show.
func variants(f *experiments.Folder, has func(*experiments.Point) bool) []*variant {
	keys := f.File.SweptKeys()
	at := slices.Index(keys, loadKey)
	var all []*variant
	place := map[string]*variant{}
	for _, p := range f.File.Points {
		if !has(p) {
			continue
		}
		var parts []string
		for i, cell := range p.Swept {
			if i != at && keys[i] != seedKey {
				parts = append(parts, keys[i]+" = "+cell)
			}
		}
		name := strings.Join(parts, ", ")
		v := place[name]
		if v == nil {
			v = &variant{name: name}
			place[name] = v
			all = append(all, v)
		}
		if at < 0 {
			if len(v.points) == 0 {
				v.points = append(v.points, p)
			}
			continue
		}
		load, err := strconv.ParseFloat(p.Swept[at], 64)
		if err != nil {
			load = 0
		}
		if i, found := slices.BinarySearch(v.loads, load); !found {
			v.loads, v.points = slices.Insert(v.loads, i, load), slices.Insert(v.points, i, p)
		}
	}
	return all
}

// atMost keeps the first of the variants to show and says so; all of them are
// in a file.
func atMost(f *experiments.Folder, chosen []*variant, most int, all string) (kept []*variant, note string) {
	keys := f.File.SweptKeys()
	if slices.Contains(keys, loadKey) {
		note = " Each variant is shown at its highest load."
	}
	if slices.Contains(keys, seedKey) {
		note += " Of several seeds, the first is shown."
	}
	if len(chosen) > most {
		note += fmt.Sprintf(" The first %d of %d variants; %s has them all.", most, len(chosen), all)
		chosen = chosen[:most]
	}
	return chosen, note
}

func newLinkMap(file *experiments.File, v *variant, loads map[int][]experiments.ChannelLoad, top float64) linkMap {
	last := v.highest()
	m := linkMap{Variant: v.name, Caption: describe(file, last), Top: top}
	network, err := file.TopologyOf(last)
	if err != nil {
		m.Caption += "; the network cannot be drawn: " + err.Error()
		m.Hottest = []hottest{{Shown: true, Channels: hottestOf(loads[last.Index])}}
		return m
	}
	order := loads[last.Index]
	picture, how := (&view{network, order, top}).draw(nil, false)
	if picture != nil {
		m.Picture = embedded(&picture.Drawing, networkLabel)
	}
	m.Caption += ". " + how
	m.frames(network, v, loads, order)
	return m
}

// frames draws the variant at each of its loads; of many, those of the highest.
func (m *linkMap) frames(network topology.Topology, v *variant, loads map[int][]experiments.ChannelLoad, order []experiments.ChannelLoad) {
	first := max(0, len(v.points)-mostFrames)
	var frames, labels []string
	for i, p := range v.points[first:] {
		last := first+i == len(v.points)-1
		m.Hottest = append(m.Hottest, hottest{i, last, hottestOf(loads[p.Index])})
		m.Last = i
		if m.Picture == "" {
			continue
		}
		picture, _ := (&view{network, loads[p.Index], m.Top}).draw(order, true)
		frames = append(frames, levels(picture, loadLevels))
		if v.loads != nil {
			labels = append(labels, "load "+strconv.FormatFloat(v.loads[first+i], 'g', -1, 64))
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

// view is a network with the load of its channels, for drawing.
type view struct {
	network topology.Topology
	loads   []experiments.ChannelLoad
	top     float64 // value at the hot end of the scale
}

// draw lays the network out by its family so that one sees the hot spot; how
// explains the picture. The elements of pictures with the same order are the same.
func (v *view) draw(order []experiments.ChannelLoad, plain bool) (picture *plot.NetworkPicture, how string) {
	g := v.network.Graph()
	if n := g.NumPorts() + g.Terminals(); len(v.loads) != n {
		return nil, "The channels that were recorded are not those of the network: not drawn."
	}
	m := &plot.Network{Topology: v.network, Loads: numbers(v.loads), Order: numbers(order), Top: v.top, Plain: plain, Most: mostDrawn}
	if g.Switches() > mostRings {
		if picture, how, ok := m.Matrix(); ok {
			return picture, how
		}
	}
	return m.Draw()
}

func numbers(loads []experiments.ChannelLoad) []float64 {
	if loads == nil {
		return nil
	}
	all := make([]float64, len(loads))
	for i, c := range loads {
		all[i] = c.Load
	}
	return all
}

// levels writes how far up the scale every element of a picture is: one digit of
// base 36 for 36 levels, two for 36 times as many.
func levels(p *plot.NetworkPicture, n int) string {
	var all []byte
	for _, heat := range p.Heats {
		level := int64(math.Round(heat * float64(n-1)))
		if n > 36 {
			all = strconv.AppendInt(all, level/36, 36)
		}
		all = strconv.AppendInt(all, level%36, 36)
	}
	return string(all)
}

// describe names a point.
func describe(file *experiments.File, p *experiments.Point) string {
	if len(file.SweptKeys()) == 0 {
		return "The only point"
	}
	return file.Describe(p)
}

// hottestOf lists the channels of the highest loads.
func hottestOf(channels []experiments.ChannelLoad) []hot {
	var list []hot
	sorted := slices.Clone(channels)
	slices.SortStableFunc(sorted, func(a, b experiments.ChannelLoad) int { return cmp.Compare(b.Load, a.Load) })
	for _, c := range sorted[:min(mostHottest, len(sorted))] {
		list = append(list, hot{c.From, c.To, strconv.FormatFloat(c.Load, 'f', 3, 64)})
	}
	return list
}
