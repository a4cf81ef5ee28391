// Package kindtest has kinds of experiments for tests. "toy" stands in for a simulator: its
// results follow from its settings in closed form, and it can be told to fail, to panic and to
// wait. "parts" has tables with names.
package kindtest

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

type toyShape interface{ factor() int }

type toyBox struct {
	P int `toml:"p" doc:"size" min:"1" max:"100"`
}

type toyRing struct {
	K int `toml:"k" doc:"length" unit:"nodes" min:"3"`
}

func (b toyBox) factor() int  { return b.P }
func (r toyRing) factor() int { return 10 * r.K }

var toyShapes = param.NewRegistry[int, toyShape]("shape")

func init() {
	param.Register(toyShapes, "box", "a box", toyBox{P: 2}, func(c toyBox, _ int) (toyShape, error) { return c, nil })
	param.Register(toyShapes, "ring", "a ring", toyRing{K: 4}, func(c toyRing, limit int) (toyShape, error) {
		if c.K > limit {
			return nil, &param.ParamError{Key: "k", Value: c.K, Want: fmt.Sprintf("at most traffic.limit = %d", limit)}
		}
		return c, nil
	})
	experiments.Register(experiments.Kind[toyConfig, toyRow]{
		Name: "toy", Doc: "for tests", Tables: tables,
		Defaults: func() toyConfig {
			return toyConfig{Shape: toyShapeTable{experiments.Choose(toyShapes, "box")}, Traffic: toyTraffic{Load: 0.5, Delay: sim.Nanosecond, Limit: 1000}}
		},
		Check: func(c *toyConfig, _ uint64) ([]experiments.Warning, error) {
			_, err := c.Shape.Type.Build(c.Traffic.Limit)
			if c.Traffic.Load > 0.95 {
				return []experiments.Warning{{Key: "traffic.load", Message: "is close to 1"}}, err
			}
			return nil, err
		},
		Run: runToy,
	})
	experiments.Register(experiments.Kind[partsConfig, toyRow]{
		Name: "parts", Doc: "for tests of tables with names", Defaults: func() partsConfig { return partsConfig{} },
		Check: func(c *partsConfig, _ uint64) ([]experiments.Warning, error) {
			for _, p := range c.Part {
				if _, err := p.Type.Build(1000); err != nil {
					return nil, err
				}
			}
			return nil, nil
		},
		Run: func(context.Context, *partsConfig, *experiments.Run) (toyRow, error) { return toyRow{}, nil },
	})
}

type toyConfig struct {
	Shape   toyShapeTable         `toml:"shape" doc:"what it looks like"`
	Traffic toyTraffic            `toml:"traffic" doc:"what it carries"`
	Channel map[string]toyChannel `toml:"channel" names:"CLASS" doc:"channels by class"`
}

type toyShapeTable struct {
	Type experiments.Choice[int, toyShape] `toml:"type" doc:"kind of shape"`
}

type toyTraffic struct {
	Load  float64   `toml:"load" doc:"offered" min:"0" max:"1"`
	Delay sim.Time  `toml:"delay" doc:"waiting time" min:"0ns"`
	Size  sim.Bytes `toml:"size" doc:"message"`
	Rate  sim.Rate  `toml:"rate" doc:"speed"`
	Limit int       `toml:"limit" doc:"of rings"`
	Mode  string    `toml:"mode" doc:"what happens" choices:"|fail|panic|break|misuse|wait"`
	Dims  []int     `toml:"dims" doc:"a list" min:"1"`
}

type toyChannel struct {
	Latency sim.Time `toml:"latency" doc:"flight time" min:"0ns"`
}

var tables = experiments.ReadTables("links: two\n  link: a or b\n  utilisation: of it", nil)

type partsConfig struct {
	Part map[string]toyPart `toml:"part" names:"NAME" doc:"shapes under names of your own"`
}

// toyPart has a default, and a choice of a registry.
type toyPart struct {
	Type  experiments.Choice[int, toyShape] `toml:"type" doc:"kind of shape"`
	Count int                               `toml:"count" doc:"how many" min:"1"`
}

func (p *toyPart) Defaults() { *p = toyPart{experiments.Choose(toyShapes, "box"), 3} }

type toyRow struct {
	Offered  float64 `column:"offered_load" doc:"as set"`
	Accepted float64 `column:"accepted_load" doc:"min(load, 0.6)" best:"highest throughput"`
	Latency  float64 `column:"latency_mean_ns" doc:"factor / (1 - load)"`
	Draw     int     `column:"draw" doc:"first random number"`
	State    string  `column:"state" doc:"saturated if the load is above 0.6, steady otherwise"`
}

// Gate lets tests hold points of mode "wait" until they say so.
var Gate func(ctx context.Context)

func runToy(ctx context.Context, c *toyConfig, run *experiments.Run) (toyRow, error) {
	switch c.Traffic.Mode {
	case "fail":
		return toyRow{}, errors.New("told to fail")
	case "panic":
		panic("told to panic")
	case "break": // when it goes on from a snapshot
		if run.Checkpoint().Open() != nil {
			panic("told to break")
		}
	case "misuse":
		panic(&param.Misuse{Of: "shape", Did: "reads what it has not declared"})
	case "wait":
		Gate(ctx)
	}
	shape, err := c.Shape.Type.Build(c.Traffic.Limit)
	if err != nil {
		return toyRow{}, err
	}
	s := sim.NewStream(run.Seed, "toy", 0)
	links := run.Table(tables.Named("links"))
	links.Add("a", c.Traffic.Load)
	links.Add("b", c.Traffic.Load/2)
	run.Count(1000, 100)
	load := c.Traffic.Load
	state := measure.Steady
	if load > 0.6 {
		state = measure.Saturated
	}
	return toyRow{load, min(load, 0.6), float64(shape.factor()) / (1 - load), s.IntN(1 << 30), state.String()}, nil
}
