package multicast

import (
	"fmt"
	"time"
)

// Result is one point: some groups on a network, routed by one engine.
type Result struct {
	Metrics
	Refused int // groups that found no entry, where the engine does not merge
	Forest  *Forest
}

// Options of [Run].
type Options struct {
	// Check verifies every tree and table row afterwards; see [Forest.Check].
	Check bool
	// Configure sets the engine's configuration, a pointer to its registered
	// type, beyond the defaults; may be nil.
	Configure func(config any) error
}

// Run routes the groups one after the other with the named engine and measures
// the result; an engine that can takes them all together. Everything but Time
// is reproducible.
func Run(env Env, engine string, groups []Group, o Options) (*Result, error) {
	config, err := Registry.Config(engine)
	if err != nil {
		return nil, err
	}
	if o.Configure != nil {
		if err := o.Configure(config); err != nil {
			return nil, err
		}
	}
	e, err := Registry.Build(engine, config, env)
	if err != nil {
		return nil, err
	}
	r, err := Route(e, groups, o.Check, nil)
	if err != nil {
		return nil, fmt.Errorf("multicast engine %q: %w", engine, err)
	}
	return r, nil
}

// Route is Run with an engine made already, which must be empty. progress, if not nil,
// is told after every group how many are routed, but by engines that take all groups
// together.
func Route(e Engine, groups []Group, check bool, progress func(routed int)) (*Result, error) {
	start := time.Now()
	refused, err := joinAll(e, groups, progress)
	elapsed := time.Since(start)
	if err != nil {
		return nil, err
	}
	f := e.Forest()
	if check {
		if err := f.Check(); err != nil {
			return nil, err
		}
	}
	r := &Result{Metrics: f.Measure(), Refused: refused, Forest: f}
	r.Time = elapsed
	r.ColourBound = ColourBound(f.env, groups)
	return r, nil
}
