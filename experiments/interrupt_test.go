package experiments

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestInterruptible: what does not end by itself is left behind; what is done is
// returned though the context has ended.
func TestInterruptible(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	begun, forever := make(chan bool), make(chan bool)
	defer close(forever)
	go func() { <-begun; cancel() }()
	if x, err := Interruptible(ctx, func() (int, error) { begun <- true; <-forever; return 3, nil }); x != 0 || !errors.Is(err, ErrInterrupted) {
		t.Errorf("%d, %v", x, err)
	}
	if x, err := interruptible(ctx, time.Hour, func() (int, error) { return 3, nil }); x != 3 || err != nil {
		t.Errorf("%d, %v", x, err)
	}
}

// TestInterruptDeafPoint: a point that never looks at its context does not hold up
// the end of a run; those that are finished are kept.
func TestInterruptDeafPoint(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	forever := make(chan bool)
	defer close(forever)
	toyGate = func(context.Context) { cancel(); <-forever }
	f := load(t, "kind = \"toy\"\n[sweep]\n\"traffic.mode\" = [\"\", \"wait\"]\n", Options{})
	o, err := f.Execute(ctx, Execution{Dir: t.TempDir(), Jobs: 1})
	if !errors.Is(err, ErrInterrupted) || o.Finished != 1 {
		t.Errorf("%v, %+v", err, o)
	}
}
