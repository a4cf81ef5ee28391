package ib

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/arbitration"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/simtest"
)

// readFT2 is OpenSM's fat tree of eight-port switches and its LIDs.
func readFT2(t testing.TB) (*topology.Graph, *LIDs) {
	im := imported(t, ReadSim, "ft2_8.net")
	l := simtest.Must(ReadLFTs(bytes.NewReader(readTestdata(t, "ft2_8.dfsssp.lfts.dump.gz")), "lfts", im.Graph()))(t)
	return im.Graph(), l.LIDs()
}

// OpenSM's default with eight lanes is 0 to 7 twice, at all ports; a changed row is
// found where it was changed, in all four forms.
func TestReadSL2VL(t *testing.T) {
	g, lids := readFT2(t)
	text := string(readTestdata(t, "ft2_8.dfsssp.sl2vl.dump.gz"))
	const ordinary, changed Lanes = 0x7654321076543210, 0x00000000000000f3
	// L0 is the first node; its first row from port 5 to port 2 is the one.
	text = strings.Replace(text, "\n5   2   : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7", "\n5   2   : 3  15 0  0  0  0  0  0  0  0  0  0  0  0  0  0", 1)
	own := "Switch 0x0000000000200000, base LID 3, \"L0\"\n5 2 : 3 15 0 0 0 0 0 0 0 0 0 0 0 0 0 0\nall ports: 0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7\n" // of ports that no row is of
	for form, text := range map[string]string{"OpenSM": text, "ibdiagnet": asBytes(text), "smpquery": asQuery(text), "weft": own} {
		t.Run(form, func(t *testing.T) {
			m := simtest.Must(ReadSL2VL(strings.NewReader(text), "x", g, lids))(t)
			n := newSubnet(strings.NewReader(""), "", g, nil)
			for s := range topology.SwitchID(g.Switches()) {
				first, end := g.Ports(s)
				for in := first; in < end; in++ {
					for out := first; out < end; out++ {
						want := ordinary
						if s == 0 && in == n.port(0, 5) && out == n.port(0, 2) {
							want = changed
						}
						got := m.Switch(in, out)
						simtest.FatalIf(t, got != want, "from %s to %s: %x, want %x", g.PortName(in), g.PortName(out), got, want)
					}
				}
			}
			simtest.ErrorIf(t, m.Host(3) != ordinary || m.Host(3).Lane(9) != 1, "H3: %x", m.Host(3))
		})
	}
	checkProblems(t, "x", inSubnet(ReadSL2VL, g, lids), []problem{
		{"cut", text[:strings.Index(text, "\n3   4   :")], "no row of L0 for packets from port 1 to port 5"},
		{"no such lane", strings.Replace(text, "1   1   : 0  1", "1   1   : 16  1", 1), "x:5: lane 16 of service level 0: want 0 to 15"},
		{"lanes missing", strings.Replace(text, "1   1   : 0  1", "1   1   : 1", 1), "x:5: 15 lanes: want 16"},
		{"no such port", strings.Replace(text, "8   1   :", "9   1   :", 1), "x:12: ports 9 and 1 of L0: want 0 to 8"},
		{"row twice", strings.Replace(text, "8   1   :", "7   1   :", 1), "x:12: the row of ports 7 and 1 of L0 is a duplicate"},
		{"unknown switch", strings.Replace(text, "Switch 0x0000000000200000", "Switch 0x0000000000900000", 1), "x:1: GUID 0x0000000000900000 is not in the fabric"},
		{"something else", "hello\n", "x:1: \"hello\" is not a line"},
		{"none written", "-\n", "x:1: no tables, as weft routes writes without qos"},
		{"few lanes", "all ports: 0,1\n", "x:1: 2 lanes: want 16"},
		{"no node", "1 2 : 0 1 2 3 4 5 6 7 0 1 2 3 4 5 6 7\n", "x:1: row before any node"},
	})
}

var dumpNode = regexp.MustCompile(`^(?:Switch|Channel Adapter) (0x[0-9a-f]+), base LID (\d+)`)

// asBytes puts OpenSM's dump into ibdiagnet's form.
func asBytes(text string) string {
	var b strings.Builder
	guid := ""
	for _, line := range strings.Split(text, "\n") {
		if m := dumpNode.FindStringSubmatch(line); m != nil {
			guid = m[1]
		} else if m := mapRow().FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			fmt.Fprintf(&b, "%s %s %s", guid, m[1], m[2])
			lanes := strings.Fields(m[3])
			for i := 0; i < len(lanes); i += 2 {
				var high, low int
				fmt.Sscan(lanes[i], &high)
				fmt.Sscan(lanes[i+1], &low)
				fmt.Fprintf(&b, " 0x%x%x", high, low)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// asQuery puts OpenSM's dump into smpquery's form.
func asQuery(text string) string {
	var b strings.Builder
	for _, line := range strings.Split(text, "\n") {
		if m := dumpNode.FindStringSubmatch(line); m != nil {
			fmt.Fprintf(&b, "== smpquery sl2vl %s\n# SL2VL table: Lid %s\n#                 SL: | 0| 1|\n", m[2], m[2])
		} else if m := mapRow().FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			fmt.Fprintf(&b, "ports: in %2s, out %2s: |", m[1], m[2])
			for _, lane := range strings.Fields(m[3]) {
				fmt.Fprintf(&b, "%2s|", lane)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func FuzzReadSL2VL(f *testing.F) {
	fuzzTables(f, ReadSL2VL, "Switch 0x0000000000200000, base LID 3, \"S0\"\n1   2   : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7\n2 1 : 0  1  2  3  4  5  6  7  0  1  2  3  4  5  6  7\n",
		"0x0000000000200000 1 2 0x01 0x23 0x45 0x67 0x89 0xab 0xcd 0xe7\n",
		"# SL2VL table: Lid 3\nports: in  1, out  2: | 0| 1| 2| 3| 0| 1| 2| 3| 0| 1| 2| 3|15|15|15|15|\n")
}

// levels of pairs that no two pairs near to each other share.
func levelOf(src, dst int) int { return (3*src + 5*dst) % 16 }

// The three forms say the same of OpenSM's fat tree.
func TestReadPathLevels(t *testing.T) {
	g, lids := readFT2(t)
	names := newSubnet(strings.NewReader(""), "", g, nil).Names
	var lidOf []int // by terminal
	for lid := range lids.Highest() + 1 {
		if h, ok := lids.of(lid); ok && h < g.Terminals() {
			simtest.FatalIf(t, h != len(lidOf), "LID %d is of terminal %d", lid, h)
			lidOf = append(lidOf, lid)
		}
	}
	var reduced, triples, dump strings.Builder
	reduced.WriteString("# one line per source LID; the LIDs:")
	for _, lid := range lidOf {
		fmt.Fprintf(&reduced, " %d", lid)
	}
	for src, lid := range lidOf {
		fmt.Fprintf(&reduced, "\n%d ", lid)
		fmt.Fprintf(&dump, "Channel Adapter 0x%016x, base LID %d, \"%s\"\n# LID : SL\n", names.Terminals[src].PortGUID, lid, names.Terminals[src].Name)
		for dst, to := range lidOf {
			fmt.Fprintf(&reduced, "%x", levelOf(src, dst))
			fmt.Fprintf(&triples, "0x%016x %d %d\n", names.Terminals[src].PortGUID, to, levelOf(src, dst))
			fmt.Fprintf(&dump, "0x%04X : %d\n", to, levelOf(src, dst))
		}
	}
	dump.WriteString("Switch 0x0000000000200000, base LID 2, \"L0\"\n0x0001 : 4\n")
	for form, text := range map[string]string{"reduced": reduced.String(), "ibdiagnet": triples.String(), "OpenSM": dump.String()} {
		l, err := ReadPathLevels(strings.NewReader(text), "x", g, lids)
		if err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		for src := range g.Terminals() {
			for dst := range g.Terminals() {
				got := l.Of(topology.TerminalID(src), topology.TerminalID(dst))
				simtest.FatalIf(t, got != levelOf(src, dst), "%s: level %d from H%d to H%d, want %d", form, got, src, dst, levelOf(src, dst))
			}
		}
	}
	text := reduced.String()
	lines := strings.SplitAfter(text, "\n")
	checkProblems(t, "x", inSubnet(ReadPathLevels, g, lids), []problem{
		{"cut", strings.Join(lines[:20], ""), "x:20: no service level from H19 to H0"},
		{"levels missing", strings.Replace(text, "\n1 0", "\n1 ", 1), "x:2: 31 levels for 32 destinations"},
		{"no such LID", strings.Replace(text, "\n1 0", "\n99 0", 1), "x:2: LID 99: no port"},
		{"no columns", strings.Join(lines[1:], ""), "x:1: levels before the line"},
		{"level 16", "0x0000000000100001 5 16\n", "x:1: service level 16: want 0 to 15"},
		{"unknown source", "0x0000000000900001 5 1\n", "x:1: GUID 0x0000000000900001 is not in the fabric"},
		{"something else", "hello\n", "x:1: \"hello\" is not a line"},
		{"row first", "0x0001 : 4\n", "x:1: row before any node"},
	})
}

func FuzzReadPathLevels(f *testing.F) {
	fuzzTables(f, func(r io.Reader, name string, g *topology.Graph, lids *LIDs) (*PathLevels, error) {
		l, err := ReadPathLevels(r, name, g, lids)
		if err == nil && l.Of(0, 1) > 15 {
			err = fmt.Errorf("level %d", l.Of(0, 1))
		}
		return l, err
	}, "# to: 1 2\n1 0f\n2 30\n", "0x0000000000100001 1 0\n",
		"Channel Adapter 0x0000000000100001, base LID 1, \"H0\"\n0x0001 : 3\n")
}

// What OpenSM set by its options: the lists of custom, padded with 0:0 to the eight
// entries that ibsim's ports have.
func TestReadVLArbitration(t *testing.T) {
	g, lids := readFT2(t)
	n := newSubnet(strings.NewReader(""), "", g, nil)
	pad := func(entries ...arbitration.Entry) []arbitration.Entry {
		return append(entries, make([]arbitration.Entry, 8-len(entries))...)
	}
	defaultTables := arbitration.Tables{
		High: []arbitration.Entry{{Lane: 0, Weight: 4}, {Lane: 1}, {Lane: 2}, {Lane: 3}, {Lane: 4}, {Lane: 5}, {Lane: 6}, {Lane: 7}},
		Low: []arbitration.Entry{{Lane: 0}, {Lane: 1, Weight: 4}, {Lane: 2, Weight: 4}, {Lane: 3, Weight: 4},
			{Lane: 4, Weight: 4}, {Lane: 5, Weight: 4}, {Lane: 6, Weight: 4}, {Lane: 7, Weight: 4}}}
	for _, c := range []struct {
		file string
		want arbitration.Tables
		host arbitration.Tables
	}{
		{"qos.custom.txt", arbitration.Tables{High: pad(arbitration.Entry{Lane: 1, Weight: 64}, arbitration.Entry{Lane: 2, Weight: 128}),
			Low: pad(arbitration.Entry{Lane: 0, Weight: 4}, arbitration.Entry{Lane: 3, Weight: 8}, arbitration.Entry{Lane: 2, Weight: 16})},
			arbitration.Tables{High: pad(arbitration.Entry{Lane: 1, Weight: 10}), Low: pad(arbitration.Entry{Lane: 0, Weight: 20})}},
		{"qos.default.txt", defaultTables, defaultTables},
	} {
		text := strings.Replace(string(readTestdata(t, c.file)), "VLHighLimit:.....................0", "VLHighLimit:.....................9", 1)
		tables := simtest.Must(ReadVLArbitration(strings.NewReader(text), "x", g, lids))(t)
		limited := c.want // portinfo of port 1 comes first
		limited.Limit = 9
		for p, got := range tables.Ports {
			switch topology.PortID(p) { // LID 2 is L0, port 1 leads to a host and 5 to a switch
			case n.port(0, 1):
				simtest.ErrorIf(t, got == nil || !reflect.DeepEqual(*got, limited), "%s: port 1 has %+v, want %+v", c.file, got, limited)
			case n.port(0, 5):
				simtest.ErrorIf(t, got == nil || !reflect.DeepEqual(*got, c.want), "%s: port 5 has %+v, want %+v", c.file, got, c.want)
			default:
				simtest.ErrorIf(t, got != nil, "%s: %s has tables", c.file, g.PortName(topology.PortID(p)))
			}
		}
		for host, got := range tables.Terminals { // LID 5 is asked about
			if at, _ := lids.of(5); host != at {
				simtest.ErrorIf(t, got != nil, "%s: %s has tables", c.file, g.TerminalName(topology.TerminalID(host)))
			} else if got == nil || !reflect.DeepEqual(*got, c.host) {
				t.Errorf("%s: %s has %+v, want %+v", c.file, g.TerminalName(topology.TerminalID(at)), got, c.host)
			}
		}
	}
	// The same files hold SL2VL tables of one port and one host.
	_, err := ReadSL2VL(strings.NewReader(string(readTestdata(t, "qos.custom.txt"))), "x", g, lids)
	simtest.ErrorIf(t, err == nil || !strings.Contains(err.Error(), "no row of L0 for packets from port 1 to port 2"), "%v", err)
	text := string(readTestdata(t, "qos.custom.txt"))
	change := func(old, new string) string { return strings.Replace(text, old, new, 1) }
	checkProblems(t, "x", inSubnet(ReadVLArbitration, g, lids), []problem{
		{"cut", text[:strings.Index(text, "# High")], "the tables before are cut"},
		{"no tables", "# nothing\n", "no arbitration tables"},
		{"LID", change("tables: Lid 2", "tables: Lid 77"), "x:2: LID 77: no port"},
		{"port", change("Lid 2 port 1", "Lid 2 port 11"), "x:2: port 11 of L0: want 0 to 8"},
		{"weight", change("|0x40|", "|0x140|"), "x:8: \"0x140\": want a number of 8 bits"},
		{"lane", change("VL    : |0x1 |", "VL    : |0xf |"), "x:8: a weight for lane 15"},
		{"more weights", change("|0x4 |0x8 |", "|0x4 |0x8 |0x8 |"), "x:5: 9 weights for 8 lanes"},
		{"fewer weights", change("|0x4 |0x8 |", "|0x4 |"), "x:5: 1 lanes without a weight"},
		{"twice", change("Lid 2 port 5", "Lid 2 port 1"), "the tables of L0 port 1 are a duplicate"},
		{"limit", change("VLHighLimit:.....................0", "VLHighLimit:....300"), "VLHighLimit 300: want 0 to 255"},
		{"something else", "hello\n", "x:1: \"hello\" is not a line"},
		{"row first", "VL    : |0x0 |\n", "x:1: row before any port"},
	})
}

func FuzzReadVLArbitration(f *testing.F) {
	fuzzTables(f, ReadVLArbitration, "# VLArbitration tables: Lid 3 port 2 LowCap 8 HighCap 8\n# Low priority VL Arbitration Table:\nVL    : |0x0 |0x1 |\nWEIGHT: |0x4 |0x8 |\n# High priority VL Arbitration Table:\nVL    : |0x0 |\nWEIGHT: |0xff|\n",
		"== smpquery portinfo 3 1\nVLHighLimit:.....3\n")
}

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
			simtest.FatalIf(t, p == topology.NoPort || hops > want,
				"from %s to %s: no way on from %s after %d hops, want %d", g.SwitchName(from), g.SwitchName(to), g.SwitchName(s), hops, want)
			q, _ := g.PeerPort(p)
			s = g.PortSwitch[q]
		}
		simtest.FatalIf(t, hops != want, "%d hops from %s to %s, want %d", hops, g.SwitchName(from), g.SwitchName(to), want)
	}
	for s := range topology.SwitchID(g.Switches()) {
		distance := g.DistancesFrom(s, nil)
		for m := range topology.TerminalID(g.Terminals()) {
			home := g.TerminalSwitch(m)
			walk(s, home, func(at topology.SwitchID) topology.PortID { return l.ToTerminal(at, m) }, distance[home])
			simtest.FatalIf(t, l.ToTerminal(home, m) != g.TerminalPort[m], "%s sends to its host %s by another port", g.SwitchName(home), g.TerminalName(m))
		}
		for d := range topology.SwitchID(g.Switches()) {
			walk(s, d, func(at topology.SwitchID) topology.PortID { return l.ToSwitch(at, d) }, distance[d])
		}
	}
	text := string(dump)
	// What a shell shows around the tables is passed over.
	shown := "root@sm:~# dump_lfts.sh\n" + strings.Replace(text, "\nUnicast", "\n\n[root@sm ~]$ ibroute 3\nibwarn: [1] x\nUnicast", 1)
	simtest.ErrorIf(t, !slices.Equal(simtest.Must(ReadLFTs(strings.NewReader(shown), "lfts", g))(t).next, l.next), "other tables")
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
	p := l.ToTerminal(1, 0)
	simtest.ErrorIf(t, g.LocalPort(p) != 1 || l.ToSwitch(1, 0) != topology.NoPort, "by %s, to the switch by %d", g.PortName(p), l.ToSwitch(1, 0))
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
	got := written.String()
	simtest.ErrorIf(t, sortedLines(got) != sortedLines(dump), "written tables differ: %s", firstDifference([]byte(sortedLines(got)), []byte(sortedLines(dump))))
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
	d, ok := want.LIDs().of(5)
	simtest.ErrorIf(t, !ok || g.TerminalName(topology.TerminalID(d)) != "H1", "LID 5 is of destination %d", d)
	// OpenSM knows of LIDs that nobody has any more.
	stale := strings.Replace(strings.Replace(dump, "44 lids dumped", "0x00ff 003 # unknown node and type\n255 lids dumped", 1), "[0-44]", "[0-255]", 1)
	l, err := ReadLFTs(strings.NewReader(stale), "stale", g)
	simtest.ErrorIf(t, err != nil || !slices.Equal(l.next, want.next), "a row of a LID that nobody has: %v", err)
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
