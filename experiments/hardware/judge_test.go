package hardware

import (
	"bytes"
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/mpi/systems"
	"github.com/weft-sim/weft/sim/simtest"
)

// folderOf is a folder of the two files, "" for none.
func folderOf(t *testing.T, systems, rows string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{"systems.toml": systems, "rows.csv": rows} {
		if text != "" {
			simtest.Check(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666))
		}
	}
	return folder
}

// judged runs weft reproduce hardware on a folder, with so many rows at once, and returns its verdicts and errors.
func judged(t *testing.T, data string, jobs int) (rows []judge.Row, errors *results.Table, out string) {
	t.Helper()
	r := simtest.Must(Open(data))(t)
	s := &judge.Session{Context: t.Context(), Out: t.TempDir(), Stdout: io.Discard, Stderr: io.Discard, Jobs: jobs}
	simtest.Must(s.Judge(r))(t)
	out = filepath.Join(s.Out, "hardware")
	rows = judge.RowsOf(simtest.Must(results.ReadTableFile(filepath.Join(out, "verdicts.csv")))(t))
	return rows, simtest.Must(results.ReadTableFile(filepath.Join(out, "errors.csv")))(t), out
}

// TestInterrupted: a judgement that is told to end does so with the next row.
func TestInterrupted(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	s := &judge.Session{Context: ctx, Out: t.TempDir(), Stdout: io.Discard, Stderr: io.Discard}
	_, err := s.Judge(simtest.Must(Open("testdata"))(t))
	simtest.Fail(t, err, "interrupted")
}

// TestJudge: rows of public logs, some of each kind; expected are verdicts and reasons. Rows that a preset
// was fitted to are calibrated, as is the smallest message of a series whose pair of nodes it tells.
func TestJudge(t *testing.T) {
	rows, errors, out := judged(t, "testdata", 2)
	of := func(system, test, bytes string) judge.Row {
		t.Helper()
		i := slices.IndexFunc(rows, func(r judge.Row) bool {
			return r.Cells[0] == system && strings.HasPrefix(r.Cells[2], test) && r.Cells[6] == bytes
		})
		simtest.FatalIf(t, i < 0, "no row %s %s %s B", system, test, bytes)
		return rows[i]
	}
	for _, c := range []struct{ system, test, bytes, verdict, note string }{
		{"alaska-ib", "osu_latency", "1", "calibrated", ""},
		{"alaska-ib", "osu_latency", "512", judge.Agrees, ""},
		{"alaska-ib", "osu_bw", "64", judge.Agrees, ""},
		{"alaska-ib", "osu_allreduce", "1024", judge.Agrees, ""},
		{"alaska-roce", "imb_pingpong", "8", "calibrated", "between leaf switches"},
		{"alaska-roce", "imb_pingpong", "65536", judge.Agrees, "between leaf switches"},
		{"alaska-roce", "pairs", "0", "calibrated", ""},
		{"cscs-alps-clariden", "osu_alltoall", "4096", judge.Agrees, "adapter of its own"},
		{"cscs-alps-clariden", "osu_bw_gpu", "64", judge.NotJudged, "GPUs"},
		{"azure-hb120-96rs-v3", "osu_allreduce", "4", judge.NotJudged, "factor of 2"},
		{"lanl-edr-cluster", "imb_allreduce", "4", judge.NotJudged, "not known"},
		{"psi-merlin7-a100", "incast", "8388608", judge.NotJudged, "GPUs"},
	} {
		r := of(c.system, c.test, c.bytes)
		simtest.ErrorIf(t, r.Verdict != c.verdict || !strings.Contains(r.Note, c.note),
			"%s %s of %s B: %s (%s), want %s (%s)", c.system, c.test, c.bytes, r.Verdict, r.Note, c.verdict, c.note)
	}
	// Of latencies of edr one is neither fitted nor the smallest of its series: 512 B, and 16 B over verbs.
	edr := simtest.Must(errors.Where(map[string]string{errors.Columns[0]: "edr", errors.Columns[1]: "latency", errors.Columns[2]: "all"}))(t)
	simtest.Equal(t, edr.Rows[0][3], "2", "errors of edr:")
	picture := string(simtest.Must(os.ReadFile(filepath.Join(out, "alaska-ib.svg")))(t))
	simtest.ErrorIf(t, strings.Count(picture, "<svg") < 5 || !strings.Contains(picture, "alaska-ib: latency"),
		"the picture has not a figure for each class and its errors")
	for _, jobs := range []int{0, 5} {
		_, _, other := judged(t, "testdata", jobs)
		for _, file := range []string{"verdicts.csv", "errors.csv", "alaska-ib.svg"} {
			a, b := simtest.Must(os.ReadFile(filepath.Join(out, file)))(t), simtest.Must(os.ReadFile(filepath.Join(other, file)))(t)
			simtest.ErrorIf(t, !bytes.Equal(a, b), "with %d rows at once %s differs", jobs, file)
		}
	}
}

// TestRefusals: what is wrong with a folder names its file and key, and what is too much to simulate says
// so: a window of 64 messages of 2^40 B in parts of 128 KiB; a call of 2^17 ranks,
// of which each sends 17 messages or more.
func TestRefusals(t *testing.T) {
	const rows = "system,benchmark,nodes,ppn,ranks,size_bytes,value,unit,library,quality\n"
	for _, c := range []struct{ systems, rows, want string }{
		{"", "", "systems.toml: cannot be read"},
		{"[system.x\n", rows, "systems.toml:1:10: not valid TOML"},
		{"[system.x]\npreset = \"edr\"\n", "", "holds no rows.csv"},
		{"system = 3\n", rows, "systems.toml: has no table [system.NAME]\n"},
		{"[system.x]\npreset = \"edrr\"\n", rows, "want one of edr"},
		{"[system.x]\npreset = \"edr\"\n", rows, "rows.csv: holds no row that can be read"},
		{"[system.x]\npreset = \"edr\"\n", "system,value\n", "has no column benchmark"},
	} {
		simtest.Refuse(Open(folderOf(t, c.systems, c.rows)))(t, c.want)
	}
	text := rows + "x,osu_latency,2,1,2,8,-1,us,MPI,A\nx,osu_latency,two,1,2,8,1,us,MPI,A\ny,osu_latency,2,1,2,8,1,us,MPI,A\nx,osu_latency,2,1,2,8,1,furlongs,MPI,A\nx,osu_scan,2,1,2,8,1,us,MPI,A\nx,osu_allreduce,2,64,128,8,1,us,MPI,A\nx,osu_bw,2,1,2,,1,MB/s,MPI,A\nx,osu_bw,2,1,2,1099511627776,1,MB/s,MPI,A\nx,osu_alltoall,4096,32,131072,8,1,us,MPI,A\nx,osu_allreduce,2,4,8,8,1,us,Open MPI 5.0.8,A\n"
	folder := folderOf(t, "[system.x]\npreset = \"edr\"\nlibrary = \"open-mpi\"\nsockets = 2\ncores = 16\nnodes = 3\nadapters = -1\n[system.z]\npreset = \"edrr\"\nlibrary = \"lam\"\n", text+"z,osu_latency,2,1,2,8,1,us,MPI,A\n")
	r := simtest.Must(Open(folder))(t)
	simtest.Fail(t, r.Faults, `rows.csv:2: value = "-1"`, `rows.csv:3: nodes = "two"`, `system.z.preset = "edrr": want one of edr`,
		`system.z.library = "lam": want one of intel-mpi`, "system.x.nodes is no key", "system.x.adapters = -1: want a number from 0")
	verdicts, _, _ := judged(t, folder, 2)
	var notes []string
	for _, v := range verdicts {
		notes = append(notes, v.Verdict+" "+v.Note)
	}
	const tooMany = "not-judged more than 1000000 messages a call, or parts of long ones, are too many to simulate here"
	want := []string{`not-judged unit "furlongs" of a test of ping-pong is not known`, `not-judged weft has no test "osu_scan"`, "not-judged 64 ranks a node are more than its 32 cores", "not-judged its size is not given", tooMany, tooMany, "not-judged Open MPI 5 goes by levels of nodes (coll/han, its default), which weft has not", "not-judged systems.toml does not name it", `not-judged weft has no preset "edrr"`}
	simtest.EqualSlices(t, notes, want, "verdicts")
}

// TestKindsOfRows: what benchmarks measure by their names and units. A window of messages from one of two
// ranks is osu_bw by any name, of which the rate is the bandwidth over the size (4 KiB at 4,096 MB/s are a million a
// second); two-way it has more; ping-pongs of one pair are osu_latency; IMB's exchange sends twice what its
// send and receive sends, of which PingPing is that of two ranks; rows without a name of the library's or
// of an algorithm are of the default one. Whose a library is need not be said.
func TestKindsOfRows(t *testing.T) {
	text := "system,benchmark,nodes,ppn,ranks,size_bytes,value,unit,library,quality\n"
	shown := []string{"2,1,2,4096,4096,MB/s", "2,1,2,4096,1e6,msg/s", "2,1,2,8,1,us", "2,2,4,65536,1,us", "2,1,3,8,1,us"}
	for _, r := range []struct {
		test  string
		shown int
	}{
		{"osu_bw", 0}, {"IMB Uniband", 0}, {"imb_uniband", 1}, {"IMB-MPI1 Biband", 0}, {"osu_bibw", 0}, // 0 to 4
		{"osu_latency", 2}, {"osu_multi_lat", 2}, {"imb_PingPing", 2}, {"IMB Sendrecv", 2}, // 5 to 8
		{"imb_exchange", 3}, {"imb_sendrecv", 3}, {"osu_allreduce", 3}, {"osu_allreduce default", 3}, // 9 to 12
		{"osu_alltoallv", 3}, {"osu_allgatherv", 3}, {"osu_reduce", 3}, {"osu_scatter", 3}, {"osu_multi_lat", 4}, // 13 to 17
	} {
		text += "x," + r.test + "," + shown[r.shown] + ",MPICH 4.1,A\n"
	}
	rows, _, _ := judged(t, folderOf(t, "[system.x]\npreset = \"edr\"\nlibrary = \"open-mpi\"\n", text), 2)
	weft := make([]float64, len(rows))
	for i, r := range rows {
		weft[i], _ = strconv.ParseFloat(r.Cells[slices.Index(Columns, "weft")], 64)
	}
	simtest.Alike(t, "one way, and both ways", weft[0], weft[1], weft[3], weft[4])
	rate := weft[0] * 1e6 / 4096
	simtest.Near(t, weft[2], rate, rate*1e-4, "messages a second at %v MB/s:", weft[0])
	simtest.Alike(t, "times", weft[5], weft[6], weft[7], weft[8], weft[11], weft[12])
	simtest.ErrorIf(t, weft[0] == 0 || weft[3] <= weft[0] || weft[5] == 0 || weft[7] == 0 || weft[9] <= weft[10], "rates and times %v", weft)
	for i, note := range []string{"", "", "weft has none", `no test "osu_scatter"`, "3 ranks are no pairs"} {
		r := rows[13+i]
		simtest.ErrorIf(t, (r.Note == "") != (note == "") || !strings.Contains(r.Note, note) || (note == "") != (weft[13+i] > 0),
			"%s: %v, %s; want %q", r.Cells[2], weft[13+i], r.Note, note)
	}
}

// TestSpellings: columns in any order, sizes with units, units of any spelling, ranks or processes a node that are
// implied: all of these are the same message, of 4 KiB between two nodes; what is over TCP, or of no size, is not judged.
func TestSpellings(t *testing.T) {
	text := "quality,library,unit,value,size_bytes,ranks,ppn,nodes,benchmark,system\n"
	units := []string{"us", "usec", "µs", "microseconds", "ns", "ms", "s"}
	for _, unit := range units {
		text += "A,\"Open MPI 4.1, UCX\"," + unit + ",1,4KiB,2,1,2,osu_latency,x\n"
	}
	text += "A,Open MPI 4.1,us,1,4096,,1,2,IMB-MPI1 PingPong,x\nA,Open MPI 4.1,us,1,4096,2,,2,pingpong,x\nA,Open MPI 4.1,us,1,4096,,,2,osu_latency,x\n"
	text += "A,\"Open MPI 4.1, tcp\",us,1,4096,2,1,2,osu_latency,x\nA,Open MPI 4.1,us,1,,2,1,2,osu_latency,x\nA,MVAPICH2 2.3,us,1,8,4,2,2,osu_allreduce,x\n"
	text += "A,Open MPI 4.1,us,1,4K,2,1,2,osu_latency,x\n"
	folder := folderOf(t, "[system.x]\npreset = \"edr\"\n", text)
	simtest.Fail(t, simtest.Must(Open(folder))(t).Faults, `rows.csv:15: size_bytes = "4K"`)
	rows, _, _ := judged(t, folder, 2)
	for i, r := range rows[:10] {
		us := 1.0
		if i < len(units) {
			us = times[units[i]]
		}
		weft, err := strconv.ParseFloat(r.Cells[slices.Index(Columns, "weft")], 64)
		want, _ := strconv.ParseFloat(rows[0].Cells[slices.Index(Columns, "weft")], 64)
		simtest.ErrorIf(t, err != nil || math.Abs(weft*us/want-1) > 1e-4, "%v: want %v us", r.Cells, want)
	}
	for i, note := range []string{"over TCP", "size is not given", "the tables of MVAPICH2"} {
		r := rows[10+i]
		simtest.ErrorIf(t, !strings.Contains(r.Note, note) || (r.Verdict == judge.NotJudged) != (i < 2),
			"%v: %s (%s), want %s", r.Cells, r.Verdict, r.Note, note)
	}
}

// given is the number of rows of each system that the presets were fitted to, as the public list has them
// that testdata is from.
var given = map[string]int{"alaska-ib": 289, "alaska-roce": 73, "csd3-cclake-ib": 71, "orfeo-thin": 92, "azure-hb120-96rs-v3": 111, "oci-bm-optimized3.36": 78, "cscs-alps-clariden": 113, "hdr-cx6-verbs-container": 34}

// TestFittedRows: at most a fifth of a system's rows are fitted to.
func TestFittedRows(t *testing.T) {
	fitted := map[string]int{}
	count := func(p *systems.Preset) {
		for _, f := range p.Fitted {
			fitted[f.System] += len(f.Sizes)
		}
	}
	for _, name := range systems.Registry.Names() {
		count(simtest.Must(systems.Registry.New(name, struct{}{}))(t))
	}
	for _, name := range systems.Libraries() {
		count(systems.Library(name))
	}
	for system, n := range fitted {
		simtest.ErrorIf(t, 5*n > given[system], "%s: fitted to %d of %d rows", system, n, given[system])
	}
}

// TestFarther: two groups around 1 and 2 are 1 apart; values at equal distances are one group.
func TestFarther(t *testing.T) {
	d, clear := farther([]float64{2.0, 1.0, 1.01, 2.01, 1.02, 2.02, 1.03, 2.03, 1.04, 2.04})
	simtest.ErrorIf(t, !clear || d < 0.999 || d > 1.001, "%v, %v", d, clear)
	_, clear = farther([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	simtest.ErrorIf(t, clear, "equal distances make groups")
}

// TestLibraryOf: the library of a row by its beginning, its version and its transport.
func TestLibraryOf(t *testing.T) {
	s := &system{Library: "open-mpi", Libraries: map[string]string{"Intel MPI": "intel-mpi", "OurMPI": "mpich"}}
	for name, want := range map[string]string{
		"Open MPI 4.0.3, UCX, OMB 5.6":       "open-mpi-4.0 ucx ",
		"Open MPI 3.1.6, UCX":                "open-mpi-4.0 ucx ",
		"Open MPI 5.0.8, libfabric cxi":      "open-mpi cxi ",
		"Open MPI (HPC-X 2.18), UCX":         "open-mpi ucx " + hcoll,
		"HPC-X 2.7 (UCX 1.9)":                "open-mpi-4.0 ucx " + hcoll,
		"HPC-X 2.8 (Open MPI 4.0.4)":         "open-mpi-4.0  " + hcoll,
		"OpenMPI/4.0.5-GCC":                  "open-mpi-4.0  ",
		"Open MPI, UCX_TLS=rc,sm, OMB 5.8":   "open-mpi ucx ",
		"Intel MPI 2019.7, verbs, OMB 5.6":   "intel-mpi verbs those of Intel MPI are not public",
		"Open MPI 5.0.8, libfabric, LINKx":   "open-mpi linkx ",
		"Intel(R) MPI 2021.2, mlx":           "intel-mpi  those of Intel MPI are not public",
		"Open MPI 4.1.6 coll_tuned, OMB 7.3": "open-mpi  ",
		"Cray MPICH 8.1, cxi":                "mpich cxi those of Cray MPICH are not public",
		"Spectrum MPI 10.3":                  "open-mpi  those of Spectrum MPI are not public",
		"MVAPICH2 2.3.7":                     "mpich  the tables of MVAPICH2 by architecture weft has not",
		"MVAPICH 1.2rc1":                     "mvapich  ",
		"OurMPI 3":                           "mpich  ",
		"Fujitsu MPI":                        "open-mpi  whose the library is is not known",
	} {
		library, transport, why := s.libraryOf(name)
		simtest.Equal(t, library+" "+transport+" "+why, want, "%s:", name)
	}
}

// TestErrorsOfPresets: mpi/systems/errors.csv is what weft reproduce hardware writes for the rows that it can judge.
func TestErrorsOfPresets(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds of simulation, a minute with the race detector")
	}
	_, _, out := judged(t, "testdata/given", 2)
	path := filepath.Join(out, "errors.csv")
	got, want := simtest.Must(os.ReadFile(path))(t), simtest.Must(os.ReadFile("../../mpi/systems/errors.csv"))(t)
	simtest.ErrorIf(t, !bytes.Equal(got, want), "errors.csv is out of date; weft has\n%s", got)
}
