package experiments

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// expand decodes all points of the sweep.
func (f *File) expand() {
	for _, a := range f.sweep {
		f.keys = append(f.keys, a.keys...)
	}
	unknown := map[string]string{}
	times := map[string]int{} // points that do not know a key
	expand(f.sweep, func(steps []int) {
		for key, message := range f.point(steps).unknown {
			unknown[key] = message
			times[key]++
		}
	})
	for _, key := range sortedKeys(unknown) {
		if times[key] == len(f.Points) {
			f.doc.unknown(key, unknown[key], f.sweep)
		}
	}
}

// point decodes the point at the given steps of the sweep and appends it.
func (f *File) point(steps []int) *decoder {
	values := make([][]any, len(f.sweep))
	for i, a := range f.sweep {
		values[i] = a.values[steps[i]]
	}
	p, dec := f.decode(values, len(f.Points))
	p.steps = slices.Clone(steps)
	f.doc.problems = append(f.doc.problems, dec.doc.problems...)
	f.Points = append(f.Points, p)
	return dec
}

// decode makes the point that has the given values on the axes of the sweep.
// The decoder holds its problems, and the keys that nothing knows.
func (f *File) decode(values [][]any, index int) (*Point, *decoder) {
	d := &document{name: f.doc.name, tree: cloneTable(f.doc.tree), origins: f.doc.origins, swept: map[string]origin{}}
	p := &Point{Index: index, config: f.kind.defaults()}
	for i, a := range f.sweep {
		for j, key := range a.keys {
			value := values[i][j]
			p.Swept = append(p.Swept, formatCell(value))
			d.swept[unquoted(key)] = f.doc.originOf(a.places[j])
			if inside, err := setKey(d.tree, key, value); err != nil {
				d.problem(key, "cannot be set: %s is not a table", inside)
			}
		}
	}
	dec := &decoder{doc: d, unknown: map[string]string{}, shared: f.shared}
	h := header{Seed: f.Seed}
	dec.table("", only(d.tree, "seed"), &h)
	p.Seed = h.Seed
	var inputs []setting
	p.settings, inputs = f.configure(dec, d, p.config)
	switch {
	case f.fork != nil:
		f.warmOf(p, d, dec)
	case f.kind.forks != nil:
		p.warmup = f.newWarmup(p, p.config, p.settings, inputs)
	}
	p.Hash = hashPoint(f.kind, build(), p.Seed, slices.Concat(inputs, p.settings, f.forkSettings()))
	return p, dec
}

// configure decodes the tables of a document into a configuration of the kind, and lists
// its settings and the digests of the files that it reads.
func (f *File) configure(dec *decoder, d *document, config any) (settings, inputs []setting) {
	tables := cloneTable(d.tree)
	for _, name := range append(slices.Clone(headerKeys), headerTables...) {
		delete(tables, name)
	}
	problems := len(d.problems)
	dec.tablesOf(f.kind, tables, config)
	if dec.timed {
		f.kind.complete(config, d.has)
		dec.clock = clockOf(config) // now the times can be read
		d.problems, dec.unknown = d.problems[:problems], map[string]string{}
		reflect.ValueOf(config).Elem().Set(reflect.ValueOf(f.kind.defaults()).Elem())
		dec.tablesOf(f.kind, tables, config)
	}
	if u, ok := config.(deadlockSetting); ok && f.unsafe {
		u.SetAllowDeadlock()
	}
	inputs = f.locateInputs(config)
	f.kind.complete(config, d.has)
	return resolve(config), inputs
}

// clockOf is the length of a cycle of a configuration, 0 if it has none.
func clockOf(config any) sim.Time {
	for _, s := range resolve(config) {
		if s.key == "fabric.clock" {
			clock, err := sim.ParseTime(fmt.Sprint(s.value))
			if err != nil {
				panic("experiments: fabric.clock: " + err.Error())
			}
			return clock
		}
	}
	return 0
}

// tablesOf decodes the tables of a kind. A key outside all tables that some
// table knows is told where it belongs.
func (d *decoder) tablesOf(k *kind, tables map[string]any, config any) {
	d.table("", tables, config)
	for key := range d.unknown {
		if strings.Contains(key, ".") {
			continue
		}
		if _, isTable := tables[key].(map[string]any); isTable {
			names := append(tableNames(k), headerTables...)
			d.unknown[key] = fmt.Sprintf("is not a table of kind %q%s: allowed are %s", k.name, param.DidYouMean(key, names), strings.Join(names, ", "))
			continue
		}
		for _, t := range k.settings() {
			if t.has(key) {
				d.unknown[key] = fmt.Sprintf("stands outside its table: it belongs under [%s]", t.Header())
			}
		}
	}
}

func tableNames(k *kind) []string {
	var names []string
	for _, t := range k.settings() {
		names = append(names, t.Name)
	}
	return names
}

// has tells whether key is a setting of the table or of one of its choices.
func (t TableDescription) has(key string) bool {
	for _, p := range t.Params {
		if p.Key == key {
			return true
		}
	}
	for _, c := range t.Choices {
		for _, e := range c.Entries {
			for _, p := range e.Params {
				if p.Key == key {
					return true
				}
			}
		}
	}
	return false
}
