package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strconv"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/topology"
)

// linkMap shows how much the channels of a network carried at one point.
type linkMap struct {
	Caption string
	Picture template.HTML // empty where the network is too large to draw
	Hottest []hot
}

// hot is one of the hottest channels.
type hot struct{ From, To, Load string }

const (
	mostMaps    = 12
	mostHottest = 5
)

// linkMaps draws a map for each variant of the sweep at its highest load; note
// says what is shown.
func linkMaps(f *experiments.Folder) (maps []linkMap, note string) {
	t := f.Tables["links"]
	if t == nil || len(t.Rows) == 0 {
		return nil, ""
	}
	loads, err := channelLoads(t)
	if err != nil {
		return nil, ""
	}
	top := 0.0
	chosen := variants(f, loads)
	for _, p := range chosen {
		for _, c := range loads[p.Index] {
			top = max(top, c.load)
		}
	}
	note = "Flits per cycle of each channel in the window, all virtual channels together; the colours mean the same in all pictures of this experiment."
	chosen, more := atMost(f, chosen, mostMaps, "links.csv")
	note += more
	for _, p := range chosen {
		maps = append(maps, newLinkMap(f.File, p, loads[p.Index], top))
	}
	return maps, note
}

// atMost keeps the first of the variants to show and says so; all of them are
// in a file.
func atMost(f *experiments.Folder, chosen []*experiments.Point, most int, all string) (kept []*experiments.Point, note string) {
	keys := f.File.SweptKeys()
	if keys != nil {
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

// channel is a row of links.csv without the virtual channels.
type channel struct {
	from, to string
	load     float64 // flits per cycle
}

// channelLoads adds up the virtual channels of each channel, by point, in the
// order of the table: channels out of switch ports, then out of terminals.
func channelLoads(t *experiments.Table) (map[int][]channel, error) {
	var at [4]int
	for i, name := range []string{"point", "from", "to", "flits_per_cycle"} {
		var err error
		if at[i], err = t.Column(name); err != nil {
			return nil, err
		}
	}
	loads := map[int][]channel{}
	for _, r := range t.Rows {
		point, err := strconv.Atoi(r[at[0]])
		if err != nil {
			return nil, fmt.Errorf("links: point %q: %w", r[at[0]], err)
		}
		load, err := strconv.ParseFloat(r[at[3]], 64)
		if err != nil {
			return nil, fmt.Errorf("links: flits_per_cycle %q: %w", r[at[3]], err)
		}
		list := loads[point]
		if n := len(list); n > 0 && list[n-1].from == r[at[1]] && list[n-1].to == r[at[2]] {
			list[n-1].load += load
			continue
		}
		loads[point] = append(list, channel{r[at[1]], r[at[2]], load})
	}
	return loads, nil
}

// variants lists the points to show: those with links, of each combination of
// the swept keys other than the load the one with the highest load. Seeds are
// replications: the first stands for all.
func variants(f *experiments.Folder, loads map[int][]channel) []*experiments.Point {
	at, seed := slices.Index(f.File.SweptKeys(), "traffic.load"), slices.Index(f.File.SweptKeys(), seedKey)
	load := func(p *experiments.Point) float64 {
		x, err := strconv.ParseFloat(p.Swept[at], 64)
		if err != nil {
			return 0
		}
		return x
	}
	var chosen []*experiments.Point
	place := map[string]int{}
	for _, p := range f.File.Points {
		if loads[p.Index] == nil {
			continue
		}
		name := ""
		for i, cell := range p.Swept {
			if i != at && i != seed {
				name += cell + "\x00"
			}
		}
		i, known := place[name]
		switch {
		case !known:
			place[name] = len(chosen)
			chosen = append(chosen, p)
		case at >= 0 && load(p) > load(chosen[i]):
			chosen[i] = p
		}
	}
	return chosen
}

func newLinkMap(file *experiments.File, p *experiments.Point, channels []channel, top float64) linkMap {
	m := linkMap{Caption: file.Describe(p)}
	if len(file.SweptKeys()) == 0 {
		m.Caption = "The only point"
	}
	hottest := slices.Clone(channels)
	slices.SortStableFunc(hottest, func(a, b channel) int { return cmp.Compare(b.load, a.load) })
	for _, c := range hottest[:min(mostHottest, len(hottest))] {
		m.Hottest = append(m.Hottest, hot{c.from, c.to, strconv.FormatFloat(c.load, 'f', 3, 64)})
	}
	network, err := file.NetworkOf(p)
	if err != nil {
		m.Caption += "; the network cannot be drawn: " + err.Error()
		return m
	}
	v := &view{graph: network.Topology.Graph(), channels: channels, top: top}
	picture, how := v.draw(network.Topology)
	m.Picture = picture
	m.Caption += ". " + how
	return m
}

// view is a network with the load of its channels, for drawing.
type view struct {
	graph    *topology.Graph
	channels []channel
	order    []channel // by whose load the links are drawn, coldest first; nil: channels
	top      float64   // value at the hot end of the scale
	plain    bool      // without names and scale
	drawn    *canvas   // what was drawn last
}

func (v *view) canvas() *canvas {
	v.drawn = &canvas{top: v.top, plain: v.plain}
	return v.drawn
}

// out is the load of the channel out of a switch port.
func (v *view) out(p topology.PortID) float64 { return v.channels[p].load }

// atTerminals is the largest load among the channels between a switch and its
// terminals.
func (v *view) atTerminals(s topology.SwitchID) float64 {
	hottest := 0.0
	first, end := v.graph.Ports(s)
	for p := first; p < end; p++ {
		if t, ok := v.graph.PeerTerminal(p); ok {
			hottest = max(hottest, v.out(p), v.channels[v.graph.NumPorts()+int(t)].load)
		}
	}
	return hottest
}

// link is what leads from one switch to another: of parallel channels, the
// hottest.
type link struct {
	from, to   topology.SwitchID
	load, rank float64
}

// links lists the directed links between switches, coldest first so that hot
// ones are drawn on top.
func (v *view) links() []link {
	order := v.order
	if order == nil {
		order = v.channels
	}
	var all []link
	at := map[[2]topology.SwitchID]int{}
	g := v.graph
	for p := topology.PortID(0); int(p) < g.NumPorts(); p++ {
		peer, ok := g.PeerPort(p)
		if !ok {
			continue
		}
		ends := [2]topology.SwitchID{g.PortSwitch[p], g.PortSwitch[peer]}
		i, known := at[ends]
		if !known {
			i = len(all)
			at[ends] = i
			all = append(all, link{ends[0], ends[1], 0, 0})
		}
		all[i].load = max(all[i].load, v.out(p))
		all[i].rank = max(all[i].rank, order[p].load)
	}
	slices.SortStableFunc(all, func(a, b link) int { return cmp.Compare(a.rank, b.rank) })
	return all
}

// mostDrawn bounds the links of a picture and the groups of a matrix.
const (
	mostDrawn  = 6000
	mostGroups = 256
)

// draw lays the network out by its family so that one sees the hot spot; how
// explains the picture.
func (v *view) draw(t topology.Topology) (picture template.HTML, how string) {
	if n := v.graph.NumPorts() + v.graph.Terminals(); len(v.channels) != n {
		return "", fmt.Sprintf("%d channels of this point were recorded, the network has %d: not drawn.", len(v.channels), n)
	}
	if grouped, ok := t.(topology.Grouped); ok && grouped.Groups() <= mostGroups {
		return v.matrix(grouped), "From the group of the row to that of the column, the hottest channel; on the diagonal, channels within the group."
	}
	links := v.links()
	if len(links) > mostDrawn {
		return "", "Too large to draw."
	}
	switch t := t.(type) {
	case topology.Grid:
		how = "Switches at their coordinates; of two lines between neighbours the right-hand one in the direction of travel. Squares: channels to and from terminals."
		if len(t.Dims()) > 2 {
			how = "The planes of the first two dimensions; of two lines between neighbours the right-hand one in the direction of travel. Squares: the hottest channel to a terminal, from one, or to another plane."
		}
		return v.grid(t, links), how
	case topology.Tree:
		return v.tree(t, links), "Leaf switches at the bottom, roots at the top; of two lines the right-hand one in the direction of travel. Squares: channels to and from terminals."
	}
	return v.circle(links), "Switches in a circle by number; of two lines the right-hand one in the direction of travel. Squares: channels to and from terminals."
}
