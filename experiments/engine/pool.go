package engine

import (
	"sync"

	"github.com/weft-sim/weft/experiments"
)

// Pool is what executions share: they compute so many points at a time in all, so that one
// that has few points left makes room for the next, and a point of several is computed once. A
// nil pool limits and keeps nothing.
type Pool struct {
	places   chan struct{}
	finished sync.Map // *experiments.Record by hash
}

// NewPool is a pool of so many points at a time.
func NewPool(jobs int) *Pool { return &Pool{places: make(chan struct{}, jobs)} }

// enter waits for a place.
func (p *Pool) enter() {
	if p != nil {
		p.places <- struct{}{}
	}
}

// leave gives the place to another point.
func (p *Pool) leave() {
	if p != nil {
		<-p.places
	}
}

// find is what a point of a file has come to in another execution; nil if in none.
func (p *Pool) find(f *experiments.File, point *experiments.Point) *experiments.Record {
	if p == nil {
		return nil
	}
	rec, known := p.finished.Load(point.Hash)
	if !known || !rec.(*experiments.Record).Fits(f) {
		return nil
	}
	return rec.(*experiments.Record)
}

// add keeps a finished point for other executions.
func (p *Pool) add(finished *experiments.Record) {
	if p != nil {
		p.finished.Store(finished.Hash, finished)
	}
}
