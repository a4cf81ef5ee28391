package hca

import (
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// Adapters of the generations beside [QDR] and [HDR]: link_rate of four lanes, line
// coding taken off (InfiniBand Architecture Specification, volume 2, 5.2: FDR 14.0625
// Gbaud with 64b/66b, EDR 25, NDR 100 Gb/s of data), and an engine that keeps up with
// it, as the buses of their time do. Assumed: the rest, as of [HDR]; nothing is
// calibrated.
func init() {
	for _, p := range []struct {
		name, doc string
		config    Config
	}{
		{"fdr", "adapter on 4x FDR InfiniBand, assumed values", linked(54_545_454_545)},
		{"edr", "adapter on 4x EDR InfiniBand, assumed values", linked(100e9)},
		{"ndr", "adapter on 4x NDR InfiniBand, assumed values", linked(400e9)},
	} {
		param.Register(Registry, p.name, p.doc, p.config, func(c Config, _ struct{}) (Config, error) { return c, nil })
	}
}

// linked is the adapter of [HDR] on a link of another rate.
func linked(rate sim.Rate) Config {
	c := HDR
	c.LinkRate, c.DMARate = rate, rate
	return c
}
