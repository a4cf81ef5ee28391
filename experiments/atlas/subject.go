package atlas

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/fabric/topology"
)

// subject is the network that a row of the targets speaks of.
type subject struct {
	topology topology.Topology // nil: the graph is a file's, of no family
	graph    *topology.Graph
	file     string // graphs/FILE.edges.gz; "" if weft built the graph
	measured *topology.Metrics
}

func newSubject(x topology.Topology) *subject { return &subject{topology: x, graph: x.Graph()} }

// metrics are measured when they are first asked for.
func (n *subject) metrics() *topology.Metrics {
	if n.measured == nil {
		m := topology.Measure(n.graph)
		n.measured = &m
	}
	return n.measured
}

// dataError is one of a file of the folder.
type dataError struct{ error }

func (e *dataError) Unwrap() error { return e.error }

func dataErrorf(format string, args ...any) error { return &dataError{fmt.Errorf(format, args...)} }

// data is the text of a file of the folder that an entry needs.
func (r *Reference) data(file string) (string, error) {
	text, err := judge.ReadFile(r.folder, file)
	if err != nil {
		return "", dataErrorf("%s: cannot be read: %w", path.Join(r.name, file), err)
	}
	return text, nil
}

// graphFile reads a graph of the folder, with so many terminals a switch.
func (r *Reference) graphFile(name string, terminals int) (*subject, error) {
	file := "graphs/" + name + ".edges.gz"
	text, err := r.data(file)
	if err != nil {
		return nil, err
	}
	g, err := topology.ReadEdges(file, []byte(text), terminals)
	if err != nil {
		return nil, &dataError{err}
	}
	return &subject{graph: g, file: name}, nil
}

// numbers reads a file of the folder that holds numbers, line by line; lines that begin
// with # are left aside.
func (r *Reference) numbers(file string) ([][]int, error) {
	text, err := r.data(file)
	if err != nil {
		return nil, err
	}
	var rows [][]int
	for i, line := range strings.Split(text, "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" || strings.HasPrefix(fields[0], "#") {
			continue
		}
		row := make([]int, len(fields))
		for k, field := range fields {
			if row[k], err = strconv.Atoi(field); err != nil {
				return nil, dataErrorf("%s:%d: %q is no number", path.Join(r.name, file), i+1, field)
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// nextHops is the table of a graph: next[r][d].
func (r *Reference) nextHops(n *subject) ([][]int, error) {
	file := "graphs/" + n.file + ".nexthop.gz"
	next, err := r.numbers(file)
	if err != nil {
		return nil, err
	}
	size := n.graph.Switches()
	if len(next) != size {
		return nil, dataErrorf("%s: %d rows, want %d", file, len(next), size)
	}
	for row, hops := range next {
		if len(hops) != size {
			return nil, dataErrorf("%s: row %d has %d columns, want %d", file, row, len(hops), size)
		}
		for d, hop := range hops {
			if hop < -1 || hop >= size || hop < 0 != (row == d) {
				return nil, dataErrorf("%s: row %d, column %d: %d, want a switch, 0 to %d, and -1 on the diagonal", file, row, d, hop, size-1)
			}
		}
	}
	return next, nil
}

// destinations is a permutation of the terminals of a graph, graphs/NAME.TRAFFIC.gz.
func (r *Reference) destinations(name, traffic string, terminals int) ([]int, error) {
	file := "graphs/" + name + "." + traffic + ".gz"
	rows, err := r.numbers(file)
	if err != nil {
		return nil, err
	}
	var all []int
	for _, row := range rows {
		if len(row) != 1 || row[0] < 0 || row[0] >= terminals {
			return nil, dataErrorf("%s: destination %d: %v, want a terminal, 0 to %d", file, len(all), row, terminals-1)
		}
		all = append(all, row[0])
	}
	if len(all) != terminals {
		return nil, dataErrorf("%s: %d destinations, want %d", file, len(all), terminals)
	}
	return all, nil
}
