package routes

import (
	"bytes"
	"fmt"

	"github.com/weft-sim/weft/experiments"
)

// ComparisonFiles are the names of all files of [Comparison.Files].
var ComparisonFiles = []string{"engines.csv", "jobs.csv", "cables.csv", "hottest.csv", "hottest.svg", "histogram.csv", "histogram.svg"}

// Files are the tables of a comparison and pictures of the hottest cables and of the
// histogram, by the names of their files.
func (c *Comparison) Files() (map[string][]byte, error) {
	files := map[string][]byte{}
	histogram, hottest := c.Histogram(), c.Hottest()
	for name, table := range map[string]*experiments.Table{"engines.csv": c.Table(), "jobs.csv": c.Jobs(), "cables.csv": c.Cables(), "hottest.csv": hottest, "histogram.csv": histogram} {
		if table == nil {
			continue
		}
		var b bytes.Buffer
		if err := table.Write(&b); err != nil {
			return nil, err
		}
		files[name] = b.Bytes()
	}
	const label = "Load of a cable (full rates of an adapter)"
	bars, panels := experiments.NewPlot(), experiments.NewPlot()
	bars.Style, bars.X, bars.Y, bars.By = "bar", "cable_from", []string{"load_share"}, []string{"engine"}
	bars.Title, bars.XLabel, bars.YLabel, bars.Width = "The hottest cables of each engine, "+c.title("by pattern"), "Port out of which the cable leads", label, 9
	if len(c.Demands) > 1 {
		bars.Panels, bars.PanelColumns = "pattern", 1
	}
	panels.Style, panels.X, panels.Y, panels.By, panels.Panels = "histogram", "load_from_share", []string{"cables"}, []string{"engine"}, "engine"
	panels.Title, panels.XLabel, panels.YLabel, panels.Width = "Cables by load, "+c.title("by engine and pattern"), label, "Share of the cables (per full rate of an adapter)", 9
	for name, p := range map[string]struct {
		table *experiments.Table
		plot  experiments.PlotConfig
	}{"hottest.svg": {hottest, bars}, "histogram.svg": {histogram, panels}} {
		if len(p.table.Rows) == 0 {
			continue // no cable carries anything
		}
		picture, err := p.plot.Picture(p.table, "svg")
		if err != nil {
			return nil, err
		}
		files[name] = picture
	}
	return files, nil
}

// title names what is sent; several, if that is more than one pattern.
func (c *Comparison) title(several string) string {
	if len(c.Demands) > 1 {
		return several
	}
	if c.Demands[0].Jobs != nil {
		return fmt.Sprintf("%d jobs", len(c.Demands[0].Jobs))
	}
	return "pattern " + c.Demands[0].Name
}
