package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/atlas"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestTopologyPictures: a network is drawn from an experiment file, an imported file
// and a result folder, there by its loads.
func TestTopologyPictures(t *testing.T) {
	inFolder(t, map[string]string{"small.toml": strings.Replace(small, "window = 400", "window = 400\nlinks = true", 1)})
	succeeds(t, "run", "small.toml", "--out", "o", "--quiet")
	picture := func(args ...string) string {
		t.Helper()
		succeeds(t, append([]string{"topology"}, args...)...)
		return read(t, args[len(args)-1])
	}
	plain := picture("small.toml", "-o", "a.svg")
	simtest.Says(t, plain, "16 switches, 16 terminals, 32 cables between switches")
	simtest.ErrorIf(t, strings.Contains(plain, "flits per cycle"), "%.300s", plain)
	for name, start := range map[string]string{"a.png": "\x89PNG", "a.pdf": "%PDF"} {
		simtest.ErrorIf(t, !strings.HasPrefix(picture("small.toml", "-o", name), start), "%s is not what its name says", name)
	}
	picture("small.toml", "-o", "net.json")
	simtest.Says(t, picture("net.json", "-o", "b.svg"), "16 switches")
	high, second, first := picture("o", "-o", "o.svg"), picture("o", "--point", "1", "-o", "1.svg"), picture("o", "--point", "0", "-o", "0.svg")
	simtest.ErrorIf(t, !strings.Contains(high, "flits per cycle") || high != second || high == first,
		"the picture does not show the loads of the point of the highest load, or of the one that is asked for")
	refusesAll(t, [][2]string{
		{"topology o --point 2 -o x.svg", "result folder o: has no point 2: want 0 to 1"},
		{"topology small.toml --point 0 -o x.svg", "weft: --point is for result folders; small.toml is none"},
		{"topology o --set switch.vcs=4 -o x.svg", "weft: --set, --seed and --quick change experiment files; o is a result folder"},
		{"topology nothing -o x.svg", "nothing"},
		{"plot o/results.csv --where load -o x.svg", "weft: --where load: want KEY=VALUE"},
		{"plot o/results.csv -o x.gif", "weft: -o x.gif: want a name that ends in .svg, .png or .pdf, or .csv for its numbers"},
	})
}

// A real cluster with a cable lost, a host moved to a free port, an adapter replaced
// and a cable at another speed: all four are found, and what they do to the routes.
func TestTopologyDiff(t *testing.T) {
	before := withCluster(t, map[string]string{})["cluster.txt"]
	after := before
	edit := func(old, new string) {
		t.Helper()
		simtest.FatalIf(t, !strings.Contains(after, old), "no %q in the dump", old)
		after = strings.ReplaceAll(after, old, new)
	}
	// ib5's port 21 leads to ib8's port 26.
	after = strings.Join(slices.DeleteFunc(strings.Split(after, "\n"), func(line string) bool {
		return strings.HasPrefix(line, "[21]\t\"S-f4521403007ea570\"[26]") || strings.HasPrefix(line, "[26]\t\"S-f4521403001165a0\"[21]")
	}), "\n")
	// stage114 goes from port 1 of ib5 to port 17, which is free.
	edit("[1]\t\"H-24be05ffff980030\"[1]", "[17]\t\"H-24be05ffff980030\"[1]")
	edit("[1](24be05ffff980031) \t\"S-f4521403001165a0\"[1]", "[1](24be05ffff980031) \t\"S-f4521403001165a0\"[17]")
	// stage112 has another adapter.
	edit("24be05ffff982d5", "aabbccddee982d5")
	// ib5's port 23, and the other end, at half the speed.
	for _, end := range []string{"[23]\t\"S-f4521403007ea570\"[28]", "[28]\t\"S-f4521403001165a0\"[23]"} {
		from := strings.Index(after, end)
		simtest.FatalIf(t, from < 0, "no %q", end)
		after = after[:from] + strings.Replace(after[from:], "4xFDR10", "4xSDR", 1)
	}
	inFolder(t, map[string]string{"before.txt": before, "after.txt": after})
	stdout, _ := succeeds(t, "topology", "before.txt", "--diff", "after.txt", "--routing", "table")
	// 145 end ports, all of which have a path before and after; ib5 and ib8 still have
	// three cables.
	want := `switches   0 gone, 0 new, 0 changed
cables     1 gone, 0 new, 1 changed
  - MF0;ib5:SX6036/U1 port 21 - MF0;ib8:SX6036/U1 port 26, 4xFDR10
  ~ MF0;ib5:SX6036/U1 port 23 - MF0;ib8:SX6036/U1 port 28, 4xFDR10 is now 4xSDR
hosts      0 gone, 0 new, 2 changed
  ~ stage114 mlx4_0 (0x24be05ffff980031) has moved from MF0;ib5:SX6036/U1 port 1 to MF0;ib5:SX6036/U1 port 17
  ~ stage112 mlx4_0 (0x24be05ffff982d51) is now stage112 mlx4_0 (0xaabbccddee982d51)
pairs      20880 of hosts that both have: 20880 had a path, 20880 have one
`
	simtest.Says(t, stdout, want, " 0 shorter, 0 longer\nhops       mean ")
	says(t, exitSuccess, "paths      20880 the same, 0 by other cables, 0 shorter, 0 longer\n", "", "topology", "before.txt", "--diff", "before.txt", "--routing", "table")
}

// With tables, pairs that have lost their path are counted.
func TestTopologyDiffOfTables(t *testing.T) {
	inFolder(t, map[string]string{"mesh.toml": meshOfTwo})
	succeeds(t, "topology", "mesh.toml", "-o", "mesh.ibnetdiscover", "--lfts", "before.lfts")
	text := read(t, "before.lfts")
	// The first switch, in the corner of nine, loses its row for the last host; it is on
	// no other's way there, so one pair has no path left.
	after := strings.Replace(text, "0x0009 002 # Channel Adapter portguid 0x0000000000100011: 'H8'\n", "", 1)
	err := os.WriteFile("after.lfts", []byte(after), 0o644)
	simtest.FatalIf(t, err != nil || len(after) == len(text), "%v %v", err, text)
	// Dimension order takes shortest paths. Two places in a row of three are 8/9 apart
	// on average, so the 81 pairs with those of a host and itself add up to 81*16/9 =
	// 144 hops: 2 for each of the 72.
	says(t, exitSuccess, "72 had a path, 71 have one\npaths      71 the same, 0 by other cables, 0 shorter, 0 longer\nhops       mean 2 before, ", "",
		"topology", "mesh.ibnetdiscover", "--diff", "mesh.ibnetdiscover", "--tables", "before.lfts,after.lfts")
	refusesAll(t, [][2]string{
		{"topology mesh.toml --diff mesh.toml --tables before.lfts", "want two files"},
		{"topology mesh.toml --diff mesh.toml --tables before.lfts,after.lfts --routing table", "want one of them"},
		{"topology mesh.toml --tables a,b", "--routing and --tables are for --diff"},
		{"topology mesh.ibnetdiscover --diff mesh.ibnetdiscover --routing tabel", "tabel"},
		{"topology mesh.ibnetdiscover --diff mesh.ibnetdiscover --tables none,after.lfts", "none: cannot be read: no such file"},
		{"topology mesh.toml --diff none.toml", "none.toml"},
	})
	says(t, exitSuccess, "paths      72 the same", "", "topology", "mesh.toml", "--diff", "mesh.toml")
}

// TestAtlasPage: docs/atlas.md names every topology, and what docs/atlas.csv says of some of
// them, but for what was measured, is what weft finds; with make soak-pairs, of all.
func TestAtlasPage(t *testing.T) {
	page := read(t, root, "docs", "atlas.md")
	table := simtest.Must(results.ReadTableFile(filepath.Join(root, "docs", "atlas.csv")))(t)
	rows := func(t *results.Table, family string) (kept []string) {
		for _, row := range t.Rows {
			if row = slices.Clone(row); row[0] == family {
				for i, column := range t.Columns {
					if column == "zero_load_ns" || strings.HasPrefix(column, "saturation_") {
						row[i] = ""
					}
				}
				kept = append(kept, strings.Join(row, "|"))
			}
		}
		return kept
	}
	for _, n := range atlas.Networks() {
		documented := rows(table, n.Family)
		simtest.ErrorIf(t, !strings.Contains(page, "\n| "+n.Family+" |") || len(documented) == 0,
			"docs/atlas.md or docs/atlas.csv has no %s: run make atlas", n.Family)
		if some := []string{"dragonfly", "hyperx", "megafly", "oft", "kautz"}; os.Getenv("SOAK_TIME") == "" && !slices.Contains(some, n.Family) {
			continue
		}
		e := simtest.Must(atlas.NewEntry(context.Background(), n, nil))(t)
		want := rows(atlas.EntryTable([]*atlas.Entry{e}), n.Family)
		simtest.Equal(t, strings.Join(documented, "\n"), strings.Join(want, "\n"), "docs/atlas.csv on %s: run make atlas\n", n.Family)
	}
}

func TestAtlasCommand(t *testing.T) {
	inFolder(t, nil)
	stdout, _ := succeeds(t, "atlas", "--terminals", "200", "--radix", "16", "--rank", "diameter")
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	// Of 16 ports Slim Fly q = 5 has 7 and 4; a full mesh does not reach 200 terminals.
	simtest.FatalIf(t, !strings.Contains(stdout, "slim-fly") || strings.Contains(stdout, "dims = [15]"), "%v", stdout)
	at := strings.Index(lines[0], "diameter_hops")
	for i := 2; i < len(lines); i++ {
		simtest.ErrorIf(t, lines[i][at] < lines[i-1][at], "not sorted by the diameter:\n%s", stdout)
	}
	succeeds(t, "atlas", "--topology", "oft", "--out", "o", "--set", "price.optical=1")
	holds(t, "o/pictures.md", "| table, hop_vcs = \"any\" | 1 | ")
	holds(t, "o/oft.svg", "<svg")
	refusesAll(t, [][2]string{
		{"atlas --terminals 0", "--terminals 0: want 1 to"},
		{"atlas --radix 1", "--radix 1: want 2 to"},
		{"atlas --radix 8 --out -", "--out -: want a folder"},
		{"reproduce --out -", "--out -: want a folder"},
		{"routes x.txt --out -", "--out -: want a folder"},
		{"schema -o -", "--output -: name a file, such as /dev/stdout"},
		{"atlas --radix 8 --topology oft", "--measure and --topology are of pairs that are certified"},
		{"atlas --topology oft --rank price", "--rank sorts the list"},
		{"atlas --topology oft --format jsonl", "--format is for the results of --measure"},
		{"atlas --terminals 10 --rank beauty", "--rank beauty: want "},
		{"atlas --topology flat", "--topology flat: want butterfly, "},
		{"atlas --topology oft --set floor.units=3", "floor.units"},
	})
}

// TestAtlasMeasure: all routings of a small network are run.
func TestAtlasMeasure(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for some seconds")
	}
	inFolder(t, nil)
	succeeds(t, "atlas", "--topology", "single-switch", "--measure", "--out", "o")
	holds(t, "o/atlas.csv", "single-switch,,table,,1,free,4,1,")
}

// TestReproduceAtlas: a folder of the reference's form, with a number that is right, one
// that is wrong and one curve that is not mapped.
func TestReproduceAtlas(t *testing.T) {
	const header = "id,topology,instance,metric,value,kind\n"
	inFolder(t, map[string]string{
		"good/targets.csv": header + "a,Slim Fly,\"q=5, p=4\",routers,50,exact\n",
		"bad/targets.csv":  header + "a,Slim Fly,\"q=5, p=4\",routers,51,exact\nb,PolarFly,\"graphs/x.edges.gz, 4 terminals a router\",routers,1,exact\n",
	})
	succeeds(t, "reproduce", "atlas", "--data", "good", "--out", "r")
	holds(t, "r/atlas/targets.csv", "exact,50,50,agrees,")
	for _, shown := range []string{"51         50    differs", "the folder has no such graph"} {
		says(t, exitFailure, shown, "of 2 numbers 0 agree, 1 differ, 0 not judged, 1 not run", "reproduce", "atlas", "--data", "bad", "--out", "s")
	}
}

// TestReproduceAtlasDamaged: of the reference that comes with weft, a curve whose points are
// cut, one whose graph is, one without a file, and one with a deadlock at the load of
// deadlock_slimfly_q5.csv; the curve beside them and the numbers are judged.
func TestReproduceAtlasDamaged(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for some seconds")
	}
	inFolder(t, nil)
	own := atlas.Own()
	ours := func(name string) string { return string(simtest.Must(fs.ReadFile(own, name))(t)) }
	put := func(name, text string) {
		simtest.Check(t, results.WriteBelow(filepath.Join("d", name), []byte(text)))
	}
	const dead, good = "slimfly_q5__ugallnew_rperm_vc4_buf16_speedup2", "slimfly_q5__minhopvc_uniform_vc4_buf16_speedup2"
	const cut, graph = "polarfly_q7__minhopvc_uniform_vc4_buf16_speedup2", "jellyfish_n57_r8__minhopvc_uniform_vc4_buf16_speedup2"
	for _, name := range []string{"graphs/slimfly_q5.edges.gz", "graphs/slimfly_q5.nexthop.gz", "graphs/slimfly_q5.rperm.gz", "graphs/jellyfish_n57_r8.nexthop.gz",
		"curves/" + good + ".cfg", "curves/" + cut + ".cfg", "curves/" + graph + ".cfg", "curves/" + graph + ".csv"} {
		put(name, ours(name))
	}
	put("curves/"+dead+".cfg", ours("curves/"+good+".cfg"))
	put("curves/"+dead+".csv", peerHeader+"0.6,deadlock,nan,\n")
	put("curves/"+good+".csv", peerHeader+"0.1,saturated,,0.1\n") // the accepted load is judged
	put("curves/"+cut+".csv", peerHeader+"0.1,stable,10.6\n")
	edges := ours("graphs/jellyfish_n57_r8.edges.gz")
	put("graphs/jellyfish_n57_r8.edges.gz", edges[:len(edges)/2])
	put("curves.csv", "curve,graph,routing,traffic\n"+good+",slimfly_q5,minhopvc,uniform\n"+dead+",slimfly_q5,ugallnew,rperm\n"+
		cut+",polarfly_q7,minhopvc,uniform\n"+graph+",jellyfish_n57_r8,minhopvc,uniform\nabsent,slimfly_q5,min,uniform\n")
	put("targets.csv", "id,topology,instance,metric,value,kind\na,Slim Fly,\"q=5, p=4\",routers,50,exact\nb,Jellyfish,\"graphs/jellyfish_n57_r8.edges.gz, 4 terminals a router\",routers,57,exact\nc,Slim Fly\n")
	status, stdout, stderr := weft(t, "reproduce", "atlas", "--data", "d", "--quick", "--out", "r")
	simtest.ErrorIf(t, status != exitUsage, "status %d", status)
	simtest.Says(t, stderr, "of 3 numbers 1 agree, 0 differ, 0 not judged, 0 not run, 2 unreadable", "d/curves/"+cut+".csv:2: 3 cells, want 4",
		"jellyfish_n57_r8.edges.gz: cannot be read: damaged gzip file: unexpected EOF", `d/curves.csv:6: curve "absent" is not in the folder curves`,
		"d/targets.csv:4: 2 cells, want 6", "2 of 2 curves agree; points: 2 agree, 0 differ, 1 not judged, 0 not run, 3 unreadable")
	holds(t, "r/atlas/verdicts.csv", ",0.6,deadlock,", "weft refuses the network: ")
	simtest.ErrorIf(t, strings.Count(stdout, "unreadable") != 5, "%v", stdout)
}
