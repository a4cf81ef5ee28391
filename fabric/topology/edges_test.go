package topology

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

func TestEdges(t *testing.T) {
	for _, c := range []struct {
		text  string
		names []SwitchName
		rows  [][]SwitchID
	}{
		{"# ring\n0 1\n1 2\r\n\n2 0\n", nil, [][]SwitchID{{1, 2}, {0, 2}, {0, 1}}},
		{"2 0 far\n1 2\n1 2\n", nil, [][]SwitchID{{2}, {2}, {0, 1}}},
		{"b a\na c\n", []SwitchName{{Name: "b"}, {Name: "a"}, {Name: "c"}}, [][]SwitchID{{1}, {0, 2}, {1}}},
	} {
		g, err := ReadEdges("f", []byte(c.text), 3)
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		CheckGraph(t, g)
		if g.Terminals() != 3*len(c.rows) || c.names != nil && !reflect.DeepEqual(g.Names.Switches, c.names) {
			t.Errorf("%q: %d terminals, names %+v", c.text, g.Terminals(), g.Names)
		}
		for s, row := range c.rows {
			if got := g.Neighbors().Of(SwitchID(s)); !reflect.DeepEqual(got, row) {
				t.Errorf("%q: switch %d has neighbours %v, want %v", c.text, s, got, row)
			}
		}
	}
}

// Four routers of an Aries chassis and group, in the form that is documented for rtr
// --interconnect; each cable stands there from both ends.
func TestEdgesOfCray(t *testing.T) {
	g, err := ReadEdges("rtr", []byte(`c0-0c0s0a0l00(0:0:0) green -> c0-0c0s1a0l10(0:0:1)
c0-0c0s0a0l01(0:0:0) blue -> unused
c0-0c0s0a0l50(0:0:0) ptile -> processor
c0-0c0s1a0l10(0:0:1) green -> c0-0c0s0a0l00(0:0:0)
c0-0c0s1a0l11(0:0:1) black -> c0-0c1s1a0l12(0:1:1)
c0-0c1s1a0l12(0:1:1) black -> c0-0c0s1a0l11(0:0:1)
`), 4)
	if err != nil {
		t.Fatal(err)
	}
	if g.Switches() != 3 || g.SwitchLinks() != 2 || g.SwitchName(2) != "c0-0c1s1a0" || g.Classes[2].Name != "black" {
		t.Errorf("%+v, names %+v", g, g.Names)
	}
	g, err = ReadEdges("rtr", []byte("c0-0c0s0g0l02[(0,0,0)] Z+ -> c0-0c0s0g1l21[(0,0,1)] LinkType: mezzanine\nc0-0c0s0g1l21[(0,0,1)] Z- -> c0-0c0s0g0l02[(0,0,0)] LinkType: mezzanine\n"), 2)
	if err != nil || g.Switches() != 2 || g.SwitchLinks() != 1 || g.Classes[1].Name != "z" {
		t.Errorf("%+v, %v", g, err)
	}
}

func TestEdgesRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "f:1: no cables"},
		{"0 1\n1 1\n2\n", `f:2: a cable from "1" to itself` + "\n" + `f:3: 1 words: want two switches`},
		{"0 1\n1 3\n", "f:1: switches are numbered to 3, and none has number 2"},
		{"0 1\n01 2\n", `f:1: switches "1" and "01" have one number`},
		{"0 1\n2 3\n", "f:1: no path from switch 0 to switch 2"},
		{"0 1 terminal\n", `f:1: class "terminal"`},
		{"c0l1 green -> c1\n", `f:1: "c1": want a tile`},
		{"c0l1 green -> c1l1\nc0l1 green -> c1l2\n", "f:2: tile c0l1 stands in line 1 already"},
		{"c0l1 green -> c1l1\nc1l1 green -> c0l2\n", "f:2: tile c1l1 leads to c0l2; by line 1 its cable is that of c0l1"},
		{"c0l1 green -> c1l1\nc1l1 green -> c0l1\nc2l1 green -> c1l1\n", "f:3: tile c2l1 leads to c1l1; by line 2 that has the cable of c0l1"},
		{"\xff\xfe0\x00", "UTF-16"},
	} {
		simtest.Refuse(ReadEdges("f", []byte(c.text), 1))(t, c.want)
	}
	if _, err := param.Make(Registry, "edges", struct{}{}, func(c *EdgesConfig) { c.Path = "nowhere" }); err == nil || !strings.Contains(err.Error(), "a readable file") {
		t.Error(err)
	}
}

func FuzzReadEdges(f *testing.F) {
	ring := simtest.Must(os.ReadFile(filepath.Join("testdata", "ring.edges")))(f)
	f.Add(ring)
	f.Add([]byte("a b c\nc0-0l1 X+ -> c0-1l2[x]\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if g, err := ReadEdges("f", data, 1); err == nil {
			CheckGraph(t, g)
		}
	})
}
