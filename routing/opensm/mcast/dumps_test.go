package mcast

import (
	"bytes"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/multicast"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// OpenSM restores groups from a dump and dumps them again: this reads and writes the same bytes. (The 8-port fat tree's
// groups were joined by hosts, so that OpenSM also wrote who came first, which is of no use here.)
func TestSADumpRoundTrip(t *testing.T) {
	env := opensmFabric(t, "torus_4x4x4_1")
	for _, name := range []string{"random_64_256x8.sa.gz", "grid_4x4x4.sa.gz", "gridperm1_8x8.sa.gz"} {
		file := opensmFile(t, name)
		groups := simtest.Must(ReadSADump(bytes.NewReader(file), name, env.Graph))(t)
		var out bytes.Buffer
		simtest.Check(t, WriteSADump(&out, env.Graph, groups))
		simtest.ErrorIf(t, out.String() != string(file), "%s: %s", name, firstDifference(out.String(), string(file)))
	}
}

// What OpenSM wrote of 24 groups that hosts joined over the network, with the broadcast group that
// no one joined, holds the groups of the file that the joins came from.
func TestSADumpOfJoinedGroups(t *testing.T) {
	env := opensmFabric(t, "ft3_8")
	joined, planned := groupsOf(t, env.Graph, "ft3_8.grid_8x16.opensm-sa.dump.gz"), groupsOf(t, env.Graph, "grid_8x16.sa.gz")
	simtest.FatalIf(t, len(joined) != 25 || joined[0].MLID != BroadcastMLID || joined[0].Size() != 0,
		"%d groups, the first %+v; want 25, the first 0xc000 without members", len(joined), joined[0])
	for i, g := range planned {
		j := joined[i+1]
		simtest.ErrorIf(t, j.MLID != g.MLID || !reflect.DeepEqual(j.Terminals, g.Terminals),
			"group %#x has terminals %v, planned are %v of %#x", j.MLID, j.Terminals, g.Terminals, g.MLID)
	}
}

const saTail = " qkey=0x00000b1b mlid=%s mtu=0x84 tclass=0x00 pkey=0xffff rate=0x83 pkt_life=0x92 sl_flow_hop=0x00000000 scope_state=0x21 proxy_join=0x0\n\n"

// saRecord is a group's record.
func saRecord(mlid, mgid string) string {
	return "MC Group " + mlid + " : mgid=" + mgid + " port_gid=0x0:0x0" + fmt.Sprintf(saTail, mlid)
}

func saMember(guid string) string {
	return "mcm_port: port_gid=0xfe80000000000000:" + guid + " scope_state=0x21 proxy_join=0x0\n\n"
}

// Switches and hosts as members, copies, other records, groups of IPv6 neighbour discovery that share an MLID.
func TestReadSADump(t *testing.T) {
	graph := chain(4)
	text := "# restored\r\n" + saRecord("0xc001", "0x1:0x1") + saMember("0x0000000000200002") + saMember("0x0000000000100007") + saMember("0x100001") + saMember("0x100001") +
		"Service Record: id=0x1 name='x'\n\nInformInfo Record: subscriber_gid=0x1:0x2\n\n" +
		saRecord("0xc002", "0xff12601bffff0000:0x1ff000001") + saMember("0x100001") +
		saRecord("0xc002", "0xff12601bffff0000:0x1ff000002") + saMember("0x100003")
	groups := simtest.Must(ReadSADump(strings.NewReader(text), "x.sa", graph))(t)
	type members struct {
		terminals []topology.TerminalID
		switches  []topology.SwitchID
	}
	var got []members
	for _, g := range groups {
		got = append(got, members{g.Terminals, g.Switches})
	}
	want := []members{{[]topology.TerminalID{0, 3}, []topology.SwitchID{2}}, {[]topology.TerminalID{0, 1}, nil}}
	simtest.ErrorIf(t, !reflect.DeepEqual(got, want), "%v, want %v", got, want)
	// 0 and 1 are the hosts with the port GUIDs 0x100001 and 0x100003.
	simtest.ErrorIf(t, groups[0].Line != 2 || groups[0].ID != 0 || groups[1].ID != 1, "lines and ids: %+v", groups)
}

func TestReadSADumpProblems(t *testing.T) {
	graph, good := chain(4), saRecord("0xc001", "0x1:0x1")
	for _, c := range []struct{ name, text, want string }{
		{"another file", "hello\n", "x.sa:1: \"hello\" is not a record"},
		{"unknown port", good + saMember("0x999"), "x.sa:3: group 0xc001: port 0000000000000999 is not in the fabric"},
		{"member first", saMember("0x100001"), "x.sa:1: member record before any group"},
		{"MLID too low", saRecord("0xbfff", "0x1:0x1"), "x.sa:1: group record without an MLID"},
		{"MLID too high", saRecord("0xffff", "0x1:0x1"), "x.sa:1: group record without an MLID"},
		{"MLIDs disagree", strings.Replace(good, "mlid=0xc001", "mlid=0xc002", 1), "x.sa:1: group 0xc001 has mlid=0xc002"},
		{"MLID twice", good + saRecord("0xc001", "0x1:0x2"), "x.sa:3: MLID 0xc001 is a duplicate: the group in line 1"},
		{"MGID twice", good + saRecord("0xc002", "0x1:0x1"), "x.sa:3: MGID 0000000000000001:0000000000000001 is a duplicate: first in line 1"},
		{"field missing", strings.Replace(good, "qkey=", "qqkey=", 1), "x.sa:1: group 0xc001: qkey= is missing"},
		{"fields out of order", strings.Replace(good, " mtu=0x84 tclass=0x00", " tclass=0x00 mtu=0x84", 1), "x.sa:1: group 0xc001: tclass= is missing"},
		{"field too wide", strings.Replace(good, "mtu=0x84", "mtu=0x184", 1), "x.sa:1: group 0xc001: mtu=0x184"},
		{"half a GID", strings.Replace(good, "mgid=0x1:0x1", "mgid=0x1", 1), "x.sa:1: group 0xc001: mgid=0x1: want two"},
		{"record cut", good[:len(good)/2], "x.sa:1: group 0xc001"},
		{"member cut", good + saMember("0x100001")[:60], "x.sa:3: member: "},
	} {
		simtest.Refuse(ReadSADump(strings.NewReader(c.text), "x.sa", graph))(t, c.want)
	}
}

func TestReadMCFDBsProblems(t *testing.T) {
	graph, head := chain(4), "\nSwitch 0x0000000000200000\nLID    : Out Port(s)\n"
	tables := simtest.Must(ReadMCFDBs(strings.NewReader(head+"0xC001 : 0x000  0x002 \n"), "x", graph))(t)
	simtest.ErrorIf(t, !reflect.DeepEqual(tables[0], []MFTRow{{0xc001, []uint8{0, 2}}}), "%v", tables)
	for _, c := range []struct{ name, text, want string }{
		{"another file", "hello\n", "x:1: \"hello\": want an MLID"},
		{"unknown switch", "Switch 0x999\n0xC001 : 0x001 \n", "x:1: switch 0000000000000999 is not in the fabric"},
		{"no GUID", "Switch zz\n", "x:1: switch without a GUID"},
		{"switch twice", head + head, "x:5: switch 0000000000200000 is a duplicate"},
		{"row first", "0xC001 : 0x001 \n", "x:1: row before any switch"},
		{"order", head + "0xC002 : 0x001 \n0xC001 : 0x001 \n", "x:5: row 0xc001 is out of order"},
		{"ports out of order", head + "0xC001 : 0x002  0x001 \n", "x:4: row 0xc001: port \"0x001\""},
		{"port too high", head + "0xC001 : 0x003 \n", "x:4: row 0xc001 has a port beyond 2"},
		{"no ports", head + "0xC001 : \n", "x:4: row 0xc001 has no ports"},
		{"no MLID", head + "0x0001 : 0x001 \n", "x:4: "},
	} {
		_, err := ReadMCFDBs(strings.NewReader(c.text), "x", graph)
		simtest.Fail(t, err, c.want)
		simtest.ErrorIf(t, strings.Contains(err.Error(), "\n"), "%s: %v, want one problem", c.name, err)
	}
}

// What reads without problem reads the same after being written; problems name file and line.
func FuzzReadSADump(f *testing.F) {
	graph := chain(4)
	f.Add(saRecord("0xc001", "0x1:0x1") + saMember("0x200002") + saMember("0x100001"))
	f.Add("Service Record: id=0x1\n\n" + saMember("0x100001") + saRecord("0xc000", "0xff12601bffff0000:0x1ff000001"))
	f.Fuzz(func(t *testing.T, text string) {
		groups, err := ReadSADump(strings.NewReader(text), "fuzz", graph)
		if err != nil {
			simtest.ErrorIf(t, !strings.HasPrefix(err.Error(), "fuzz:"), "an error without file: %v", err)
			return
		}
		var out bytes.Buffer
		simtest.Check(t, WriteSADump(&out, graph, groups))
		again := simtest.Must(ReadSADump(&out, "fuzz", graph))(t)
		for i := range groups {
			groups[i].Line, again[i].Line = 0, 0
		}
		simtest.ErrorIf(t, len(again) != len(groups) || !reflect.DeepEqual(again, groups) && len(groups) > 0, "%+v, then %+v", groups, again)
	})
}

func FuzzReadMCFDBs(f *testing.F) {
	graph := chain(4)
	f.Add("\nSwitch 0x0000000000200000\nLID    : Out Port(s)\n0xC001 : 0x000  0x002 \n")
	f.Fuzz(func(t *testing.T, text string) {
		tables, err := ReadMCFDBs(strings.NewReader(text), "fuzz", graph)
		if err != nil {
			return
		}
		var out bytes.Buffer
		simtest.Check(t, WriteMCFDBs(&out, graph, tables))
		again, err := ReadMCFDBs(&out, "fuzz", graph)
		simtest.ErrorIf(t, err != nil || fmt.Sprint(again) != fmt.Sprint(tables), "%v, then %v, %v", tables, again, err)
	})
}

func FuzzReadLIDMatrix(f *testing.F) {
	graph := chain(2)
	f.Add("Switch: guid 0x0000000000200000\n0x0003: 00 01 02 # portguid 0x0000000000200000\n0x0004: 01 ff 01 # portguid 0x0000000000200001\n" +
		"Switch: guid 0x0000000000200001\n0x0003: 01 ff 01 # portguid 0x0000000000200000\n0x0004: 00 ff ff # portguid 0x0000000000200001\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ReadLIDMatrix(strings.NewReader(text), "fuzz", graph)
		if err != nil {
			simtest.ErrorIf(t, !strings.HasPrefix(err.Error(), "fuzz:"), "an error without file: %v", err)
			return
		}
		env := newEnv(t, graph)
		e := simtest.Must(NewMinHopMCFrom(env, m))(t)
		if e.Join(multicast.NewGroup(0, []topology.TerminalID{0, 1}, nil)) == nil {
			simtest.Check(t, e.Forest().Check())
		}
	})
}

// From OpenSM's files to OpenSM's tables, and a table of all engines.
func TestJob(t *testing.T) {
	env := opensmFabric(t, "torus_4x4x4_1")
	groups := groupsOf(t, env.Graph, "random_64_256x8.sa.gz")
	job := Job{Graph: env.Graph, Groups: groups, GroupsName: "groups.sa", Entries: multicast.Unlimited, Engine: "minhop-mc", Threads: 1, Seed: 1}
	report := simtest.Must(job.Run())(t)
	simtest.FatalIf(t, len(report.Reports) != len(multicast.Registry.Names()) || report.Reports[0].Engine != "minhop-mc",
		"%d engines, the first %s", len(report.Reports), report.Reports[0].Engine)
	files := filesOf(t, report)
	got, want := string(files["minhop-mc.mcfdbs"]), string(opensmFile(t, "torus_4x4x4_1.minhop.random_64_256x8.mcfdbs.gz"))
	simtest.ErrorIf(t, got != want, "tables: %s", firstDifference(got, want))
	got, want = string(files["minhop-mc.sa"]), string(opensmFile(t, "random_64_256x8.sa.gz"))
	simtest.ErrorIf(t, got != want, "groups: %s", firstDifference(got, want))
	// Without sharing every one of the 256 groups takes an entry; EFI 40 and 79 are OpenSM's.
	simtest.Says(t, string(files["engines.csv"]), "minhop-mc,256,", ",40,", "opensm-sssp,256,", ",79,")
	// What a folder has of other engines goes, files of other names stay.
	names := FileNames()
	simtest.ErrorIf(t, !slices.Contains(names, "opensm-sssp.mcfdbs") || !slices.Contains(names, "opensm-sssp.sa") || slices.Contains(names, "notes.sa"), "%v", names)
	job.Entries = 100
	report = simtest.Must(job.Run())(t)
	refused, used := report.Reports[0].Refused, report.Reports[0].Limited.Colours
	simtest.ErrorIf(t, refused != 156 || used != 100, "%d refused with 100 entries for 256 groups, %d used", refused, used)
	kept, err := ReadSADump(bytes.NewReader(filesOf(t, report)["minhop-mc.sa"]), "kept", env.Graph)
	simtest.ErrorIf(t, err != nil || len(kept) != 100, "%d groups kept, %v", len(kept), err)
	var text bytes.Buffer
	err = report.WriteTable(&text)
	simtest.ErrorIf(t, err != nil || !strings.Contains(text.String(), "limited_max_efi"), "%v\n%s", err, text.String())
}

func filesOf(t *testing.T, r *JobReport) map[string][]byte {
	t.Helper()
	files := simtest.Must(r.Files())(t)
	for name := range files {
		simtest.ErrorIf(t, !slices.Contains(FileNames(), name), "%s is none of the names of files", name)
	}
	return files
}

// An engine that shares entries numbers them itself.
func TestJobWithSharedEntries(t *testing.T) {
	env := opensmFabric(t, "torus_4x4x4_1")
	groups := groupsOf(t, env.Graph, "grid_4x4x4.sa.gz")
	report := simtest.Must(Job{Graph: env.Graph, Groups: groups, Entries: multicast.Unlimited, Engine: "mr4lms", Engines: []string{"minhop-mc"}, Seed: 1}.Run())(t)
	rows := simtest.Must(ReadMCFDBs(bytes.NewReader(filesOf(t, report)["mr4lms.mcfdbs"]), "tables", env.Graph))(t)
	colours := report.Reports[0].Unlimited.Colours
	simtest.FatalIf(t, colours >= len(groups), "%d entries for %d groups: nothing is shared", colours, len(groups))
	for _, table := range rows {
		for _, row := range table {
			simtest.ErrorIf(t, int(row.MLID) >= FirstMLID+colours || row.MLID < FirstMLID, "MLID %#x with %d entries", row.MLID, colours)
		}
	}
}

func TestJobProblems(t *testing.T) {
	b := topology.NewBuilder(3, topology.Class{Name: "local"})
	for s := range topology.SwitchID(3) {
		b.AddTerminal(s, 0)
	}
	b.AddLink(0, 1, 0) // switch 2 stands alone
	graph := b.Freeze()
	group := func(line int, terminals ...topology.TerminalID) SAGroup {
		return SAGroup{Group: multicast.NewGroup(multicast.GroupID(line), terminals, nil), MLID: uint16(FirstMLID + line), Line: line}
	}
	good := Job{Graph: graph, Groups: []SAGroup{group(1, 0, 1), group(2, 2), group(3)}, GroupsName: "g.sa", Entries: 5, Engines: []string{"minhop-mc"}}
	r, err := good.Run()
	simtest.ErrorIf(t, err != nil || len(r.Routed) != 1 || r.Small != 2, "%+v, %v", r, err)
	for _, c := range []struct {
		name string
		edit func(*Job)
		want string
	}{
		{"no entries", func(j *Job) { j.Entries = 0 }, "entries = 0: want at least 1"},
		{"not connected", func(j *Job) { j.Groups = append(j.Groups, group(7, 0, 2)) }, "g.sa:7: MLID 0xc008: group 7: switch 0 and switch 2 are not connected"},
		{"no groups", func(j *Job) { j.Groups = nil }, "g.sa: none of its 0 groups has two members"},
		{"only small groups", func(j *Job) { j.Groups = j.Groups[1:] }, "g.sa: none of its 2 groups has two members"},
		{"unknown engine", func(j *Job) { j.Engine = "minhop" }, `unknown multicast engine "minhop"`},
	} {
		j := good
		c.edit(&j)
		simtest.Refuse(j.Run())(t, c.want)
	}
	// Where the subnet manager's own tables lead nowhere, the group is named.
	lost := good
	lost.Engine = "minhop-mc"
	lost.Matrix = &LIDMatrix{hopTable: newHopTable(3), graph: graph, lowest: slices.Repeat([]topology.PortID{topology.NoPort}, 9)}
	simtest.Refuse(lost.Run())(t, `"minhop-mc": g.sa:1: MLID 0xc002: `)
	// sssp refuses a fabric of two parts; that is a note unless it was asked for.
	both := good
	both.Engines = []string{"minhop-mc", "opensm-sssp"}
	r, err = both.Run()
	simtest.ErrorIf(t, err != nil || r.Reports[1].Err == nil, "%+v, %v", r, err)
	both.Engine = "opensm-sssp"
	_, err = both.Run()
	simtest.ErrorIf(t, err == nil, "the engine asked for failed in silence")
}

// The two real clusters, with their parallel cables of unequal number, hosts of two ports and switches without hosts, are routed by every engine.
func TestJobOnRealClusters(t *testing.T) {
	for _, file := range []string{"psmn-x5-2020-qdr-ddr.txt", "loginoff-2014-qdr-fdr10.txt"} {
		topo := simtest.Must(topology.ReadFile(filepath.Join("..", "..", "..", "fabric", "topology", "ib", "testdata", file)))(t)
		graph, draw := topo.Graph(), sim.NewStream(1, "clusters", 0)
		var groups []multicast.Group
		for i := range 60 {
			groups = append(groups, plainGroup(graph, i, &draw))
		}
		sa := saGroups(t, groups)
		var dump bytes.Buffer
		simtest.Check(t, WriteSADump(&dump, graph, sa))
		again := simtest.Must(ReadSADump(&dump, "sa", graph))(t)
		for _, engine := range multicast.Registry.Names() {
			r := simtest.Must(Job{Graph: graph, Groups: again, Engine: engine, Engines: []string{}, Entries: multicast.Unlimited, Seed: 1}.Run())(t)
			err := r.Reports[0].forest.Check()
			simtest.ErrorIf(t, err != nil, "%s, %s: %v", file, engine, err)
			filesOf(t, r)
		}
	}
}

// Equal jobs give equal files.
func TestJobIsReproducible(t *testing.T) {
	topo := simtest.Must(param.Make(topology.Registry, "dragonfly", struct{}{}, func(*topology.DragonflyConfig) {}))(t)
	groups := simtest.Must(param.Make(multicast.Patterns, "random", multicast.PatternEnv{Terminals: topo.Graph().Terminals(), Seed: 3}, func(*multicast.RandomConfig) {}))(t)
	sa := saGroups(t, groups)
	var texts []string
	for threads := 1; threads <= 3; threads++ {
		r := simtest.Must(Job{Graph: topo.Graph(), Groups: sa, Entries: 30, Threads: threads, Seed: 1, Engines: []string{"minhop-mc", "mr4lms", "opensm-sssp"}}.Run())(t)
		var text bytes.Buffer
		simtest.Check(t, r.WriteCSV(&text))
		texts = append(texts, text.String())
	}
	simtest.ErrorIf(t, texts[0] != texts[1] || texts[0] != texts[2], "tables differ:\n%s\n%s\n%s", texts[0], texts[1], texts[2])
}

// saGroups gives groups consecutive MLIDs, and MGIDs as transient, link-local groups have.
func saGroups(t *testing.T, groups []multicast.Group) []SAGroup {
	t.Helper()
	list := make([]SAGroup, len(groups))
	for i, g := range groups {
		number := simtest.Must(mlidOf(i))(t)
		list[i] = SAGroup{Group: g, MLID: number, MGID: [2]uint64{0xff12a01cfe800000, uint64(FirstMLID + i)}}
	}
	return list
}

// BenchmarkMinHopMC routes the lines of a process grid on the networks of the MR4LMS paper (Chen et
// al. 2021). OpenSM itself takes 20 to 40 ms a group on the fat tree.
func BenchmarkMinHopMC(b *testing.B) {
	for _, c := range []struct {
		name string
		make func() (topology.Topology, error)
		dims []int
	}{
		{"fat-tree", func() (topology.Topology, error) {
			return param.Make(topology.Registry, "fat-tree", struct{}{}, func(c *topology.FatTreeConfig) { c.K, c.N = 40, 3 })
		}, []int{128, 125}},
		{"torus", func() (topology.Topology, error) {
			return param.Make(topology.Registry, "torus", struct{}{}, func(c *topology.GridConfig) { c.Dims, c.Terminals = []int{30, 20, 20}, 2 })
		}, []int{28, 28, 28}},
	} {
		topo := simtest.Must(c.make())(b)
		env := simtest.Must(multicast.NewEnv(topo.Graph(), 0))(b)
		groups := simtest.Must(param.Make(multicast.Patterns, "grid", multicast.PatternEnv{Terminals: topo.Graph().Terminals(), Seed: 1}, func(g *multicast.GridConfig) { g.Dims = c.dims }))(b)
		b.Run(fmt.Sprintf("topo=%s/groups=%d", c.name, len(groups)), func(b *testing.B) {
			builder := multicast.NewMinHopMC(env.Graph, env.Hops)
			b.ReportAllocs()
			next := 0
			for b.Loop() {
				simtest.Must(builder.Build(&groups[next%len(groups)], nil))(b)
				next++
			}
		})
	}
}

// BenchmarkSSSPUnicast is the unicast phase of opensm-sssp on a fat tree of 1,024 terminals and 320 switches; OpenSM takes 310 to 370 ms.
func BenchmarkSSSPUnicast(b *testing.B) {
	topo := simtest.Must(param.Make(topology.Registry, "fat-tree", struct{}{}, func(c *topology.FatTreeConfig) { c.K, c.N = 16, 3 }))(b)
	for b.Loop() {
		simtest.Must(newSSSPMC(topo.Graph(), 0))(b)
	}
}

// matchesShortestPaths tells whether the table has all shortest paths, as OpenSM's minhop engine does.
func (m *LIDMatrix) matchesShortestPaths(hops *multicast.MinHop) bool {
	for t := range m.n {
		for s := range m.n {
			from, to := topology.SwitchID(s), topology.SwitchID(t)
			n := hops.Hops(from, to)
			if int(m.Row(to)[from]) != n || s != t && n != multicast.Unreachable && m.LowestPort(from, to) != hops.LowestPort(from, to) {
				return false
			}
		}
	}
	return true
}
