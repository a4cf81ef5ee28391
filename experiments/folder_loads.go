package experiments

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// ChannelLoad is what a channel of a network carried in the window of a point, on
// all virtual channels together.
type ChannelLoad struct {
	From, To string
	Load     float64 // flits per cycle
}

// ChannelLoads reads links.csv: the loads of the channels by the index of the
// point, channels out of switch ports first, in port order, then those out of
// terminals. nil where the run did not record them. The error is a *FolderError.
func (f *Folder) ChannelLoads() (map[int][]ChannelLoad, error) {
	t := f.Tables["links"]
	if t == nil || len(t.Rows) == 0 {
		return nil, nil
	}
	loads, err := channelLoads(t)
	if err != nil {
		return nil, &FolderError{f.Dir, "links.csv: " + err.Error()}
	}
	return loads, nil
}

// channelLoads adds up the virtual channels of each channel.
func channelLoads(t *Table) (map[int][]ChannelLoad, error) {
	var at [4]int
	for i, name := range []string{"point", "from", "to", "flits_per_cycle"} {
		var err error
		if at[i], err = t.Column(name); err != nil {
			return nil, err
		}
	}
	loads := map[int][]ChannelLoad{}
	for _, r := range t.Rows {
		point, err := strconv.Atoi(r[at[0]])
		if err != nil {
			return nil, fmt.Errorf("point %q: want a number", r[at[0]])
		}
		load, err := strconv.ParseFloat(r[at[3]], 64)
		if err != nil {
			return nil, fmt.Errorf("flits_per_cycle %q: want a number", r[at[3]])
		}
		list := loads[point]
		if n := len(list); n > 0 && list[n-1].From == r[at[1]] && list[n-1].To == r[at[2]] {
			list[n-1].Load += load
			continue
		}
		loads[point] = append(list, ChannelLoad{r[at[1]], r[at[2]], load})
	}
	return loads, nil
}

// Hottest finds the channel that carried the most of all points, the first of several,
// in the table links of a run. ok is false where there is none.
func Hottest(links *Table) (point int, channel ChannelLoad, ok bool) {
	loads, err := channelLoads(links)
	if err != nil {
		return 0, ChannelLoad{}, false
	}
	for _, p := range slices.Sorted(maps.Keys(loads)) {
		for _, c := range loads[p] {
			if !ok || c.Load > channel.Load {
				point, channel, ok = p, c, true
			}
		}
	}
	return point, channel, ok
}
