package jobs

import (
	"slices"
	"strconv"

	"github.com/weft-sim/weft/sim/input"
)

// standardForm is the Standard Workload Format (Feitelson, Parallel Workloads Archive, version 2.2): 18
// numbers a line, -1 for what is not known, behind a header whose lines begin with a semicolon.
var standardForm = batchForm{"", "submit", "processors", "run", "job", "", "requested", ofSeconds, ofSeconds, false}

var standardColumns = []string{"job", "submit", "wait", "run", "processors", "cpu", "memory", "processors asked", "requested", "memory asked", "status",
	"user", "group", "executable", "queue", "partition", "preceding", "think"}

// Columns of standardColumns that are looked at by number.
const (
	standardRun, standardProcessors, standardAsked, standardLimit, standardStatus = 3, 4, 7, 8, 10
)

// standardWorkload is what the header of such a file says.
type standardWorkload struct {
	found        bool
	nodes, procs int // of the machine; 0: not said
}

var standardCounts = input.Pattern(`^;\s*(MaxNodes|MaxProcs):\s*(\d+)`)

// comment takes in a line of the header.
func (w *standardWorkload) comment(line string) bool {
	if line[0] != ';' {
		return false
	}
	w.found = true
	if m := standardCounts().FindStringSubmatch(line); m != nil {
		n, _ := strconv.Atoi(m[2]) // 0 where there are too many digits
		if m[1] == "MaxNodes" {
			w.nodes = n
		} else {
			w.procs = n
		}
	}
	return true
}

// read makes the cells of a line those of a job: what is not known is left out, and hosts are counted. It is
// false of a part of a job that has a line of its own, as a whole.
func (w *standardWorkload) read(cells []string) bool {
	if slices.Contains([]string{"2", "3", "4"}, cells[standardStatus]) {
		return false
	}
	if cells[standardLimit] == "-1" {
		cells[standardLimit] = ""
	}
	if cells[standardProcessors] == "-1" {
		cells[standardProcessors] = cells[standardAsked]
	}
	if cells[standardRun] == "-1" || cells[standardProcessors] == "-1" { // nobody knows how long, or where
		cells[standardRun] = "0"
	}
	if n, err := strconv.Atoi(cells[standardProcessors]); err == nil && n > 0 && w.nodes > 0 && w.procs > w.nodes {
		of := w.procs / w.nodes // processors of a host
		cells[standardProcessors] = strconv.Itoa((n + of - 1) / of)
	}
	return true
}

// rawColumns are columns of sacct that hold numbers: seconds, but for the limit, which counts minutes.
var rawColumns = map[string]batchNumber{
	"ElapsedRaw":   {plainSeconds, "a whole number"},
	"TimelimitRaw": {func(text string) (float64, bool) { x, ok := plainSeconds(text); return 60 * x, ok }, "a whole number"},
}

// substitute takes other columns of sacct for those that are not there.
func (f *batchForm) substitute(header []string) {
	if !f.others {
		return
	}
	for _, column := range []struct {
		name   *string
		others []string
	}{
		{&f.nodes, []string{"AllocNodes", "ReqNodes"}},
		{&f.duration, []string{"ElapsedRaw"}},
		{&f.name, []string{"JobIDRaw"}},
		{&f.limit, []string{"TimelimitRaw"}},
	} {
		for _, other := range column.others {
			if !slices.Contains(header, *column.name) && slices.Contains(header, other) {
				*column.name = other
			}
		}
	}
}
