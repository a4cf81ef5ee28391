package experiments

import (
	"context"
	"errors"
	"time"
)

// ErrInterrupted says that something was stopped before it was done.
var ErrInterrupted = errors.New("interrupted")

// interruptGrace is how long work may go on when it has been told to end: what is
// short or nearly done is not lost, and people do not notice.
const interruptGrace = 200 * time.Millisecond

// Interruptible returns what f does, or [ErrInterrupted] some moments after ctx ends:
// then f, which may be deep in building a network or waiting for a pipe, is left to
// itself.
// What f returns is lost, and the processor's time goes on being used until it
// returns or the process ends. f must not write anything, nor read what its caller
// changes afterwards.
func Interruptible[T any](ctx context.Context, f func() (T, error)) (T, error) {
	return interruptible(ctx, interruptGrace, f)
}

func interruptible[T any](ctx context.Context, grace time.Duration, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-done:
		return r.value, r.err
	case <-time.After(grace):
		var nothing T
		return nothing, ErrInterrupted
	}
}
