package mcast

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/multicast"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// From OpenSM's files to OpenSM's tables, and a table of all engines.
func TestJob(t *testing.T) {
	env := opensmFabric(t, "torus_4x4x4_1")
	groups := groupsOf(t, env.Graph, "random_64_256x8.sa.gz")
	job := Job{Graph: env.Graph, Groups: groups, GroupsName: "groups.sa", Entries: multicast.Unlimited, Engine: "minhop-mc", Threads: 1, Seed: 1}
	report := simtest.Must(job.Run())(t)
	if len(report.Reports) != len(multicast.Registry.Names()) || report.Reports[0].Engine != "minhop-mc" {
		t.Fatalf("%d engines, the first %s", len(report.Reports), report.Reports[0].Engine)
	}
	files := filesOf(t, report)
	if got, want := string(files["minhop-mc.mcfdbs"]), string(opensmFile(t, "torus_4x4x4_1.minhop.random_64_256x8.mcfdbs.gz")); got != want {
		t.Errorf("tables: %s", firstDifference(got, want))
	}
	if got, want := string(files["minhop-mc.sa"]), string(opensmFile(t, "random_64_256x8.sa.gz")); got != want {
		t.Errorf("groups: %s", firstDifference(got, want))
	}
	// Without sharing every one of the 256 groups takes an entry; EFI 40 and 79 are OpenSM's.
	for _, want := range []string{"minhop-mc,256,", ",40,", "opensm-sssp,256,", ",79,"} {
		table := string(files["engines.csv"])
		simtest.ErrorIf(t, !strings.Contains(table, want), "no %q in\n%s", want, table)
	}
	// What a folder has of other engines goes, files of other names stay.
	if names := FileNames(); !slices.Contains(names, "opensm-sssp.mcfdbs") || !slices.Contains(names, "opensm-sssp.sa") || slices.Contains(names, "notes.sa") {
		t.Errorf("names of files: %v", names)
	}

	job.Entries = 100
	report = simtest.Must(job.Run())(t)
	if refused := report.Reports[0].Refused; refused != 156 || report.Reports[0].Limited.Colours != 100 {
		t.Errorf("%d refused with 100 entries for 256 groups, %d used", refused, report.Reports[0].Limited.Colours)
	}
	kept, err := ReadSADump(bytes.NewReader(filesOf(t, report)["minhop-mc.sa"]), "kept", env.Graph)
	simtest.ErrorIf(t, err != nil || len(kept) != 100, "%d groups kept, %v", len(kept), err)
	var text bytes.Buffer
	if err := report.WriteTable(&text); err != nil || !strings.Contains(text.String(), "limited_max_efi") {
		t.Errorf("%v\n%s", err, text.String())
	}
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
			simtest.ErrorIf(t, int(row.MLID) >= FirstMLID+colours || row.MLID < FirstMLID,
				"MLID %#x with %d entries", row.MLID, colours)
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
	if r, err := good.Run(); err != nil || len(r.Routed) != 1 || r.Small != 2 {
		t.Errorf("%+v, %v", r, err)
	}
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
	r, err := both.Run()
	simtest.ErrorIf(t, err != nil || r.Reports[1].Err == nil, "%+v, %v", r, err)
	both.Engine = "opensm-sssp"
	if _, err := both.Run(); err == nil {
		t.Error("the engine asked for failed in silence")
	}
}

// The two real clusters, with their parallel cables of unequal number, hosts of
// two ports and switches without hosts, are routed by every engine.
func TestJobOnRealClusters(t *testing.T) {
	for _, file := range []string{"psmn-x5-2020-qdr-ddr.txt", "loginoff-2014-qdr-fdr10.txt"} {
		topo := simtest.Must(topology.ReadFile(filepath.Join("..", "..", "..", "fabric", "topology", "ib", "testdata", file)))(t)
		graph := topo.Graph()
		draw := sim.NewStream(1, "clusters", 0)
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
	if texts[0] != texts[1] || texts[0] != texts[2] {
		t.Errorf("tables differ:\n%s\n%s\n%s", texts[0], texts[1], texts[2])
	}
}

// saGroups gives groups consecutive MLIDs, and MGIDs as transient, link-local groups have.
func saGroups(t *testing.T, groups []multicast.Group) []SAGroup {
	t.Helper()
	list := make([]SAGroup, len(groups))
	for i, g := range groups {
		number := simtest.Must(MLIDOf(i))(t)
		list[i] = SAGroup{Group: g, MLID: number, MGID: [2]uint64{0xff12a01cfe800000, uint64(FirstMLID + i)}}
	}
	return list
}
