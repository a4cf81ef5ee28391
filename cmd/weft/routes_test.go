package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/simtest"
)

// opensmData is a file of the tables that OpenSM computed.
func opensmData(t *testing.T, name ...string) string {
	t.Helper()
	return simtest.Must(filepath.Abs(filepath.Join(append([]string{root, "experiments", "opensmruns", "testdata", "reference"}, name...)...)))(t)
}

// unzipped reads a compressed file.
func unzipped(t *testing.T, path string) string {
	t.Helper()
	f := simtest.Must(os.Open(path))(t)
	defer f.Close()
	in := simtest.Must(gzip.NewReader(f))(t)
	return string(simtest.Must(io.ReadAll(in))(t))
}

// TestRoutesAsConfigured: the tables of a configuration are OpenSM's, byte for byte; paths in it
// are relative to it; what refuses gives way to what is listed, and to nothing else.
func TestRoutesAsConfigured(t *testing.T) {
	mesh, tree := opensmData(t, "nets", "mesh_5x5_2.net.gz"), opensmData(t, "nets", "ft2_8.net.gz")
	config, roots := read(t, opensmData(t, "nets", "mesh_5x5_2.torus")), read(t, opensmData(t, "nets", "mesh_5x5_2.roots"))
	kept := func(fabric, name string) string { return unzipped(t, opensmData(t, "runs", fabric, name+".gz")) }
	torus := map[string]string{"sl2vl": kept("mesh_5x5_2", "torus-2QoS.sl2vl"), "sl": kept("mesh_5x5_2", "torus-2QoS.sl"),
		"lft": kept("mesh_5x5_2", "dor.lft")} // the same by index.tsv
	updn, lmc, lash := kept("mesh_5x5_2", "updn_roots.lft"), kept("ft2_8", "dfsssp_lmc1.lft"), kept("mesh_5x5_2", "lash_start1.sl")
	inFolder(t, map[string]string{
		"conf/torus.conf": "routing_engine torus-2QoS\nqos TRUE\ntorus_config torus\n", "conf/torus": config,
		"conf/list.conf": "routing_engine ftree, updn\nroot_guid_file roots\nno_such_key 1\n", "conf/roots": roots,
		"conf/ftree.conf":  "routing_engine ftree\nlog_flags 0x83 # nothing to do with tables\n",
		"conf/lmc.conf":    "routing_engine dfsssp\nlmc 1\nqos TRUE\n",
		"conf/guid.conf":   "guid 0x123\n",
		"conf/wrong.conf":  "routing_engine updown\nlmc 9\nroot_guid_file none\nhop_weights_file weights\n",
		"conf/lashes.conf": "routing_engine lash\nqos TRUE\nlash_start_vl 1\n",
	})
	equal := func(dir, name, want string) {
		t.Helper()
		got := read(t, dir, name)
		simtest.ErrorIf(t, got != want, "%s/%s differs from OpenSM's\n%s", dir, name, firstDifference(got, want))
	}
	run := func(args ...string) (string, string) {
		t.Helper()
		return succeeds(t, append([]string{"routes"}, args...)...)
	}
	run(mesh, "--opensm", "conf/torus.conf", "-o", "torus", "--dumps")
	for name, want := range torus {
		equal("torus", name, want)
	}
	stdout, stderr := run(mesh, "--opensm", "conf/list.conf", "-o", "torus")
	equal("torus", "lft", updn)
	equal("torus", "sl2vl", "-\n")
	simtest.Says(t, stdout, "refused    ftree: Fabric rank is 1", "engine     updn")
	simtest.Says(t, stderr, `list.conf:3: unknown key "no_such_key"`)
	simtest.ErrorIf(t, results.Exists("torus/opensm-lfts.dump"), "a dump of an earlier run is left")
	run(tree, "--opensm", "conf/lmc.conf", "-o", "lmc")
	equal("lmc", "lft", lmc)
	equal("lmc", "sl2vl", "all ports: 0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7\n")
	run(mesh, "--opensm", "conf/lashes.conf", "-o", "lash")
	equal("lash", "sl", lash)
	status, _, stderr := weft(t, "routes", mesh, "--opensm", "conf/ftree.conf", "-o", "none")
	simtest.Alike(t, "status, and whether there is a folder", status, exitFailure, results.Exists("none"), false)
	simtest.Says(t, stderr, "more than one root", "minhop as its last resort")
	for _, c := range []struct {
		args, want []string
	}{
		{[]string{mesh, "--opensm", "conf/wrong.conf"}, []string{`wrong.conf:1: routing_engine: no routing engine "updown"`, "wrong.conf:2: lmc", "wrong.conf:3: root_guid_file: conf/none", "wrong.conf:4: hop_weights_file"}},
		{[]string{mesh, "--opensm", "conf/guid.conf"}, []string{"guid 0x0000000000000123: no adapter port"}},
		{[]string{mesh, "--opensm", "conf/ftree.conf", "--sm", "nobody"}, []string{`nobody`, `such as "H0"`}},
		{[]string{mesh, "--opensm", "conf/ftree.conf", "--pattern", "uniform"}, []string{"add --engine"}},
		{[]string{mesh, "--engine", "updown"}, []string{"--engine updown: want dfsssp"}},
		{[]string{mesh, "--engine", "dor", "--pattern", "storm"}, []string{"--pattern"}},
		{[]string{"conf/none.net", "--opensm", "conf/ftree.conf"}, []string{"none.net"}},
		{[]string{mesh, "--engine", "dor", "--jobs", "conf/lmc.conf"}, []string{"lmc.conf:1: no host \"dfsssp\""}},
		{[]string{mesh, "--engine", "dor", "--jobs", "conf/none"}, []string{"conf/none: cannot be read"}},
		{[]string{mesh, "--engine", "dor", "--draws", "0"}, []string{"--draws 0: want 1 to 10000"}},
		{[]string{mesh, "--lanes", "3"}, []string{"--lanes 3: want 1, 2, 4, 8 or 15"}},
		{[]string{mesh, "--hottest", "-1"}, []string{"--hottest -1: want at least 0"}},
	} {
		status, _, stderr := weft(t, append([]string{"routes"}, c.args...)...)
		simtest.Equal(t, status, exitUsage, "%v: status", c.args)
		simtest.Says(t, stderr, c.want...)
	}
}

// TestRoutesCompared: on a ring of four switches with a host each, two cables lead each
// way round. dor goes the shorter way; to the opposite switch every port is as near,
// and the lowest decides. The channels of a ring close a cycle as soon as paths of two
// hops go all the way round it. ftree refuses.
func TestRoutesCompared(t *testing.T) {
	inFolder(t, map[string]string{"ring.toml": "kind = \"traffic\"\n[topology]\ntype = \"torus\"\ndims = [4]\n[routing]\ntype = \"dor\"\n"})
	stdout, stderr := succeeds(t, "routes", "ring.toml", "--engine", "dor,ftree", "--engine", "lash", "-o", "out")
	holds(t, "out/engines.csv", "\nftree,uniform,refused,", "\nlash,uniform,ok,0,1,2,")
	simtest.Equal(t, len(simtest.Rows(t, "out/engines.csv")), 3, "engines:")
	for _, name := range []string{"cables.csv", "hottest.csv", "histogram.csv", "hottest.svg", "histogram.svg"} {
		simtest.ErrorIf(t, read(t, "out", name) == "", "%s is empty", name)
	}
	simtest.ErrorIf(t, !strings.Contains(stdout, "dor: ") || !strings.Contains(stderr, "lash took"), "%s%s", stdout, stderr)
	simtest.ErrorIf(t, results.Exists("out/jobs.csv"), "a table of jobs without jobs")
	_, stderr = succeeds(t, "routes", "ring.toml", "--engine", "dor", "--engine", "ftree,lash", "-o", "out2", "--set", "fault.f.fraction=0.25", "--set", "routing.type=table")
	simtest.Says(t, stderr, "ring.toml: its faults are left out")
	simtest.ErrorIf(t, read(t, "out/cables.csv") != read(t, "out2/cables.csv"), "a second run differs")
}

// TestInfiniBandPage runs the commands of docs/infiniband.md that name a cluster's
// files, on a fat tree in their place.
func TestInfiniBandPage(t *testing.T) {
	page := read(t, root, "docs", "infiniband.md")
	net := unzipped(t, opensmData(t, "nets", "ft3_8.net.gz"))
	inFolder(t, map[string]string{"cluster.txt": net, "opensm.conf": "routing_engine updn\n"})
	commands := 0
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "weft ") || !strings.Contains(line, "$OPENSM_CONF") {
			continue
		}
		commands++
		args := strings.Fields(strings.ReplaceAll(line, "$OPENSM_CONF", "opensm.conf"))
		stdout, _ := succeeds(t, args[1:]...)
		// The report that the page shows is that of this tree.
		if strings.Contains(line, "-o tables") {
			for report := range strings.Lines(stdout) {
				simtest.ErrorIf(t, !strings.Contains(page, "    "+report), "the page does not show %q", report)
			}
		}
	}
	simtest.ErrorIf(t, commands != 2, "%d commands, want 2", commands)
	for _, name := range []string{"tables/lft", "tables/sl", "tables/sl2vl", "compared/hottest.svg", "compared/histogram.svg"} {
		simtest.Must(os.Stat(name))(t)
	}
}

// TestInfiniBandEngines makes the table of docs/infiniband.md that compares engines on a
// real cluster, with the command and the jobs that the page shows.
func TestInfiniBandEngines(t *testing.T) {
	page := read(t, root, "docs", "infiniband.md")
	_, rest, _ := strings.Cut(page, "```text\n")
	jobs, _, found := strings.Cut(rest, "```")
	inFolder(t, map[string]string{"loginoff.txt": unzipped(t, opensmData(t, "nets", "loginoff.net.gz")), "jobs.txt": jobs})
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, "weft routes $LOGINOFF ") {
			succeeds(t, strings.Fields(strings.ReplaceAll(line, "$LOGINOFF", "loginoff.txt"))[1:]...)
		}
	}
	lines, engines := map[string]string{}, []string(nil)
	for _, row := range simtest.Table(t, "engines/engines.csv") {
		engine := row["engine"]
		if row["status"] != "ok" {
			continue
		}
		if lines[engine] == "" {
			engines = append(engines, engine)
			lines[engine] = fmt.Sprintf("| %s | %s |", engine, row["deadlock"])
		}
		load, err := strconv.ParseFloat(row["fullest_cable_load"], 64)
		share, err2 := strconv.ParseFloat(row["throughput_bound"], 64)
		simtest.FatalIf(t, err != nil || err2 != nil, "%v", row)
		lines[engine] += fmt.Sprintf(" %.2f, %.1f %% |", load, 100*share)
	}
	want := ""
	for _, engine := range engines {
		want += lines[engine] + "\n"
	}
	simtest.ErrorIf(t, !found || len(engines) != 7 || !strings.Contains(page, want), "the page does not have the table\n%s", want)
	simtest.Equal(t, len(simtest.Table(t, "engines/jobs.csv")), 3*7, "rows of jobs:")
}

// dump is one of OpenSM's files.
func dump(t *testing.T, name string) string {
	t.Helper()
	return unzipped(t, filepath.Join(root, "routing", "opensm", "mcast", "testdata", name+".gz"))
}

// TestMulticastFiles: the files of a subnet give a table with a row for every engine, and for
// OpenSM's engine the tables that OpenSM computed. These serve all groups, with the largest EFI
// of that engine; without a row of theirs a group is named.
func TestMulticastFiles(t *testing.T) {
	text := dump(t, "ft3_8.minhop.grid_4x4x8.mcfdbs")
	_, row, _ := strings.Cut(text, "Out Port(s)\n")
	row, _, _ = strings.Cut(row, "\n")
	inFolder(t, map[string]string{"net.txt": dump(t, "ft3_8.ibnetdiscover.txt"), "all.sa": dump(t, "grid_4x4x8.sa"),
		"all.mcfdbs": text, "cut.mcfdbs": strings.Replace(text, row+"\n", "", 1)})
	stdout, stderr := succeeds(t, "multicast", "--topology", "net.txt", "--groups", "all.sa", "--tables", "all.mcfdbs", "--engine", "minhop-mc", "-o", "out")
	rows := map[string][]string{}
	for line := range strings.Lines(stdout) {
		if words := strings.Fields(line); len(words) > 0 {
			rows[words[0]] = words
		}
	}
	for _, e := range []string{"mr4lms", "minhop-mc", "opensm-sssp", "gw-sssp"} {
		simtest.ErrorIf(t, rows[e] == nil || !strings.Contains(stderr, "80 switches, 128 terminals"), "no row for %s:\n%s%s", e, stdout, stderr)
	}
	installed, engine := rows["installed"], rows["minhop-mc"]
	simtest.ErrorIf(t, len(installed) != 5 || strings.Join(installed[1:], " ") != strings.Join(engine[1:5], " "), "installed %q, minhop-mc %q:\n%s", installed, engine, stdout)
	simtest.ErrorIf(t, read(t, "out/minhop-mc.mcfdbs") != text, "other tables than OpenSM's")
	mlid := strings.ToLower(strings.Fields(row)[0])
	stdout, stderr = succeeds(t, "multicast", "--topology", "net.txt", "--groups", "all.sa", "--tables", "cut.mcfdbs", "--quiet")
	simtest.Equal(t, stderr, "", "--quiet says")
	simtest.Says(t, stdout, "1 of ", "MLID "+mlid+": from ", "which has no row")
	refuses(t, "all.sa:", "multicast", "--topology", "net.txt", "--groups", "all.sa", "--tables", "all.sa")
	refuses(t, "--no-cache, --seed: for experiment files", "multicast", "--topology", "net.txt", "--groups", "all.sa", "--seed", "2", "--no-cache")
	refuses(t, "--engine, --entries: for --topology and --groups", "multicast", "x.toml", "--engine", "mr4lms", "--entries", "4")
}

// TestMulticastProblems: bad input is named, with status 2 and nothing written.
func TestMulticastProblems(t *testing.T) {
	fabric, groups := dump(t, "ft3_8.ibnetdiscover.txt"), dump(t, "grid_4x4x8.sa")
	wide := func(text string) string { // as UTF-16
		return "\xff\xfe" + strings.Join(strings.Split(text, ""), "\x00") + "\x00"
	}
	inFolder(t, map[string]string{"net.txt": fabric, "all.sa": groups, "cut.sa": groups[:3000], "none.sa": "",
		"wide.txt": wide(fabric), "wide.sa": wide(groups), "wide.toml": wide("kind = \"traffic\"\n")})
	before := left(t)
	for _, c := range [][2]string{
		{"--topology missing --groups all.sa", "missing: cannot be read"},
		{"--topology net.txt", "go together"},
		{"--topology net.txt --groups all.sa --engine zip", `unknown multicast engine "zip"`},
		{"--topology net.txt --groups all.sa --entries 0", "--entries = 0: want at least 1"},
		{"--topology net.txt --groups cut.sa", "cut.sa:"},
		{"--topology net.txt --groups none.sa", "none.sa: none of its 0 groups"},
		{"--topology all.sa --groups all.sa", "all.sa:1"},
		{"--topology wide.txt --groups all.sa", "wide.txt:1: the file is UTF-16; save it as UTF-8"},
		{"--topology net.txt --groups wide.sa", "wide.sa:1: the file is UTF-16; save it as UTF-8"},
		{"wide.toml", "wide.toml: the file is UTF-16; save it as UTF-8"},
		{"", "name an experiment file"},
		{"x.toml --topology net.txt --groups all.sa", "not both"},
	} {
		refuses(t, c[1], strings.Fields("multicast -o out "+c[0])...)
	}
	simtest.Equal(t, left(t), before, "left")
}

// fourHosts is two switches with two hosts each and one cable between them.
const fourHosts = `{"format": "weft-topology", "version": 1, "classes": [{"name": "c", "latency": 1}],
"switches": [{}, {}],
"terminals": [{"switch": 0, "class": "c"}, {"switch": 0, "class": "c"}, {"switch": 1, "class": "c"}, {"switch": 1, "class": "c"}],
"links": [{"a": {"switch": 0}, "b": {"switch": 1}, "class": "c"}]}
`

const qualityOfService = `kind = "traffic"
topology = { type = "file", path = "net.json" }
routing = { type = "lft", tables = "net.lfts", service_levels = "net.psl" }
switch = { buffer_flits = 192, output_buffer_flits = 4, flow_control = "cut-through", vlarb_low = "0:192,1:64" }
traffic = { pattern = "bit-complement", packet_flits = [64], load = 1.0 }
measure = { levels = true, warmup = 10000, window = 400000 }
`

// Two flows each way over one cable, of service levels 0 and 1: with weights of 192 to
// 64 units and packets of 64 they have three quarters and one quarter of it.
func TestServiceLevels(t *testing.T) {
	var levels strings.Builder // host 0 and 3 are on level 0
	for src := range 4 {
		for dst := range 4 {
			level := 1
			if src == 0 || src == 3 {
				level = 0
			}
			fmt.Fprintf(&levels, "0x%016x %d %d\n", 0x100001+2*src, dst+1, level)
		}
	}
	inFolder(t, map[string]string{"net.json": fourHosts, "net.psl": levels.String(), "qos.toml": qualityOfService,
		"plain.toml": "kind = \"traffic\"\n[topology]\ntype = \"file\"\npath = \"net.json\"\n[routing]\ntype = \"table\"\n"})
	succeeds(t, "topology", "plain.toml", "--lfts", "net.lfts")
	shares := func(settings ...string) (flits [2]float64) {
		t.Helper()
		args := []string{"run", "qos.toml", "--out", "results", "--force", "--quiet"}
		for _, s := range settings {
			args = append(args, "--set", s)
		}
		succeeds(t, args...)
		rows := simtest.Table(t, "results/levels.csv")
		simtest.FatalIf(t, len(rows) != 2, "%v", rows)
		for i, row := range rows {
			simtest.Equal(t, row["service_level"], strconv.Itoa(i), "row %d is of level", i)
			flits[i] = results.Number(row["flits_per_cycle"])
		}
		return flits
	}
	for _, c := range []struct {
		settings []string
		want     [2]float64 // both ways together
	}{
		{nil, [2]float64{1.5, 0.5}},
		{[]string{"switch.vlarb_low=0:3,1:1"}, [2]float64{1, 1}},
		{[]string{"switch.vlarb_high=0:64", "switch.vlarb_low=1:64", "switch.vl_high_limit=3"}, [2]float64{1.5, 0.5}},
	} {
		// Offered: 1 flit a cycle of each host, at random; the sources' queues are never
		// long empty, but at first.
		got := shares(c.settings...)
		simtest.ErrorIf(t, math.Abs(got[0]-c.want[0]) > 0.01 || math.Abs(got[1]-c.want[1]) > 0.01, "%v: %v flits a cycle, want %v", c.settings, got, c.want)
	}
	// Blame by level: the parts add up to the level's mean latency.
	shares("measure.blame=true", "measure.window=20000", "traffic.load=0.3")
	mean := map[string]string{}
	for _, row := range simtest.Table(t, "results/levels.csv") {
		mean[row["service_level"]] = row["latency_mean_ns"]
	}
	blamed := 0
	for _, row := range simtest.Table(t, "results/blame.csv") {
		if row["scope"] == "level" {
			blamed++
			want := results.Number(mean[row["from"]])
			simtest.Near(t, results.Number(row["total_ns"]), want, 1e-6*want, "level %s: parts in ns, and mean latency:", row["from"])
		}
	}
	simtest.ErrorIf(t, blamed != 2, "%d levels in blame.csv", blamed)
	for _, c := range []struct{ set, want string }{
		{"routing.type=table", "routing.service_levels is not a key of"},
		{"switch.flow_control=wormhole", "switch.flow_control = wormhole: want cut-through"},
		{"routing.vlarb=net.psl", "net.psl:1: "},
	} {
		refuses(t, c.want, "check", "qos.toml", "--set", c.set)
	}
}
