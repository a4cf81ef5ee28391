package experiments

import "testing"

// TestReproductionTime: every paper has been timed, whole and in its quick variant. 960 + 780 + 1020
// + 36 + 300 s are 51.6 minutes of one processor.
func TestReproductionTime(t *testing.T) {
	papers := map[string]bool{}
	for _, path := range Embedded("papers") {
		papers[paperOf(path)] = true
	}
	for paper := range papers {
		if took := reproductionTimes()[paper]; took[0] <= 0 || took[1] <= 0 {
			t.Errorf("%s took %v s", paper, took)
		}
	}
	if len(reproductionTimes()) != len(papers) {
		t.Errorf("%d times of %d papers", len(reproductionTimes()), len(papers))
	}
	for _, c := range []struct {
		paths []string
		quick bool
		want  string
	}{
		{[]string{"papers/dswitch/theorem1.toml"}, false, "1 of the 6 experiments of dswitch, all of which take roughly 36 s of processor time, 18 s on 2 idle processors (on weft's own machine)"},
		{filesOf("dswitch"), true, "6 experiments: roughly 5 s of processor time, 2 s on 2 idle processors (on weft's own machine)"},
	} {
		if got := ReproductionTime(c.paths, c.quick, 2); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// filesOf lists the files of a paper.
func filesOf(paper string) (paths []string) {
	for _, path := range Embedded("papers") {
		if paperOf(path) == paper {
			paths = append(paths, path)
		}
	}
	return paths
}
