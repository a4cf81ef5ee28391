// Package congestion holds weft's congestion control against rows that another simulator has
// measured: rows.csv, a run a row, with its inputs in a folder beside it.
package congestion

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/stats"
)

// Columns of the table of verdicts; the verdict and a note follow.
var Columns = []string{"row", "group", "quantity", "expected_us", "weft_mean_us", "weft_least_us", "weft_most_us", "seeds", "difference_percent", "allowed_percent"}

// wanted are the columns of rows.csv that a judgement needs.
var wanted = []string{"id", "kind", "topology", "connections", "args", "cc", "spray", "link_gbps", "tail_us", "mean_us", "tol_tail_pct", "tol_mean_pct"}

func init() {
	judge.Register(judge.Source{
		Name: "congestion", Example: "weft reproduce congestion --data runs/", Needs: "rows that htsim measured", Open: Open,
		Help: `congestion, or congestion/ROW, with --data, holds weft's end points and switches of Ethernet
against runs of htsim. There, rows.csv has a row a run (id, kind, topology, connections, args,
cc, spray, link_gbps, tail_us, mean_us and their tolerances), and inputs/ holds what they name.`,
	})
}

// Open is the reference of a folder: rows.csv with columns id, kind (uec, pfc), topology (a file
// in inputs, or "default k=K tiers=3"), connections (likewise), args (options of htsim), cc,
// spray, link_gbps, tail_us and mean_us with their tolerances in percent.
func Open(data string) (*judge.Reference, error) {
	folder := os.DirFS(data)
	table, problem := judge.OpenTable(folder, data, "rows.csv", ',', wanted...)
	switch {
	case problem != nil:
		return nil, document.Problems{problem}
	case table == nil:
		return nil, document.Problems{{At: data, Message: "holds no rows.csv"}}
	}
	section := &judge.Section{File: "verdicts.csv", Columns: Columns, Conclude: conclude}
	r := &judge.Reference{Name: "congestion", Place: data, Entry: "row", Sections: []*judge.Section{section}}
	seen := map[string]bool{}
	for problem := range table.Rows {
		x := &row{data: data, folder: folder}
		if problem != nil {
			x.faults = append(x.faults, problem)
		} else {
			x.read(table)
		}
		x.id = cmp.Or(x.id, fmt.Sprintf("line-%d", table.Line))
		if seen[x.id] {
			x.faults = append(x.faults, table.Problem("row %s stands there twice", x.id))
		}
		seen[x.id] = true
		section.Entries = append(section.Entries, &judge.Entry{Name: x.id, Faults: &x.faults, Judge: x.judge})
	}
	return r, nil
}

type row struct {
	data                            string
	folder                          fs.FS
	id, group, kind, topology, flow string
	args                            []string
	control, spray                  string
	gbps                            float64
	expected, allowed               [2]float64 // of tail and mean
	large                           bool
	faults                          document.Problems
}

func (x *row) read(t *judge.Table) {
	x.id, x.group, x.kind, x.topology, x.flow = t.Cell("id"), t.Cell("group"), t.Cell("kind"), t.Cell("topology"), t.Cell("connections")
	x.args, x.control, x.spray = strings.Fields(t.Cell("args")), t.Cell("cc"), t.Cell("spray")
	number := func(column string) float64 { return t.Number(column, 1e18) }
	x.gbps = number("link_gbps")
	x.expected, x.allowed = [2]float64{number("tail_us"), number("mean_us")}, [2]float64{number("tol_tail_pct"), number("tol_mean_pct")}
	if events := t.Cell("events"); events != "" {
		x.large = number("events") > 1e6
	}
	if x.kind != "uec" && x.kind != "pfc" {
		t.Wrong("kind", "uec or pfc")
	}
	if x.id == "" || strings.ContainsAny(x.id, "/\\ ") {
		t.Wrong("id", "a name without blanks and slashes")
	}
	x.faults = append(x.faults, t.Faults()...)
}

// input is the path of a file of the folder inputs, packed or not; it must exist.
func (x *row) input(name string) (string, error) {
	for _, suffix := range []string{"", ".gz", ".zst"} {
		file := path.Join("inputs", name+suffix)
		if info, err := fs.Stat(x.folder, file); err == nil && info.Mode().IsRegular() {
			return filepath.Abs(filepath.Join(x.data, filepath.FromSlash(file)))
		}
	}
	return "", fmt.Errorf("%s is not in inputs", name)
}

// Packets of the two kinds of rows, in bytes on the wire.
const (
	header     = 64
	uecPacket  = 4150
	pfcPacket  = 4064
	pauseBytes = 4000 // unit of thresholds
)

// text is the experiment file of a row. The error says why weft has no counterpart.
func (x *row) text(seeds int) (string, error) {
	flows, err := x.input(x.flow)
	if err != nil {
		return "", err
	}
	packet := uecPacket
	transport := map[string]string{"control": strconv.Quote(x.control), "spray": strconv.Quote(x.spray), "packet": `"4150B"`}
	switches := map[string]string{}
	set := map[string]map[string]string{"network": {"rate": quantity(x.gbps, "Gb/s")}, "transport": transport, "switch": switches}
	if x.spray == "adaptive" {
		transport["spray"] = `"mixed"`
	}
	if x.kind == "pfc" {
		packet = pfcPacket
		transport["packet"], transport["ack_bytes"] = `"4064B"`, `"1B"`
		switches["full"], switches["control"] = `"pause"`, `"with-data"`
	}
	if err := x.options(packet, set); err != nil {
		return "", err
	}
	if x.kind == "pfc" {
		delete(switches, "queue") // nothing is dropped
	}
	var b strings.Builder
	fmt.Fprintf(&b, "title = %q\nkind = \"flows\"\n[topology]\n", "htsim's "+x.id)
	var k, tiers int
	if _, err := fmt.Sscanf(x.topology, "default k=%d tiers=%d", &k, &tiers); err == nil {
		if tiers != 3 || k < 2 || k%2 != 0 || k > 256 {
			return "", fmt.Errorf("topology %q: want tiers=3 and an even k of 2 to 256", x.topology)
		}
		fmt.Fprintf(&b, "type = \"xgft\"\nm = [%d, %d, %d]\nw = [1, %d, %d]\n", k/2, k/2, k, k/2, k/2)
	} else {
		file, err := x.input(x.topology)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "type = \"tiers\"\npath = %q\n", file)
	}
	for _, table := range []string{"network", "transport", "switch"} {
		fmt.Fprintf(&b, "[%s]\n", table)
		for _, key := range slices.Sorted(maps.Keys(set[table])) {
			fmt.Fprintf(&b, "%s = %s\n", key, set[table][key])
		}
	}
	fmt.Fprintf(&b, "[flows]\nfile = %q\n[measure]\nend = \"1s\"\n[sweep]\nseed = [", flows)
	for i := range seeds {
		fmt.Fprintf(&b, "%d, ", i+1)
	}
	b.WriteString("]\n")
	return b.String(), nil
}

// Forms of settings: a number with its unit, bytes, and what options of htsim are given in, for
// packets of so many bytes.
func quantity(v float64, unit string) string {
	return strconv.Quote(strconv.FormatFloat(v, 'g', -1, 64) + unit)
}

func bytes(v float64, each int) string { return fmt.Sprintf(`"%dB"`, int64(v)*int64(each)) }
func single(v float64, _ int) string   { return bytes(v, 1) }
func pauses(v float64, _ int) string   { return bytes(v, pauseBytes) }
func micro(v float64, _ int) string    { return quantity(v, "us") }
func megabits(v float64, _ int) string { return quantity(v/1000, "Gb/s") }
func whole(v float64, _ int) string    { return strconv.Itoa(int(v)) }

// numbered are the options of htsim that numbers follow, one for each key that it sets.
var numbered = map[string]struct {
	table string
	keys  []string
	form  func(v float64, packet int) string
}{
	"-paths":          {"transport", []string{"entropies"}, whole},
	"-sack_threshold": {"transport", []string{"ack_bytes"}, single},
	"-cwnd":           {"transport", []string{"window_packets"}, whole},
	"-target_q_delay": {"transport", []string{"nscc.target_delay"}, micro},
	"-q":              {"switch", []string{"queue"}, bytes},
	"-ecn":            {"switch", []string{"mark_from", "mark_to"}, bytes},
	"-linkspeed":      {"network", []string{"rate"}, megabits},
	"-hop_latency":    {"network", []string{"latency"}, micro},
	"-switch_latency": {"switch", []string{"delay"}, micro},
	"-failed":         {"switch", []string{"degraded"}, whole},
	"-pfc_thresholds": {"switch", []string{"pause_below", "pause_above"}, pauses},
}

// paths are the switches' choice of paths, by the strategy of htsim; "": weft's default.
var paths = map[string]string{"ecmp_host": "", "ecmp_ar": `"adaptive"`, "ecmp_rr": `"round-robin"`}

// options are htsim's, as settings of the tables.
func (x *row) options(packet int, set map[string]map[string]string) error {
	args, transport, switches := x.args, set["transport"], set["switch"]
	next := func() string {
		if len(args) == 0 {
			return ""
		}
		word := args[0]
		args = args[1:]
		return word
	}
	var wrong error
	number := func(option string) float64 {
		word := next()
		v, err := strconv.ParseFloat(word, 64)
		if (err != nil || v < 0 || v > 1e12) && wrong == nil {
			wrong = fmt.Errorf("%s %q: want a number", option, word)
		}
		return v
	}
	for len(args) > 0 {
		option := next()
		n, isNumbered := numbered[option]
		for _, key := range n.keys {
			set[n.table][key] = n.form(number(option), packet)
		}
		switch option {
		case "-end", "-nodes":
			number(option)
		case "-sender_cc_only", "-receiver_cc_only", "-sender_cc", "-receiver_cc": // column cc has them
		case "-sender_cc_algo":
			if algorithm := next(); algorithm != "constant" && algorithm != "nscc" {
				return fmt.Errorf("weft has no sender control %q", algorithm)
			}
		case "-load_balancing_algo":
			next() // column spray has it
		case "-cwnd":
			if x.control != "constant" {
				transport["nscc.start_window"] = transport["window_packets"]
				delete(transport, "window_packets")
			}
		case "-conn_reuse":
			transport["share_connections"] = "true"
		case "-disable_trim":
			switches["full"] = `"drop"`
		case "-strat":
			strategy := next()
			set, known := paths[strategy]
			if !known {
				return fmt.Errorf("weft has no strategy %q", strategy)
			}
			if set != "" {
				switches["paths"] = set
			}
		default:
			if !isNumbered {
				return fmt.Errorf("weft has no counterpart of the option %s", option)
			}
		}
	}
	return wrong
}

// Seeds of a row, and of one that takes long.
const (
	seeds, largeSeeds = 5, 3
)

func (x *row) judge(s *judge.Session) (rows []judge.Row, failed bool, err error) {
	n := seeds
	if x.large {
		n = largeSeeds
	}
	if s.Quick {
		n = 1
	}
	note := ""
	var table *results.Table
	if len(x.faults) == 0 {
		text, why := x.text(n)
		var file *experiments.File
		if why == nil {
			file, why = s.Load(x.id+".toml", text, false)
		}
		if why != nil {
			note = judge.Refusal(why)
		} else {
			outcome, err := s.Run(x.id, file, filepath.Join(s.Out, "congestion", x.id))
			if err != nil {
				return nil, false, err
			}
			table, failed = outcome.Results, len(outcome.Failures) > 0
		}
	}
	for i, quantity := range []string{"tail", "mean"} {
		r := judge.Row{Cells: []string{x.id, x.group, quantity, short(x.expected[i]), "", "", "", "", "", short(x.allowed[i])}, Verdict: judge.NotRun, Note: note}
		switch {
		case len(x.faults) > 0:
			r.Verdict, r.Note = judge.Unreadable, judge.Note(x.faults)
		case table != nil:
			if err := x.compare(&r, table, i, quantity+"_us"); err != nil {
				return nil, failed, err
			}
		}
		rows = append(rows, r)
	}
	return rows, failed, nil
}

// compare judges a quantity by the mean of weft's seeds.
func (x *row) compare(r *judge.Row, table *results.Table, i int, column string) error {
	values, err := table.Numbers(column)
	if err != nil {
		return err
	}
	sum := lists.Total(values)
	if len(values) == 0 || math.IsNaN(sum) {
		r.Verdict, r.Note = judge.Differs, "not all flows end within a second"
		return nil
	}
	mean := sum / float64(len(values))
	difference := 100 * (mean/x.expected[i] - 1)
	copy(r.Cells[4:], []string{short(mean), short(slices.Min(values)), short(slices.Max(values)), strconv.Itoa(len(values)), strconv.FormatFloat(difference, 'f', 2, 64)})
	if r.Verdict = judge.Agrees; math.Abs(difference) > x.allowed[i] {
		r.Verdict = judge.Differs
	}
	return nil
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

// conclude counts rows: nine tenths of them must agree in both quantities, and the median of the
// means' differences be below one percent.
func conclude(table *results.Table, _ judge.Count, failed bool) (judge.Conclusion, error) {
	var means []float64
	agree, rows := 0, results.Grouped(judge.RowsOf(table), func(r judge.Row) string { return r.Cells[0] })
	for _, both := range rows {
		if !slices.ContainsFunc(both, func(r judge.Row) bool { return r.Verdict != judge.Agrees }) {
			agree++
		}
		for _, r := range both {
			if v, err := strconv.ParseFloat(r.Cells[8], 64); err == nil && r.Cells[2] == "mean" {
				means = append(means, v)
			}
		}
	}
	median := stats.Quantile(means, 0.5)
	enough := 10*agree >= 9*len(rows) && (math.Abs(median) < 1 || len(means) == 0)
	return judge.Conclusion{Shown: table, Failed: failed || !enough,
		Text: fmt.Sprintf("%d of %d rows agree in tail and mean (nine tenths are asked for); median difference of the means %.2f %% (1 %%)", agree, len(rows), median)}, nil
}
