package core

import (
	"testing"
	"time"
)

// One thread goes on alone where several wait for each other and it is faster, which is
// tried now and then. Work is 1,000 units a millisecond of one thread alone.
func TestTempo(t *testing.T) {
	var c tempo
	now, work, lost, alone := time.Unix(0, 0), int64(0), time.Duration(0), false
	// spend lets time go by, in which so much is done and two threads lose so much, and
	// tells for how much of it one thread was alone.
	spend := func(all time.Duration, together int64, share float64) (one time.Duration) {
		for end := now.Add(all); now.Before(end); now = now.Add(time.Millisecond) {
			if alone = c.next(alone, now, work, lost, 2); alone {
				work += 1000
				one += time.Millisecond
			} else {
				work += together
				lost += time.Duration(share * 2 * float64(time.Millisecond))
			}
		}
		return one
	}
	if one := spend(5*time.Second, 1500, 0.1); one > 0 {
		t.Errorf("threads that hardly wait: %v alone", one)
	}
	if one := spend(5*time.Second, 1200, 0.5); one == 0 || one > 600*time.Millisecond {
		t.Errorf("threads that wait but are faster: %v alone of 5 s, want some 100 ms of each second", one)
	}
	if one := spend(5*time.Second, 600, 0.6); one < 4*time.Second || one == 5*time.Second {
		t.Errorf("threads that are slower: %v alone of 5 s, want all but some trials of 100 ms, ever fewer", one)
	}
	if one := spend(5*time.Second, 1500, 0.1); one > 1800*time.Millisecond {
		t.Errorf("threads that are faster again: %v alone of 5 s, want at most that of the last trial", one)
	}
}
