package kinds

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/topology"
)

// writeSeries keeps what every channel carried in the intervals of the window:
// series/POINT.csv, one row a channel, in the order of links.csv, and one
// column an interval.
func writeSeries(run *experiments.Run, g *topology.Graph, s *core.Series) {
	t := &experiments.Table{Columns: []string{"from", "to", "class"}}
	from := int64(0)
	for _, to := range s.Ends {
		t.Columns = append(t.Columns, fmt.Sprintf("%d-%d", from, to))
		from = to
	}
	for i := range g.NumPorts() + g.Terminals() {
		from, to, class := channelEnds(g, i)
		row := []string{from, to, class}
		for _, flits := range s.Flits {
			row = append(row, strconv.FormatUint(uint64(flits[i]), 10))
		}
		t.Rows = append(t.Rows, row)
	}
	var b strings.Builder
	if err := t.Write(&b); err != nil {
		panic("kinds: " + err.Error()) // a Builder takes everything
	}
	run.Attach(experiments.SeriesFolder, "csv", b.String())
}
