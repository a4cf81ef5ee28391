package hardware

import (
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/judge"
)

// hops is the test that pairs.csv holds: how much later a message between leaf switches is than one
// inside, in us.
const hops = "hops"

// readPairs reads the latencies of pairs of nodes. Of each system whose pairs are in two clear groups, near
// and far, it makes a row: the difference of their medians. Behind its name a system may have a library in
// parentheses.
func readPairs(folder fs.FS, path string, all []*system) (rows []*row, faults document.Problems) {
	table, problem := judge.OpenTable(folder, path, "pairs.csv", ',', "system", "latency_us")
	if problem != nil {
		return nil, document.Problems{problem}
	}
	if table == nil {
		return nil, nil
	}
	latencies := map[string][]float64{}
	for problem := range table.Rows {
		us, err := strconv.ParseFloat(table.Cell("latency_us"), 64)
		if problem == nil && (err != nil || !(us > 0 && us < 1e9)) {
			problem = table.Problem("latency_us = %q: want a number above 0", table.Cell("latency_us"))
		}
		if problem != nil {
			faults = append(faults, problem)
			continue
		}
		latencies[table.Cell("system")] = append(latencies[table.Cell("system")], us)
	}
	for _, title := range slices.Sorted(maps.Keys(latencies)) {
		name, library, _ := strings.Cut(title, " (")
		i := slices.IndexFunc(all, func(s *system) bool { return s.name == name })
		difference, clear := farther(latencies[title])
		if i < 0 || !clear {
			continue
		}
		rows = append(rows, &row{
			system: name, title: "pairs far minus near", library: strings.TrimSuffix(library, ")"), quality: "A", unit: "us", measured: difference,
			benchmark: benchmark{test: hops, nodes: 2, perNode: 1, ranks: 2},
		})
	}
	return rows, faults
}

// farther divides values where the gap between them is widest, and tells by how much the medians of the
// parts differ, and whether the gap is wider than either part's middle half, which makes groups of them.
func farther(values []float64) (difference float64, clear bool) {
	slices.Sort(values)
	at, widest := 0, 0.0
	for i := 1; i < len(values); i++ {
		if gap := values[i] - values[i-1]; gap > widest {
			at, widest = i, gap
		}
	}
	if at < 4 || len(values)-at < 4 {
		return 0, false
	}
	low, high := values[:at], values[at:]
	half := func(part []float64) float64 { return part[3*len(part)/4] - part[len(part)/4] }
	return high[len(high)/2] - low[len(low)/2], widest > half(low) && widest > half(high)
}
