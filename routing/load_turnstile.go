package routing

import "sync"

// turnstile adds what threads have written down to the loads, in the order of
// destinations.
type turnstile struct {
	most  int // additions that a thread may write down, and half of what may wait
	ports []float64

	mu      sync.Mutex
	passed  sync.Cond
	current int // destination whose turn it is
	err     error
	early   map[int]written // of those whose turn has not come
	waiting int             // additions in them
	spare   [][]addition
}

// written is what a walk to a destination has come to.
type written struct {
	additions []addition
	err       error
}

func newTurnstile(ports []float64, threads int) *turnstile {
	t := &turnstile{ports: ports, most: max(1, maxAdditions/2/threads), early: map[int]written{}}
	t.passed.L = &t.mu
	return t
}

// add waits for the turn of a destination, which it keeps, and adds what is written down so
// far; ok is false if a destination before has failed.
func (t *turnstile) add(i int, additions []addition) (ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.current != i && t.err == nil {
		t.passed.Wait()
	}
	if t.err != nil {
		return false
	}
	t.enter(additions)
	return true
}

func (t *turnstile) enter(additions []addition) {
	for _, a := range additions {
		t.ports[a.port] += a.flow
	}
}

// done takes over what the walk to a destination has written down last; fresh is for what
// the thread writes next, unless more is false after an error.
func (t *turnstile) done(i int, additions []addition, err error) (fresh []addition, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.current != i && t.err == nil && t.waiting > 0 && t.waiting+len(additions) > maxAdditions/2 {
		t.passed.Wait()
	}
	if t.err != nil {
		return nil, false
	}
	t.early[i] = written{additions, err}
	t.waiting += len(additions)
	for t.err == nil {
		w, there := t.early[t.current]
		if !there {
			break
		}
		delete(t.early, t.current)
		t.waiting -= len(w.additions)
		t.enter(w.additions)
		t.spare = append(t.spare, w.additions[:0])
		t.err = w.err
		t.current++
		t.passed.Broadcast()
	}
	if n := len(t.spare); n > 0 {
		fresh, t.spare = t.spare[n-1], t.spare[:n-1]
	}
	return fresh, err == nil
}
