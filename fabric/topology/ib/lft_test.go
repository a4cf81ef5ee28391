package ib

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/simtest"
)

// OpenSM's minhop tables of an 8-port fat tree lead from every switch to every
// host and switch on a shortest path.
func TestReadLFTs(t *testing.T) {
	im := imported(t, ReadSim, "ft3_8.net.gz")
	g := im.Graph()
	dump := readTestdata(t, "ft3_8.minhop.lfts.dump.gz")
	l := simtest.Must(ReadLFTs(bytes.NewReader(dump), "lfts", g))(t)
	walk := func(from, to topology.SwitchID, next func(topology.SwitchID) topology.PortID, want int16) {
		t.Helper()
		hops := int16(0)
		for s := from; s != to; hops++ {
			p := next(s)
			if p == topology.NoPort || hops > want {
				t.Fatalf("from %s to %s: no way on from %s after %d hops, want %d", g.SwitchName(from), g.SwitchName(to), g.SwitchName(s), hops, want)
			}
			q, _ := g.PeerPort(p)
			s = g.PortSwitch[q]
		}
		if hops != want {
			t.Fatalf("%d hops from %s to %s, want %d", hops, g.SwitchName(from), g.SwitchName(to), want)
		}
	}
	for s := range topology.SwitchID(g.Switches()) {
		distance := g.DistancesFrom(s, nil)
		for m := range topology.TerminalID(g.Terminals()) {
			home := g.TerminalSwitch(m)
			walk(s, home, func(at topology.SwitchID) topology.PortID { return l.ToTerminal(at, m) }, distance[home])
			if l.ToTerminal(home, m) != g.TerminalPort[m] {
				t.Fatalf("%s sends to its host %s by another port", g.SwitchName(home), g.TerminalName(m))
			}
		}
		for d := range topology.SwitchID(g.Switches()) {
			walk(s, d, func(at topology.SwitchID) topology.PortID { return l.ToSwitch(at, d) }, distance[d])
		}
	}
	text := string(dump)
	// What a shell shows around the tables is passed over.
	shown := "root@sm:~# dump_lfts.sh\n" + strings.Replace(text, "\nUnicast", "\n\n[root@sm ~]$ ibroute 3\nibwarn: [1] x\nUnicast", 1)
	if again := simtest.Must(ReadLFTs(strings.NewReader(shown), "lfts", g))(t); !slices.Equal(again.next, l.next) {
		t.Error("other tables")
	}
	lines := strings.SplitAfter(text, "\n")
	checkProblems(t, "lfts", func(r io.Reader, name string) (*LFTs, error) { return ReadLFTs(r, name, g) }, []problem{
		{"something else", "hello\n", "lfts:1: \"hello\" is not a line"},
		{"unknown switch", strings.Replace(text, "guid 0x0000000000200000", "guid 0x0000000000900000", 1), "lfts:1: switch 0x0000000000900000 is not in the fabric"},
		{"unknown host", strings.Replace(text, "portguid 0x0000000000100001", "portguid 0x0000000000900001", 1), "lfts:2: LID 0x0001"},
		{"port without cable", strings.Replace(text, "0x0001 001 #", "0x0001 009 #", 1), "lfts:2: L0_0 has no cable at port 9"},
		{"row too many", strings.Replace(text, "208 lids dumped", "207 lids dumped", 1), "lfts:210: 207 rows said, 208 read"},
		{"row lost, rows counted", lines[0] + strings.Replace(strings.Join(lines[2:], ""), "208 lids dumped", "208 valid lids dumped", 1), "lfts:209: 208 rows said, 207 read"},
		{"multicast LID", strings.Replace(text, "0x0001 001 #", "0xc001 001 #", 1), "lfts:2: LID 0xc001: want 0x0001 to 0xbfff"},
		{"port of 9 bits", strings.Replace(text, "0x0001 001 #", "0x0001 256 #", 1), "lfts:2: port 256: want 0 to 255"},
		{"host by port 0", strings.Replace(text, "0x0001 001 #", "0x0001 000 #", 1), "lfts:2: LID 0x0001 by port 0, which is L0_0 itself"},
		{"row first", strings.Join(lines[1:], ""), "lfts:1: row before any switch"},
		{"cut within a table", strings.Join(lines[:300], ""), "lfts:300: the file ends within the table of L0_1"},
		{"cut between tables", strings.Join(lines[:210], ""), "lfts:210: no table of L0_1"},
		{"table twice", text + strings.Join(lines[:210], ""), "is a duplicate"},
	})
}

// With several LIDs a port the lowest counts.
func TestReadLFTsWithLMC(t *testing.T) {
	b := topology.NewBuilder(2, topology.Class{Name: "x"})
	b.AddTerminal(0, 0)
	b.AddLink(0, 1, 0)
	b.AddLink(0, 1, 0)
	g := b.Freeze()
	l, err := ReadLFTs(strings.NewReader(`Unicast lids [0x0-0x9] of switch Lid 8 guid 0x0000000000200000 ('S0'):
0x0005 001 # Channel Adapter portguid 0x0000000000100001: 'H0'
0x0004 001 # Channel Adapter portguid 0x0000000000100001: 'H0'
2 valid lids dumped
Unicast lids [0x0-0x9] of switch Lid 9 guid 0x0000000000200001 ('S1'):
0x0004 002 # Channel Adapter portguid 0x0000000000100001: 'H0'
0x0005 001 # Channel Adapter portguid 0x0000000000100001: 'H0'
2 valid lids dumped
`), "x", g)
	simtest.Check(t, err)
	// Ports of switch 1 are numbered 1 and 2; LID 4 goes by the second.
	if p := l.ToTerminal(1, 0); g.LocalPort(p) != 1 || l.ToSwitch(1, 0) != topology.NoPort {
		t.Errorf("by %s, to the switch by %d", g.PortName(p), l.ToSwitch(1, 0))
	}
}

// The forms of the tools say the same.
func TestReadLFTsForms(t *testing.T) {
	im := imported(t, ReadSim, "ft2_8.net")
	g := im.Graph()
	dump := string(readTestdata(t, "ft2_8.dfsssp.lfts.dump.gz"))
	fdbs := string(readTestdata(t, "ft2_8.dfsssp.fdbs.gz"))
	want := simtest.Must(ReadLFTs(strings.NewReader(dump), "dump", g))(t)
	// ibroute's rows end in parentheses, and it counts those that it prints.
	ibroute := regexp.MustCompile(`(?m) # (.*)$`).ReplaceAllString(dump, " : ($1)")
	ibroute = regexp.MustCompile(`(?m)^(Unicast.*)\('(.*)'\):$`).ReplaceAllString(ibroute, "$1($2):\n  Lid  Out   Destination\n       Port     Info ")
	ibroute = strings.ReplaceAll(ibroute, "44 lids dumped", "44 valid lids dumped ")
	var reduced, written strings.Builder
	for _, line := range strings.Split(fdbs, "\n") {
		if guid, ok := strings.CutPrefix(line, "dump_ucast_routes: Switch 0x"); ok {
			reduced.WriteString("\n" + guid + " 0:")
		} else if fields := strings.Fields(line); len(fields) == 7 && fields[0] != "LID" {
			reduced.WriteString(" " + strings.TrimPrefix(strings.TrimPrefix(fields[2], "0"), "0"))
		}
	}
	simtest.Check(t, want.Write(&written))
	// What is written is what OpenSM wrote, but for the order of the switches and
	// the words for the SM's adapter.
	if got := written.String(); sortedLines(got) != sortedLines(dump) {
		t.Errorf("written tables differ: %s", firstDifference([]byte(sortedLines(got)), []byte(sortedLines(dump))))
	}
	for name, text := range map[string]string{"fdbs": fdbs, "ibdiagnet": strings.ReplaceAll(fdbs, "dump_ucast", "osm_ucast_mgr_dump_ucast"), "ibroute": ibroute, "reduced": reduced.String()} {
		l, err := ReadLFTs(strings.NewReader(text), name, g)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !slices.Equal(l.next, want.next) || !slices.Equal(l.lids.end, want.lids.end) {
			t.Errorf("%s reads as other tables", name)
		}
	}
	if d, ok := want.LIDs().of(2); !ok || d != g.Terminals()+slices.IndexFunc(g.Names.Switches, func(s topology.SwitchName) bool { return s.Name == "L0" }) {
		t.Errorf("LID 2 is of destination %d", d)
	}
	if d, ok := want.LIDs().of(5); !ok || g.TerminalName(topology.TerminalID(d)) != "H1" {
		t.Errorf("LID 5 is of destination %d", d)
	}
	// OpenSM knows of LIDs that nobody has any more.
	stale := strings.Replace(strings.Replace(dump, "44 lids dumped", "0x00ff 003 # unknown node and type\n255 lids dumped", 1), "[0-44]", "[0-255]", 1)
	if l, err := ReadLFTs(strings.NewReader(stale), "stale", g); err != nil || !slices.Equal(l.next, want.next) {
		t.Errorf("a row of a LID that nobody has: %v", err)
	}
	lines := strings.SplitAfter(fdbs, "\n")
	for _, c := range []struct{ name, text, want string }{
		{"cut", strings.Join(lines[:len(lines)-5], ""), "the file ends within the table of S3"},
		{"unreachable", strings.Replace(fdbs, "0x000B : 004  : 01   : yes", "0x000B : UNREACHABLE", 1), ""},
		{"two owners", strings.Replace(fdbs, "0x000E : 005  : 03   : yes", "0x000E : 004  : 01   : yes", 1), "LID 0x000e: an earlier table sends it to another end port"},
		{"port without cable", strings.Replace(fdbs, "0x000B : 004 ", "0x000B : 012 ", 1), "x:13: L0 has no cable at port 12"},
	} {
		l, err := ReadLFTs(strings.NewReader(c.text), "x", g)
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		case c.want == "" && (err != nil || l.LIDs().Highest() != 44):
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// ToSwitch is the port by which s sends to switch d, or NoPort.
func (l *LFTs) ToSwitch(s, d topology.SwitchID) topology.PortID {
	return l.next[l.cell(s)+l.graph.Terminals()+int(d)]
}

func sortedLines(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func FuzzReadLFTs(f *testing.F) {
	fuzzTables(f, func(r io.Reader, name string, g *topology.Graph, _ *LIDs) (*LFTs, error) { return ReadLFTs(r, name, g) }, "Unicast lids [0-3] of switch Lid 3 guid 0x0000000000200000 ('S0'):\n0x0001 001 # Channel Adapter portguid 0x0000000000100001: 'H0'\n1 lids dumped\n")
}
