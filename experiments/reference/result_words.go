package reference

import (
	"strings"

	"github.com/weft-sim/weft/experiments"
)

// addColumns adds the columns of the tables of results.
func addColumns(add func(meaning)) {
	column := func(table string, c experiments.Column, kinds ...string) {
		m := meaning{word: c.Name, what: "a column of " + table, doc: c.Doc, kinds: kinds}
		if unit := unitOf(c.Name); unit != "" {
			m.facts = []string{"unit " + unit}
		}
		add(m)
	}
	for _, t := range commonTables {
		for _, c := range t.columns {
			column(t.file, c)
		}
	}
	for _, o := range experiments.CommandTables() {
		add(meaning{word: o.File, what: "a table that " + o.Command + " writes", doc: o.Doc})
		for _, c := range o.Columns {
			column(o.File+" of "+o.Command, c)
		}
	}
	for _, k := range experiments.DescribeKinds() {
		for _, c := range k.Columns {
			column("results.csv", c, k.Name)
		}
		for _, f := range k.Further {
			d, ok := experiments.FurtherColumns(f.Name)
			if !ok {
				d.Doc = "a further table of the kind"
			}
			asked := d.Doc
			if f.Asked != "" {
				asked += "; written where " + f.Asked + " asks for it"
			}
			add(meaning{word: f.Name + ".csv", what: "a table of results", doc: asked, kinds: []string{k.Name}})
			for _, c := range d.Columns {
				column(f.Name+".csv", c, k.Name)
			}
		}
	}
}

// commonTables are the tables of every kind, and columns in front of all tables.
var commonTables = []struct {
	file    string
	columns []experiments.Column
}{
	{"every table", []experiments.Column{
		{Name: "point", Doc: "number of the point, from 0 in the order of the sweep"},
		{Name: "seed", Doc: "seed of the point's random streams"},
	}},
	{"results.csv", []experiments.Column{
		{Name: "replications", Doc: "independent runs that the row sums up"},
	}},
	{"performance.csv", []experiments.Column{
		{Name: "events", Doc: "arrivals of flits and credits, and injections, or the events of the kernel"},
		{Name: "flit_hops", Doc: "flits that crossed a switch, counted at each"},
		{Name: "wall_seconds", Doc: "time that the point took on this machine"},
		{Name: "peak_memory_mib", Doc: "largest memory of the process until the point was done"},
	}},
	{"failures.csv", []experiments.Column{
		{Name: "reason", Doc: "why the point could not be computed"},
	}},
}

// unitOf reads the unit off the name of a column.
func unitOf(column string) string {
	for _, u := range []struct{ end, unit string }{
		{"_ns", "nanoseconds"}, {"_ms", "milliseconds"}, {"_per_us", "per microsecond"}, {"_us", "microseconds"}, {"_s", "seconds"}, {"_bytes", "bytes"}, {"_mib", "MiB"},
		{"_seconds", "seconds"}, {"_flits_per_cycle", "flits per cycle"}, {"_cycles", "cycles"},
	} {
		if strings.HasSuffix(column, u.end) {
			return u.unit
		}
	}
	return ""
}
