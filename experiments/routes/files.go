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
	const label = "load of a cable, in full rates of an adapter"
	for name, p := range map[string]struct {
		table *experiments.Table
		plot  experiments.PlotConfig
	}{
		"hottest.svg": {hottest, experiments.PlotConfig{X: "cable_from", Y: []string{"load_share"}, By: []string{"engine"}, Style: "bar",
			Title: "The hottest cables, " + c.title(), XLabel: "port out of which the cable leads", YLabel: label}},
		"histogram.svg": {histogram, experiments.PlotConfig{X: "load_from_share", Y: []string{"cables"}, By: []string{"engine"}, Style: "histogram",
			Title: "Cables by load, " + c.title(), XLabel: label, YLabel: "density"}},
	} {
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

// title names what is sent.
func (c *Comparison) title() string {
	if len(c.Demands) > 1 {
		return "by engine and pattern"
	}
	if c.Demands[0].Jobs != nil {
		return fmt.Sprintf("%d jobs", len(c.Demands[0].Jobs))
	}
	return "pattern " + c.Demands[0].Name
}
