package routing_test

import (
	"bufio"
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/input"
)

// The graphs of testdata are those of the atlas's reference data, made there from
// the published definitions: NAME.edges.gz, a line "u v" for each cable;
// NAME.nexthop.gz, one next hop for each pair; NAME.rperm.gz, the destination of each
// terminal, 4 on a switch, under a permutation of switches.

// edgeList is a graph of testdata with so many terminals on each switch.
func edgeList(t testing.TB, name string, terminals int) topology.Topology {
	t.Helper()
	var edges [][2]topology.SwitchID
	for _, line := range lines(t, name+".edges.gz") {
		var e [2]topology.SwitchID
		if _, err := fmt.Sscan(line, &e[0], &e[1]); err != nil {
			t.Fatal(err)
		}
		edges = append(edges, e)
	}
	return joined(edges, terminals)
}

// joined is the network of some cables.
func joined(edges [][2]topology.SwitchID, terminals int) topology.Topology {
	switches := topology.SwitchID(0)
	for _, e := range edges {
		switches = max(switches, e[0]+1, e[1]+1)
	}
	b := topology.NewBuilder(int(switches), topology.Class{Name: "terminal", Latency: 1}, topology.Class{Name: "cable", Latency: 1})
	for s := range switches {
		for range terminals {
			b.AddTerminal(s, 0)
		}
	}
	for _, e := range edges {
		b.AddLink(e[0], e[1], 1)
	}
	return topology.NewFileNetwork(b.Freeze())
}

// lines are those of a file of testdata without comments.
func lines(t testing.TB, name string) []string {
	t.Helper()
	data, err := input.ReadInput(filepath.Join("testdata", name), input.MaxInput)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for s := bufio.NewScanner(bytes.NewReader(data)); s.Scan(); {
		if !strings.HasPrefix(s.Text(), "#") {
			all = append(all, s.Text())
		}
	}
	return all
}
