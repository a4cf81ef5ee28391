package command

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/atlas"
)

// TestAtlasPage: docs/atlas.md names every topology, and what docs/atlas.csv says of some of
// them, but for what was measured, is what weft finds; with make soak-pairs, of all.
func TestAtlasPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "atlas.md"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := experiments.ReadTableFile(filepath.Join(root, "docs", "atlas.csv"))
	if err != nil {
		t.Fatal(err)
	}
	rows := func(t *experiments.Table, family string) (kept []string) {
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
		if !strings.Contains(string(page), "\n| "+n.Family+" |") || len(documented) == 0 {
			t.Errorf("docs/atlas.md or docs/atlas.csv has no %s: run make atlas", n.Family)
		}
		if some := []string{"hyperx", "megafly", "oft", "kautz"}; os.Getenv("SOAK_TIME") == "" && !slices.Contains(some, n.Family) {
			continue
		}
		e, err := atlas.NewEntry(context.Background(), n, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := rows(atlas.EntryTable([]*atlas.Entry{e}), n.Family); !slices.Equal(documented, want) {
			t.Errorf("docs/atlas.csv on %s: run make atlas\n%s\nwant\n%s", n.Family, strings.Join(documented, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestAtlasCommand(t *testing.T) {
	inFolder(t, nil)
	status, stdout, stderr := weft(t, "atlas", "--terminals", "200", "--radix", "16", "--rank", "diameter")
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	// Of 16 ports Slim Fly q = 5 has 7 and 4; a full mesh does not reach 200 terminals.
	if status != exitSuccess || !strings.Contains(stdout, "slim-fly") || strings.Contains(stdout, "dims = [15]") {
		t.Fatalf("status %d\n%s%s", status, stdout, stderr)
	}
	at := strings.Index(lines[0], "diameter_hops")
	for i := 2; i < len(lines); i++ {
		if lines[i][at] < lines[i-1][at] {
			t.Errorf("not sorted by the diameter:\n%s", stdout)
		}
	}
	status, _, stderr = weft(t, "atlas", "--topology", "oft", "--out", "o", "--set", "price.optical=1")
	page, err := os.ReadFile("o/pictures.md")
	if status != exitSuccess || err != nil || !strings.Contains(string(page), "| table, hop_vcs = \"any\" | 1 | ") {
		t.Errorf("status %d: %v\n%s%s", status, err, stderr, page)
	}
	if picture, err := os.ReadFile("o/oft.svg"); err != nil || !strings.Contains(string(picture), "<svg") {
		t.Error(err)
	}
	for _, c := range []struct{ args, want string }{
		{"atlas --terminals 0", "--terminals 0: want 1 to"},
		{"atlas --radix 1", "--radix 1: want 2 to"},
		{"atlas --terminals 10 --rank beauty", "--rank beauty: want "},
		{"atlas --topology flat", "--topology flat: want butterfly, "},
		{"atlas --topology oft --set floor.units=3", "floor.units"},
	} {
		if status, _, stderr := weft(t, strings.Fields(c.args)...); status != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("weft %s: status %d\n%s", c.args, status, stderr)
		}
	}
}

// TestAtlasMeasure: all routings of a small network are run.
func TestAtlasMeasure(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates for some seconds")
	}
	inFolder(t, nil)
	if status, _, stderr := weft(t, "atlas", "--topology", "single-switch", "--measure", "--out", "o"); status != exitSuccess {
		t.Fatalf("status %d: %s", status, stderr)
	}
	table, err := os.ReadFile("o/atlas.csv")
	if err != nil || !strings.Contains(string(table), "single-switch,,table,,1,free,4,1,") {
		t.Errorf("%v\n%s", err, table)
	}
}

// TestReproduceAtlas: a folder of the reference's form, with a number that is right, one
// that is wrong and one curve that is not mapped.
func TestReproduceAtlas(t *testing.T) {
	const header = "id,topology,instance,metric,value,kind\n"
	inFolders(t, map[string]string{
		"good/targets.csv": header + "a,Slim Fly,\"q=5, p=4\",routers,50,exact\n",
		"bad/targets.csv":  header + "a,Slim Fly,\"q=5, p=4\",routers,51,exact\nb,PolarFly,graphs/x.edges.gz, 4 terminals a router,routers,1,exact\n",
	})
	status, _, stderr := weft(t, "reproduce", "atlas", "--data", "good", "--out", "r")
	verdicts, err := os.ReadFile("r/atlas/targets.csv")
	if status != exitSuccess || err != nil || !strings.Contains(string(verdicts), "exact,50,50,agrees,") {
		t.Errorf("status %d: %v\n%s%s", status, err, stderr, verdicts)
	}
	if status, stdout, stderr := weft(t, "reproduce", "atlas", "--data", "bad", "--out", "s"); status != exitUsage || !strings.Contains(stderr, "bad/targets.csv:3: 7 cells, want 6") ||
		!strings.Contains(stdout, "51         50    differs") || !strings.Contains(stderr, "of 2 numbers 0 agree, 1 differ, 0 not judged, 0 not run, 1 unreadable") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
	if err := os.WriteFile("bad/targets.csv", []byte(header+"a,Slim Fly,\"q=5, p=4\",routers,51,exact\nb,PolarFly,\"graphs/x.edges.gz, 4 terminals a router\",routers,1,exact\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if status, stdout, stderr := weft(t, "reproduce", "atlas", "--data", "bad", "--out", "s"); status != exitFailure ||
		!strings.Contains(stdout, "51         50    differs") || !strings.Contains(stdout, "the folder has no such graph") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
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
	copied := func(names ...string) {
		for _, name := range names {
			content, err := fs.ReadFile(own, name)
			if err != nil {
				t.Fatal(err)
			}
			if err := experiments.WriteBelow(filepath.Join("d", name), content); err != nil {
				t.Fatal(err)
			}
		}
	}
	put := func(name, text string) {
		if err := experiments.WriteBelow(filepath.Join("d", name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	const dead, good = "slimfly_q5__ugallnew_rperm_vc4_buf16_speedup2", "slimfly_q5__minhopvc_uniform_vc4_buf16_speedup2"
	const cut, graph = "polarfly_q7__minhopvc_uniform_vc4_buf16_speedup2", "jellyfish_n57_r8__minhopvc_uniform_vc4_buf16_speedup2"
	copied("graphs/slimfly_q5.edges.gz", "graphs/slimfly_q5.nexthop.gz", "graphs/slimfly_q5.rperm.gz", "graphs/jellyfish_n57_r8.nexthop.gz",
		"curves/"+good+".cfg", "curves/"+cut+".cfg", "curves/"+graph+".cfg", "curves/"+graph+".csv")
	config, err := fs.ReadFile(own, "curves/"+good+".cfg")
	if err != nil {
		t.Fatal(err)
	}
	put("curves/"+dead+".cfg", string(config))
	put("curves/"+dead+".csv", peerHeader+"0.6,deadlock,nan,\n")
	put("curves/"+good+".csv", peerHeader+"0.1,saturated,,0.1\n") // the accepted load is judged
	put("curves/"+cut+".csv", peerHeader+"0.1,stable,10.6\n")
	edges, err := fs.ReadFile(own, "graphs/jellyfish_n57_r8.edges.gz")
	if err != nil {
		t.Fatal(err)
	}
	put("graphs/jellyfish_n57_r8.edges.gz", string(edges[:len(edges)/2]))
	put("curves.csv", "curve,graph,routing,traffic\n"+good+",slimfly_q5,minhopvc,uniform\n"+dead+",slimfly_q5,ugallnew,rperm\n"+
		cut+",polarfly_q7,minhopvc,uniform\n"+graph+",jellyfish_n57_r8,minhopvc,uniform\nabsent,slimfly_q5,min,uniform\n")
	put("targets.csv", "id,topology,instance,metric,value,kind\na,Slim Fly,\"q=5, p=4\",routers,50,exact\nb,Jellyfish,\"graphs/jellyfish_n57_r8.edges.gz, 4 terminals a router\",routers,57,exact\nc,Slim Fly\n")
	status, stdout, stderr := weft(t, "reproduce", "atlas", "--data", "d", "--quick", "--out", "r")
	if status != exitUsage {
		t.Errorf("status %d", status)
	}
	for _, want := range []string{"of 3 numbers 1 agree, 0 differ, 0 not judged, 0 not run, 2 unreadable", "d/curves/" + cut + ".csv:2: 3 cells, want 4",
		"jellyfish_n57_r8.edges.gz: cannot be read: damaged gzip file: unexpected EOF", `d/curves.csv:6: curve "absent" is not in the folder curves`,
		"d/targets.csv:4: 2 cells, want 6", "2 of 2 curves agree; points: 2 agree, 0 differ, 1 not judged, 0 not run, 3 unreadable"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q in\n%s", want, stderr)
		}
	}
	verdicts, err := os.ReadFile("r/atlas/verdicts.csv")
	if err != nil || !strings.Contains(string(verdicts), ",0.6,deadlock,") || !strings.Contains(string(verdicts), "weft refuses the network: ") || strings.Count(stdout, "unreadable") != 5 {
		t.Errorf("%v\n%s\n%s", err, stdout, verdicts)
	}
}
