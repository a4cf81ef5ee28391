package experiments

import "testing"

// Dragonflies from 72 to 16,512 terminals, unbalanced ones, and one with several
// channels between groups carry what the experiment offers them, in less than
// 2 GiB. The window of 100 cycles is short, for time's sake: of the smallest
// network's 1,080 worst-case packets the standard deviation is 3 %, so that 10 %
// are missing by chance in one run of 2,000; the others have more.
func TestDragonflySizes(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates 16,512 terminals")
	}
	f, err := Open("papers/dragonfly/sizes", Options{Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	o := execute(t, f, Execution{})
	offered, accepted, packets := numbers(t, o.Results, "offered_load"), numbers(t, o.Results, "accepted_load"), numbers(t, o.Results, "packets_measured")
	if len(offered) != 10 { // 5 networks, 2 patterns
		t.Fatalf("%d points", len(offered))
	}
	most := 0.0
	for i, load := range offered {
		if accepted[i] < 0.9*load {
			t.Errorf("point %d accepts %v of %v", i, accepted[i], load)
		}
		most = max(most, packets[i])
	}
	if want := 0.9 * 16512 * 0.3 * 100; most < want {
		t.Errorf("the largest network measured %v packets, want at least %v", most, want)
	}
	if peak := peakMemory(); peak >= 2<<30 {
		t.Errorf("%d MiB", peak>>20)
	}
}

// numbers returns a column of a table.
func numbers(t *testing.T, table *Table, name string) []float64 {
	t.Helper()
	x, err := table.Numbers(name)
	if err != nil {
		t.Fatal(err)
	}
	return x
}
