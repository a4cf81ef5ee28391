package routes

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/opensm"
)

// fewCables is two switches with four hosts each, n1 to n8, and one cable; n1 and n5 have
// two rails.
func fewCables() topology.Topology {
	b := topology.NewBuilder(2, topology.Class{Name: "terminal", Latency: 1}, topology.Class{Name: "cable", Latency: 1})
	names := &topology.Names{}
	for host := range 8 {
		for rail := range 1 + (host%4+3)%4/3 {
			b.AddTerminal(topology.SwitchID(host/4), 0)
			names.Terminals = append(names.Terminals, topology.AdapterPort{Name: fmt.Sprintf("n%d mlx5_%d", host+1, rail)})
			names.Host = append(names.Host, int32(host))
		}
	}
	b.AddLink(0, 1, 1)
	g := b.Freeze()
	g.Names = names
	return topology.NewFileNetwork(g)
}

// Job a is n1 and n5, two rails each, all to all: two rails send all that they have over
// the cable. Job b is n2 and n6 to n8, uniform with half a rate: one host sends all of it over the
// cable, three send a third of it back. Job c stays at its switch. So the cable carries
// 2 + 1/2 one way: a gets 1/2 of what it wants alone, and 2/5 with b; b as much with a
// and all alone.
func TestJobs(t *testing.T) {
	network := fewCables()
	jobs, err := ReadJobs(strings.NewReader("# a list\na n[1,5]\nb n2,n[6-8] uniform 0.5 # half\n\nc block:2 permutation\n"), "x", network, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := Request{Network: network, Config: opensm.DefaultConfig(), Lanes: 8}
	c, err := r.Compare([]string{"minhop"}, []*Demand{JobDemand(jobs)}, func() float64 { return 0 })
	if err != nil {
		t.Fatal(err)
	}
	l := c.Engines[0].loads[0]
	loads := slices.Clone(l.Load)
	slices.Sort(loads)
	if math.Abs(loads[0]-2.5) > 1e-12 || math.Abs(loads[1]-2.5) > 1e-12 { // 3 hosts with 1/2, a third of it each, are a half, too
		t.Errorf("the cable carries %v", loads)
	}
	want := [][]float64{{0.4, 0.5}, {0.4, 1}, {1, 1}}
	for i, w := range want {
		if j := l.jobs[i]; math.Abs(j.together-w[0]) > 1e-12 || math.Abs(j.alone-w[1]) > 1e-12 || (j.hottest < 0) != (i == 2) {
			t.Errorf("job %s: %+v, want %v", jobs[i].Name, j, w)
		}
	}
	table := c.Jobs()
	if len(table.Rows) != 3 || !slices.Equal(table.Rows[2], []string{"c", "minhop", "2", "permutation", "1", "1", "1", ""}) {
		t.Errorf("%v", table)
	}
}

// Hosts that are chosen by a rule are those that nobody has.
func TestPlacements(t *testing.T) {
	for text, want := range map[string]string{
		"a block:3\nb block:3":  "0 1 2|3 4 5",
		"a n2\nb spread:4":      "1|0 4 2 5",
		"a n[3-4]\nb spread:6":  "2 3|0 4 1 5 6 7",
		"a n[5-8]\nb random:4":  "4 5 6 7|0 1 2 3",
		"a n[1-2],n[07]":        "",
		"a n[1-2],n7,n4":        "0 1 6 3",
		"a random:8 uniform .5": "0 1 2 3 4 5 6 7",
	} {
		network := fewCables()
		jobs, err := ReadJobs(strings.NewReader(text), "x", network, 1)
		if (err != nil) != (want == "") {
			t.Errorf("%q: %v", text, err)
			continue
		}
		all := network.Graph().Hosts()
		var parts []string
		for _, j := range jobs {
			var hosts []int
			for _, rails := range j.Hosts {
				hosts = append(hosts, slices.IndexFunc(all, func(h []topology.TerminalID) bool { return h[0] == rails[0] }))
			}
			if strings.Contains(text, j.Name+" random") {
				slices.Sort(hosts)
			}
			parts = append(parts, strings.Trim(fmt.Sprint(hosts), "[]"))
		}
		if got := strings.Join(parts, "|"); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestJobProblems(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "x: no jobs"},
		{"a", "x:1: 1 words: want NAME HOSTS"},
		{"a n1,n2\nb n[2-3]", "x:2: host n2 mlx5_0 is in job a already"},
		{"a n1,n2\na n3,n4", "x:2: job a is a duplicate"},
		{"a n9,n1", `x:1: no host "n9" in the network: want names such as "n1 mlx5_0"`},
		{"a n[1-", "a bracket is not closed"},
		{"a n[2-1]", "[2-1]: want numbers and ranges"},
		{"a n[0-99999999]", "more than 1048576 hosts"},
		{"a n1,", "a name is missing after the last comma"},
		{"a n1,,n2", "a name is empty"},
		{"a block:x", "block:x: want a number of hosts"},
		{"a block:9", "block:9: 8 of the 8 hosts are free"},
		{"a cyclic:2", "want block, spread or random"},
		{"a n1,n2 storm", "storm"},
		{"a n1,n2,n3 bit-complement", "job a of 3 hosts: pattern \"bit-complement\" needs a power of two"},
		{"a n1,n2 uniform 2", "load 2: want a number above 0"},
		{"a n1,n2 uniform 1 x", "5 words"},
	} {
		if _, err := ReadJobs(strings.NewReader(c.text), "x", fewCables(), 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.text, err, c.want)
		}
	}
}

func FuzzReadJobs(f *testing.F) {
	f.Add("a n[1-2,5]\nb spread:2 hot-spot 0.5 # c\n")
	network := fewCables()
	f.Fuzz(func(t *testing.T, text string) {
		jobs, err := ReadJobs(strings.NewReader(text), "fuzz", network, 1)
		if err != nil {
			for _, line := range strings.Split(err.Error(), "\n") {
				if !strings.HasPrefix(line, "fuzz:") && !strings.Contains(line, "want") {
					t.Errorf("%q: no place in %q", text, line)
				}
			}
			return
		}
		seen := map[topology.TerminalID]bool{}
		for i := range jobs {
			for _, rails := range jobs[i].Hosts {
				sent := 0.0
				for _, rail := range rails {
					if seen[rail] {
						t.Errorf("%q: terminal %d twice", text, rail)
					}
					seen[rail] = true
				}
				jobs[i].Weights(rails[0], func(_ topology.TerminalID, w float64) { sent += w })
				if len(jobs[i].Hosts) > 1 && math.Abs(sent-jobs[i].Load) > 1e-9 {
					t.Errorf("%q: a rail sends %v", text, sent)
				}
			}
		}
	})
}
