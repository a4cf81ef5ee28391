package experiments

import "testing"

// TestInsideAPoint: a point tells how far it is, in what its kind counts; where the end
// is known, it is reached.
func TestInsideAPoint(t *testing.T) {
	const torus = "[topology]\ntype = \"torus\"\ndims = [4]\n[routing]\ntype = \"dor\"\n[traffic]\nload = 0.2\n"
	for _, c := range []struct {
		name, text string
		want       way
	}{
		// Two replications of 100 + 300 cycles, then a drain that does not count.
		{"fixed", torus + "[measure]\nwarmup = 100\nwindow = 300\nreplications = 2\n", way{800, 800, "cycles", false}},
		{"found", torus + "[measure]\nbudget = 20000\n", way{-1, 20000, "cycles", true}},
		{"search", torus + "[measure]\nwarmup = 100\nwindow = 300\nbudget = 300\nfind = \"saturation\"\nload_precision = 0.5\n", way{-1, 0, "cycles at load 0.5", false}},
		// 32 terminals (a fat tree of 2 levels of 8-port switches), 31 packets each.
		{"exchange", "kind = \"exchange\"\n[topology]\nk = 8\nn = 2\n", way{32 * 31, 32 * 31, "packets", false}},
		// One group of 4 terminals, 20 measured messages.
		{"multicast", "kind = \"multicast-latency\"\n[groups]\ncount = 1\n[messages]\ncount = 20\n", way{20, 20, "messages", false}},
		// The pattern makes 64 groups.
		{"trees", "kind = \"multicast-routing\"\n[groups]\npattern = \"random-fixed-size\"\ncount = 64\n", way{64, 64, "groups", false}},
		// Theorem 2 on two cascades of m = 3: m^k sessions.
		{"sessions", "kind = \"sessions\"\n", way{9, 9, "sessions", false}},
		{"mpi", "kind = \"mpi\"\n[job]\nranks = 4\n", way{-1, 0, "events", false}},
	} {
		f, err := Load(c.name+".toml", c.text, Options{})
		if err != nil {
			t.Fatal(err)
		}
		run := &Run{Seed: 1, Threads: 1}
		if _, err := f.kind.run(t.Context(), f.Points[0].config, run); err != nil {
			t.Fatal(err)
		}
		got := run.way
		if c.want.done < 0 && got.done > 0 {
			got.done = -1
		}
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
