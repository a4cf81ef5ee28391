package network

import (
	"fmt"

	"github.com/weft-sim/weft/experiments"
)

// OfFolder is the network of a point, with the load of its channels where the run
// recorded that. point < 0 chooses among the points with loads that which carried
// the most, or else the first of all. The error is a *experiments.FolderError.
func OfFolder(f *experiments.Folder, point int) (*Network, error) {
	loads, err := f.ChannelLoads()
	if err != nil {
		return nil, err
	}
	if point < 0 {
		point = f.File.Points[0].Index
		most := -1.0
		for _, p := range f.File.Points {
			sum := 0.0
			for _, c := range loads[p.Index] {
				sum += c.Load
			}
			if loads[p.Index] != nil && sum > most {
				point, most = p.Index, sum
			}
		}
	}
	for _, p := range f.File.Points {
		if p.Index != point {
			continue
		}
		n, err := Of(f.File, p)
		if err != nil {
			return nil, &experiments.FolderError{Dir: f.Dir, Reason: err.Error()}
		}
		n.Loads = loads[point]
		return n, nil
	}
	return nil, &experiments.FolderError{Dir: f.Dir, Reason: fmt.Sprintf("has no point %d: want 0 to %d", point, len(f.File.Points)-1)}
}
