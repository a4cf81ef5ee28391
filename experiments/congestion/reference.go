// Package congestion holds weft's congestion control against rows that another simulator has
// measured: rows.csv, a run a row, with its inputs in a folder beside it.
package congestion

import (
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/judge"
)

// Columns of the table of verdicts; the verdict and a note follow.
var Columns = []string{"row", "group", "quantity", "expected_us", "weft_mean_us", "weft_least_us", "weft_most_us", "seeds", "difference_percent", "allowed_percent"}

// wanted are the columns of rows.csv that a judgement needs.
var wanted = []string{"id", "kind", "topology", "connections", "args", "cc", "spray", "link_gbps", "tail_us", "mean_us", "tol_tail_pct", "tol_mean_pct"}

// Open is the reference of a folder: rows.csv with columns id, kind (uec, pfc), topology (a file
// in inputs, or "default k=K tiers=3"), connections (likewise), args (options of htsim), cc,
// spray, link_gbps, tail_us and mean_us with their tolerances in percent.
func Open(data string) (*judge.Reference, error) {
	folder := os.DirFS(data)
	table, problem := judge.OpenTable(folder, data, "rows.csv", ',', wanted...)
	switch {
	case problem != nil:
		return nil, experiments.Problems{problem}
	case table == nil:
		return nil, experiments.Problems{{At: data, Message: "holds no rows.csv"}}
	}
	section := &judge.Section{File: "verdicts.csv", Columns: Columns, Conclude: conclude}
	r := &judge.Reference{Name: "congestion", Place: data, Entry: "row", Sections: []*judge.Section{section}}
	seen := map[string]bool{}
	for {
		problem, ok := table.Next()
		if !ok {
			return r, nil
		}
		x := &row{data: data, folder: folder}
		if problem != nil {
			x.faults = append(x.faults, problem)
		} else {
			x.read(table)
		}
		if x.id == "" {
			x.id = fmt.Sprintf("line-%d", table.Line)
		}
		if seen[x.id] {
			x.faults = append(x.faults, table.Problem("row %s stands there twice", x.id))
		}
		seen[x.id] = true
		section.Entries = append(section.Entries, &judge.Entry{Name: x.id, Unreadable: len(x.faults) > 0,
			Faults: func() experiments.Problems { return x.faults }, Judge: x.judge})
	}
}

// row is one of rows.csv.
type row struct {
	data                            string
	folder                          fs.FS
	id, group, kind, topology, flow string
	args                            []string
	control, spray                  string
	gbps                            float64
	expected, allowed               [2]float64 // of tail and mean
	large                           bool
	faults                          experiments.Problems
}

func (x *row) read(t *judge.Table) {
	x.id, x.group, x.kind, x.topology, x.flow = t.Cell("id"), t.Cell("group"), t.Cell("kind"), t.Cell("topology"), t.Cell("connections")
	x.args, x.control, x.spray = strings.Fields(t.Cell("args")), t.Cell("cc"), t.Cell("spray")
	number := func(column string) float64 {
		v, err := strconv.ParseFloat(t.Cell(column), 64)
		if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
			x.faults = append(x.faults, t.Problem("%s = %q: want a number", column, t.Cell(column)))
		}
		return v
	}
	x.gbps = number("link_gbps")
	x.expected, x.allowed = [2]float64{number("tail_us"), number("mean_us")}, [2]float64{number("tol_tail_pct"), number("tol_mean_pct")}
	if events := t.Cell("events"); events != "" {
		x.large = number("events") > 1e6
	}
	if x.kind != "uec" && x.kind != "pfc" {
		x.faults = append(x.faults, t.Problem("kind = %q: want uec or pfc", x.kind))
	}
	if x.id == "" || strings.ContainsAny(x.id, "/\\ ") {
		x.faults = append(x.faults, t.Problem("id = %q: want a name without blanks and slashes", x.id))
	}
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
	network := map[string]string{"rate": fmt.Sprintf("%q", strconv.FormatFloat(x.gbps, 'g', -1, 64)+"Gb/s")}
	transport := map[string]string{"control": strconv.Quote(x.control), "spray": strconv.Quote(x.spray), "packet": strconv.Quote("4150B")}
	switches := map[string]string{}
	if x.spray == "adaptive" {
		transport["spray"] = `"mixed"`
	}
	if x.kind == "pfc" {
		packet = pfcPacket
		transport["packet"], transport["ack_bytes"] = `"4064B"`, `"1B"`
		switches["full"], switches["control"] = `"pause"`, `"with-data"`
	}
	if err := x.options(packet, network, transport, switches); err != nil {
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
	for _, table := range []struct {
		name string
		set  map[string]string
	}{{"network", network}, {"transport", transport}, {"switch", switches}} {
		fmt.Fprintf(&b, "[%s]\n", table.name)
		for _, key := range sortedKeys(table.set) {
			fmt.Fprintf(&b, "%s = %s\n", key, table.set[key])
		}
	}
	fmt.Fprintf(&b, "[flows]\nfile = %q\n[measure]\nend = \"1s\"\n[sweep]\nseed = [", flows)
	for i := range seeds {
		fmt.Fprintf(&b, "%d, ", i+1)
	}
	b.WriteString("]\n")
	return b.String(), nil
}

func sortedKeys(m map[string]string) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// options are htsim's, as settings.
func (x *row) options(packet int, network, transport, switches map[string]string) error {
	args := x.args
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
	bytes := func(packets float64) string {
		return fmt.Sprintf("%q", fmt.Sprintf("%dB", int64(packets)*int64(packet)))
	}
	micro := func(v float64) string { return fmt.Sprintf("%q", strconv.FormatFloat(v, 'g', -1, 64)+"us") }
	for len(args) > 0 {
		switch option := next(); option {
		case "-end", "-nodes":
			number(option)
		case "-sender_cc_only", "-receiver_cc_only", "-sender_cc", "-receiver_cc": // column cc has them
		case "-sender_cc_algo":
			if algorithm := next(); algorithm != "constant" && algorithm != "nscc" {
				return fmt.Errorf("weft has no sender control %q", algorithm)
			}
		case "-load_balancing_algo":
			next() // column spray has it
		case "-paths":
			transport["entropies"] = strconv.Itoa(int(number(option)))
		case "-sack_threshold":
			transport["ack_bytes"] = fmt.Sprintf("%q", fmt.Sprintf("%dB", int64(number(option))))
		case "-cwnd":
			transport["window_packets"] = strconv.Itoa(int(number(option)))
			if x.control != "constant" {
				transport["nscc.start_window"] = transport["window_packets"]
				delete(transport, "window_packets")
			}
		case "-target_q_delay":
			transport["nscc.target_delay"] = micro(number(option))
		case "-conn_reuse":
			transport["share_connections"] = "true"
		case "-q":
			switches["queue"] = bytes(number(option))
		case "-ecn":
			switches["mark_from"] = bytes(number(option))
			switches["mark_to"] = bytes(number(option))
		case "-linkspeed":
			network["rate"] = fmt.Sprintf("%q", strconv.FormatFloat(number(option)/1000, 'g', -1, 64)+"Gb/s")
		case "-hop_latency":
			network["latency"] = micro(number(option))
		case "-switch_latency":
			switches["delay"] = micro(number(option))
		case "-failed":
			switches["degraded"] = strconv.Itoa(int(number(option)))
		case "-disable_trim":
			switches["full"] = `"drop"`
		case "-strat":
			switch strategy := next(); strategy {
			case "ecmp_host":
			case "ecmp_ar":
				switches["paths"] = `"adaptive"`
			case "ecmp_rr":
				switches["paths"] = `"round-robin"`
			default:
				return fmt.Errorf("weft has no strategy %q", strategy)
			}
		case "-pfc_thresholds":
			for _, key := range []string{"pause_below", "pause_above"} {
				switches[key] = fmt.Sprintf("%q", fmt.Sprintf("%dB", int64(number(option))*pauseBytes))
			}
		default:
			return fmt.Errorf("weft has no counterpart of the option %s", option)
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
	var table *experiments.Table
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
func (x *row) compare(r *judge.Row, table *experiments.Table, i int, column string) error {
	values, err := table.Numbers(column)
	if err != nil {
		return err
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
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
func conclude(table *experiments.Table, _ judge.Count, failed bool) (judge.Conclusion, error) {
	verdicts := map[string]string{}
	var names []string
	var means []float64
	for _, r := range judge.RowsOf(table) {
		name := r.Cells[0]
		if before, ok := verdicts[name]; !ok {
			verdicts[name] = r.Verdict
			names = append(names, name)
		} else if before == judge.Agrees {
			verdicts[name] = r.Verdict
		}
		if v, err := strconv.ParseFloat(r.Cells[8], 64); err == nil && r.Cells[2] == "mean" {
			means = append(means, v)
		}
	}
	agree := 0
	for _, name := range names {
		if verdicts[name] == judge.Agrees {
			agree++
		}
	}
	median := math.NaN()
	if len(means) > 0 {
		slices.Sort(means)
		median = (means[(len(means)-1)/2] + means[len(means)/2]) / 2
	}
	enough := 10*agree >= 9*len(names) && (math.Abs(median) < 1 || len(means) == 0)
	return judge.Conclusion{Shown: table, Failed: failed || !enough,
		Text: fmt.Sprintf("%d of %d rows agree in tail and mean (nine tenths are asked for); median difference of the means %.2f %% (1 %%)", agree, len(names), median)}, nil
}
