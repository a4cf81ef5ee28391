package atlas

import "github.com/weft-sim/weft/experiments"

// Curve is a row of curves.csv with its points.
type Curve struct {
	Name, Graph, Routing, Traffic string
	line                          int
}

func (r *Reference) readCurves() experiments.Faults { return nil }
