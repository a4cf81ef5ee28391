package booksim

import (
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology/cables"
	"github.com/weft-sim/weft/sim/simtest"
)

const anynet = "topology = anynet; routing_function = min; network_file = net; num_vcs = 2;"

// TestAnynet: a ring of four routers, a cable of which takes 3 cycles, and a fifth behind it. By
// cycles, from 0 to 3 the way is over 1 and 2, 1+1+1 = 3, as short as the cable of 3 itself: router
// 1 is settled first, then 2 finds 3 at 3, which the cable from 0 found before. So the cable is
// taken. From 3 to 0 it is found first, too. Behind 3 lies 4.
func TestAnynet(t *testing.T) {
	const net = "router 0 node 0 router 1 router 3 3\nrouter 3 router 0 3\nrouter 1 node 1 router 2\nrouter 2 node 2 router 3\nrouter 3 node 3 router 4\nrouter 4 node 4\n"
	c := parse(t, anynet)
	c.graph = net
	_, files, canDeadlock, err := c.Experiment("test", []float64{0.1}, 1)
	const want = "-1 1 1 3 3\n0 -1 2 2 2\n1 1 -1 3 3\n0 2 2 -1 4\n3 3 3 3 -1\n"
	if err != nil || !canDeadlock || string(files["network.nexthop"]) != want || string(files["network.anynet"]) != net {
		t.Errorf("%v, can deadlock %v\ngot  %q\nwant %q", err, canDeadlock, files["network.nexthop"], want)
	}
	// Ties go by the number of the router that is settled first: 0 reaches 3 over 1, not over 2.
	g := simtest.Must(cables.ReadAnynet("net", []byte("router 0 node 0 router 2 router 1\nrouter 3 node 1 router 2 router 1\n")))(t).Graph()
	got := string(nextHops(g))
	simtest.ErrorIf(t, !strings.HasPrefix(got, "-1 1 2 1\n"), "next hops %q", got)
}

// TestAnynetNotMapped: what weft has no counterpart of, by the file and its line.
func TestAnynetNotMapped(t *testing.T) {
	for net, want := range map[string]string{
		"router 0 node 0 router 1 5\nrouter 1 node 1 router 0 7\n": "net: 1 cables have other cycles one way",
		"router 0 node 0 node 1 5\n":                               "net: 5 cycles to node 1, which BookSim2 does not read as such",
		"router 0 node 0 node\n":                                   `net:1: "node": want router or node and its number`,
	} {
		c := parse(t, anynet)
		c.graph = net
		_, _, _, err := c.Experiment("test", []float64{0.1}, 1)
		simtest.Fail(t, err, want)
	}
	files := map[string]string{"a.cfg": anynet, "a.csv": header + "0.1,stable,20,0.1\n"}
	curves, _, _ := ReadFolder(folder(files), "data")
	_, _, _, err := curves[0].Config.Experiment("test", []float64{0.1}, 1)
	simtest.Fail(t, err, "network_file = net: file does not exist")
	files["net"] = "router 0 node 0 node 1\n"
	curves, _, _ = ReadFolder(folder(files), "data")
	if _, _, _, err = curves[0].Config.Experiment("test", []float64{0.1}, 1); err != nil {
		t.Error(err)
	}
}
