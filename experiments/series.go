package experiments

import (
	"fmt"
	"strconv"
	"strings"
)

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

// Series reads the load of the channels of a point over time; nil if the run
// did not record it. The error is a *FolderError.
func (f *Folder) Series(point int) (*LoadSeries, error) {
	name := fmt.Sprintf("%s/%d.csv", SeriesFolder, point)
	if !f.Manifest.has(name) {
		return nil, nil
	}
	t, err := readFolderTable(f.Dir, name)
	if err != nil {
		return nil, err
	}
	s, err := parseSeries(t)
	if err != nil {
		return nil, &FolderError{f.Dir, name + ": " + err.Error()}
	}
	return s, nil
}

// parseSeries reads a file of [SeriesFolder].
func parseSeries(t *Table) (*LoadSeries, error) {
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
