package kinds

import (
	"context"
	"sync/atomic"
)

// moments is a context that counts how often it is asked whether work is to end. Simulations
// ask every so many cycles or events: the number of a question is a moment of simulated time,
// whatever the machine does beside.
type moments struct {
	context.Context
	asked atomic.Int64
	at    func(n int64) // is told of the nth question before it is answered
}

// Err implements [context.Context].
func (m *moments) Err() error {
	m.at(m.asked.Add(1))
	return m.Context.Err()
}

// endingAt is a context that ends at its nth question.
func endingAt(parent context.Context, n int64) *moments {
	ctx, end := context.WithCancel(parent)
	return &moments{Context: ctx, at: func(i int64) {
		if i == n {
			end()
		}
	}}
}
