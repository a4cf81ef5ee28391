package multicast

import (
	"errors"
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
	refused, err := JoinAll(e, groups, progress)
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

// JoinAll routes groups with a fresh engine and counts those that find no
// entry. progress may be nil.
func JoinAll(e Engine, groups []Group, progress func(routed int)) (refused int, err error) {
	if batch, ok := e.(BatchEngine); ok {
		return 0, batch.JoinAll(groups)
	}
	for i, g := range groups {
		if err := e.Join(g); errors.As(err, new(*ExhaustedError)) {
			refused++
		} else if err != nil {
			return refused, &JoinError{g.ID, err}
		}
		if progress != nil {
			progress(i + 1)
		}
	}
	return refused, nil
}

// JoinError says which of several groups could not join.
type JoinError struct {
	Group GroupID
	Err   error
}

func (e *JoinError) Error() string { return e.Err.Error() }
func (e *JoinError) Unwrap() error { return e.Err }
