package multicast

import (
	"errors"
	"fmt"
	"time"
)

// Result is one point: some groups on a network, routed by one engine.
type Result struct {
	Engine string
	Metrics
	Forest *Forest
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
// is reproducible. Groups that the engine refuses are an error.
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
	start := time.Now()
	if batch, ok := e.(BatchEngine); ok {
		err = batch.JoinAll(groups)
	} else {
		var faults []error
		for _, g := range groups {
			if err := e.Join(g); err != nil {
				faults = append(faults, err)
				if len(faults) == 10 {
					faults = append(faults, errors.New("more groups were not tried"))
					break
				}
			}
		}
		err = errors.Join(faults...)
	}
	elapsed := time.Since(start)
	if err != nil {
		return nil, fmt.Errorf("multicast engine %q: %w", engine, err)
	}
	if o.Check {
		if err := e.Forest().Check(); err != nil {
			return nil, fmt.Errorf("multicast engine %q: %w", engine, err)
		}
	}
	r := &Result{Engine: engine, Metrics: e.Forest().Measure(), Forest: e.Forest()}
	r.Time = elapsed
	r.ColourBound = ColourBound(env, groups)
	return r, nil
}
