package results

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// ChannelLoad is what a channel of a network carried in the window of a point, on
// all virtual channels together.
type ChannelLoad struct {
	From, To string
	Load     float64 // share of what it can carry; of tables without that, flits per cycle
	Between  bool    // it joins two switches
}

// LinksName is the table of what channels have carried.
const LinksName = "links"

// ChannelLoads reads links.csv: the loads of the channels by the index of the point, channels
// out of switch ports first, in port order, then those out of terminals. The virtual channels
// of each are added up.
func ChannelLoads(t *Table) (map[int][]ChannelLoad, error) {
	load, unit, between := "percent", 100.0, slices.Index(t.Columns, "between_switches")
	if !slices.Contains(t.Columns, load) { // of an earlier weft
		load, unit = "flits_per_cycle", 1
	}
	at, err := t.Places([]string{"point", "from", "to", load})
	if err != nil {
		return nil, err
	}
	loads := map[int][]ChannelLoad{}
	for _, r := range t.Rows {
		point, err := strconv.Atoi(r[at[0]])
		if err != nil {
			return nil, fmt.Errorf("point %q: want a number", r[at[0]])
		}
		carried, err := strconv.ParseFloat(r[at[3]], 64)
		if err != nil {
			return nil, fmt.Errorf("%s %q: want a number", load, r[at[3]])
		}
		carried /= unit
		list := loads[point]
		if n := len(list); n > 0 && list[n-1].From == r[at[1]] && list[n-1].To == r[at[2]] {
			list[n-1].Load += carried
			continue
		}
		loads[point] = append(list, ChannelLoad{r[at[1]], r[at[2]], carried, between >= 0 && r[between] == "true"})
	}
	return loads, nil
}

// Hottest finds the channel that carried the most of all points, or of those between switches,
// the first of several, in the table links of a run. ok is false where there is none.
func Hottest(links *Table, between bool) (point int, channel ChannelLoad, ok bool) {
	loads, err := ChannelLoads(links)
	if err != nil {
		return 0, ChannelLoad{}, false
	}
	for _, p := range slices.Sorted(maps.Keys(loads)) {
		for _, c := range loads[p] {
			if (c.Between || !between) && (!ok || c.Load > channel.Load) {
				point, channel, ok = p, c, true
			}
		}
	}
	return point, channel, ok
}

// SeriesFolder holds a file for each point of what every channel carried in the
// intervals of the window: one row a channel, in the order of links.csv, with its ends
// and class, and one column an interval, FROM-TO in cycles, of flits.
const SeriesFolder = "series"

// LoadSeries is the load of the channels of a point over its window.
type LoadSeries struct {
	Ends     []int64 // of the intervals, in cycles from the start of the window
	Channels []ChannelSeries
}

// ChannelSeries is a channel's load in each interval.
type ChannelSeries struct {
	From, To string
	Flits    []float64 // per cycle
}

// ParseSeries reads a file of [SeriesFolder].
func ParseSeries(t *Table) (*LoadSeries, error) {
	const lead = 3
	s := &LoadSeries{}
	if len(t.Columns) <= lead {
		return nil, fmt.Errorf("%d columns; want from, to, class, and the intervals", len(t.Columns))
	}
	begin := int64(0)
	for _, name := range t.Columns[lead:] {
		from, to, _ := strings.Cut(name, "-")
		first, err := strconv.ParseInt(from, 10, 64)
		end, err2 := strconv.ParseInt(to, 10, 64)
		if err != nil || err2 != nil || first != begin || end <= begin {
			return nil, fmt.Errorf("column %q: want an interval that begins at %d", name, begin)
		}
		s.Ends = append(s.Ends, end)
		begin = end
	}
	for _, row := range t.Rows {
		c := ChannelSeries{From: row[0], To: row[1], Flits: make([]float64, len(s.Ends))}
		begin := int64(0)
		for i, end := range s.Ends {
			n, err := strconv.ParseUint(row[lead+i], 10, 32)
			if err != nil {
				return nil, fmt.Errorf("%q flits from %s to %s", row[lead+i], c.From, c.To)
			}
			c.Flits[i] = float64(n) / float64(end-begin)
			begin = end
		}
		s.Channels = append(s.Channels, c)
	}
	return s, nil
}
