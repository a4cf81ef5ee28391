package collectives

import "testing"

// Every number of ranks up to 70, every division into nodes and groups, round the
// ring, with all blocks at once, and by Bruck's algorithm (critical block above all sizes).
func TestLeadersKeepTheContract(t *testing.T) {
	for n := 1; n <= 70; n++ {
		for m := 1; m <= n; m++ {
			for d := 1; d <= m && n%m == 0; d++ {
				if m%d != 0 {
					continue
				}
				for _, settings := range []LeaderSettings{
					{Segment: true},
					{Segment: true, SwitchOver: SwitchOver{1 << 40}},
					{Segment: true, AtOnce: true},
				}[:2+n%2] { // at once with odd numbers of ranks, for time's sake
					env := Env{Ranks: n, PerNode: m, Bytes: 13}
					if err := Verify(AlltoallLeaders(env, d, settings)); err != nil {
						t.Fatalf("%d ranks, %d a node, %d leaders, %+v: %v", n, m, d, settings, err)
					}
				}
			}
		}
	}
}

// The rule's choices in the paper: table 2, and section 3.1 for nodes of 12.
func TestPLPLeaders(t *testing.T) {
	for _, c := range []struct {
		m     int
		bytes int64
		want  int
	}{
		{8, 16, 8}, {8, 128, 8}, {8, 129, 1}, {8, 256, 1}, {8, 512, 2}, {8, 1024, 4}, {8, 2048, 8}, {8, 65536, 8},
		{12, 32, 12}, {12, 64, 1}, {12, 128, 2}, {12, 256, 4}, {12, 512, 6}, {12, 1024, 12},
		{1, 1, 1}, {1, 1 << 20, 1}, {7, 200, 1}, {7, 2000, 7},
	} {
		if got := PLPLeaders(c.m, c.bytes, DefaultCritical); got != c.want {
			t.Errorf("%d ranks a node, %d B: %d leaders, want %d", c.m, c.bytes, got, c.want)
		}
	}
}

func TestLeadersNeedWholeNodes(t *testing.T) {
	for _, c := range []struct{ ranks, perNode, leaders int }{{10, 4, 0}, {8, 4, 3}, {8, 0, 0}} {
		config := PLPSettings{DefaultLeaders, c.leaders}
		if _, err := Registry.Build("alltoall-plp", &config, Env{Ranks: c.ranks, PerNode: c.perNode, Bytes: 8}); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}

// 26 handshakes a rank at 160 ranks and 30 at 240: two in each of 13 and 15
// steps, 13*14+1 = 183 and 15*16+1 = 241 being the first to reach them. With
// every block ending in the default value a notice follows each. All at once
// takes the same messages in 13 steps with handshakes and one round more.
func TestLSSMessages(t *testing.T) {
	for _, c := range []struct {
		ranks, notice   int
		atOnce          bool
		control, rounds int
	}{
		{160, 0, false, 26, 1 + 13 + 159},
		{240, 0, false, 30, 1 + 15 + 239},
		{2, 0, false, 2, 3},
		{3, 0, false, 2, 4},
		{1, 0, false, 0, 1},
		{160, 1, false, 26 + 159, 1 + 13 + 159},
		{160, 0, true, 26, 1 + 2*13 + 1},
		{160, 1, true, 26 + 159, 1 + 2*13 + 1},
		{2, 0, true, 2, 3},
		{1, 0, true, 0, 1},
	} {
		l := AlltoallLSS(Env{Ranks: c.ranks, Bytes: 8}, LSSSettings{c.notice, c.atOnce})
		if l.Rounds(0) != c.rounds {
			t.Errorf("%+v: %d rounds", c, l.Rounds(0))
		}
		control, writes := 0, 0
		for round := range l.Rounds(0) {
			for _, op := range l.Round(0, round, nil) {
				switch {
				case op.Kind == Send && op.Control:
					control++
				case op.Kind == Send && op.Protocol == Direct:
					writes++
				}
			}
		}
		if control != c.control || writes != c.ranks-1 {
			t.Errorf("%+v: %d control messages, %d writes", c, control, writes)
		}
	}
	for n := 1; n <= 70; n++ {
		for _, atOnce := range []bool{false, true} {
			if err := Verify(AlltoallLSS(Env{Ranks: n, PerNode: 1, Bytes: 13}, LSSSettings{3, atOnce})); err != nil {
				t.Fatalf("%d ranks with notices, at once %v: %v", n, atOnce, err)
			}
		}
	}
}
