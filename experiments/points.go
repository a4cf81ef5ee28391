package experiments

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/mem"
	"github.com/weft-sim/weft/sim/param"
)

// expand decodes all points of the sweep, those that differ in the seed alone once. Of results that
// are there settings that have gone are passed over.
func (f *File) expand(finished bool) {
	f.swept, f.folder = map[string]document.Origin{}, f.inputFolder()
	f.kindTables = without(f.doc.Root, append(slices.Clone(headerKeys), headerTables...)...)
	for _, a := range f.sweep {
		f.keys = append(f.keys, a.keys...)
		for j, key := range a.keys {
			f.swept[document.Unquoted(key)] = f.doc.OriginOf(a.places[j])
			f.sweptTables = results.AddNew(f.sweptTables, document.SplitKey(key)[0])
		}
	}
	var all [][]int
	expand(f.sweep, func(steps []int) { all = append(all, slices.Clone(steps)) })
	groups := results.Grouped(results.Indices(len(all)), func(i int) string {
		var key []byte
		for j := range f.sweep {
			if keys := f.sweep[j].keys; len(keys) != 1 || keys[0] != results.SeedKey {
				key = binary.AppendUvarint(key, uint64(all[i][j]))
			}
		}
		return string(key)
	})
	f.Points = make([]*Point, len(all))
	problems, ofSeeds := make([]document.Problems, len(groups)), make([]document.Problems, len(all))
	unknowns := make([]map[string]string, len(groups))
	decode := func(g int) {
		s := f.settle(f.valuesAt(all[groups[g][0]]), len(groups[g]) > 1)
		problems[g], unknowns[g] = s.problems, s.unknown
		for _, i := range groups[g] {
			f.Points[i], ofSeeds[i] = f.point(s, f.valuesAt(all[i]), i)
			f.Points[i].steps = all[i]
		}
	}
	if len(groups) >= checkedPoints {
		mem.ReserveHugePages(int(min(pointBytes*int64(len(groups)), input.Memory()/4)))
	}
	decode(0)
	sideBySide(len(groups)-1, func(g int) { decode(g + 1) })
	f.doc.Problems = slices.Concat(append(append([]document.Problems{f.doc.Problems}, ofSeeds...), problems...)...)
	unknown := map[string]string{}
	times := map[string]int{} // groups that do not know a key
	for _, of := range unknowns {
		for key, message := range of {
			unknown[key] = message
			times[key]++
		}
	}
	for _, key := range results.SortedKeys(unknown) {
		if times[key] == len(groups) && !(finished && hasGone(key) != "") {
			f.unknown(key, unknown[key])
		}
	}
}

// sideBySide calls do for every number below n, on up to four threads where n is large.
func sideBySide(n int, do func(i int)) {
	if n >= checkedPoints {
		checking.Add(1)
		defer checking.Add(-1)
	}
	var next atomic.Int64
	var done sync.WaitGroup
	for range max(1, min(4, runtime.GOMAXPROCS(0), n/64)) {
		done.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				do(int(i))
			}
		})
	}
	done.Wait()
}

// valuesAt are the values of a point at the given steps of the sweep, by axis.
func (f *File) valuesAt(steps []int) [][]any {
	values := make([][]any, len(f.sweep))
	for i, a := range f.sweep {
		values[i] = a.values[steps[i]]
	}
	return values
}

// settled is what the settings of points come to, whatever their seeds.
type settled struct {
	config   any
	settings settings
	hashed   [][]byte // what points are named by beside the seed
	name     string   // for all seeds; "": a check may find other things with another seed
	problems document.Problems
	unknown  map[string]string // as of a decoder
}

// settle decodes the settings that the given values on the axes of the sweep lead to, of one point or several.
func (f *File) settle(values [][]any, several bool) *settled {
	d := f.pointDocument()
	d.Root = maps.Clone(f.kindTables)
	for _, name := range f.sweptTables { // the others are the file's
		if table, ok := d.Root[name].(map[string]any); ok {
			d.Root[name] = document.Clone(table)
		}
	}
	for i, a := range f.sweep {
		for j, key := range a.keys {
			if key != results.SeedKey {
				d.Assign(key, values[i][j], key)
			}
		}
	}
	s := &settled{config: f.kind.defaults()}
	dec := &decoder{doc: d, unknown: map[string]string{}, shared: f.shared, lately: &f.read}
	inputs := hashed(nil, f.configure(dec, d, s.config))
	s.problems, s.unknown = d.Problems, dec.unknown
	tables := f.listed(s.config)
	s.hashed = append(make([][]byte, 0, 1+len(tables)), inputs)
	for _, t := range tables {
		s.hashed = append(s.hashed, t.text)
	}
	if several && len(s.problems) == 0 && !f.kind.draws(s.config) {
		s.name = hashPoint(f.kind, build(), 0, s.hashed)
	}
	s.settings = f.kept(tables)
	return s
}

// point makes the point that has the given values on the axes of the sweep, and what its settings
// come to. Problems are what only its seed shows.
func (f *File) point(s *settled, values [][]any, index int) (*Point, document.Problems) {
	p := &Point{Index: index, config: s.config, settings: s.settings}
	root := only(f.doc.Root, results.SeedKey)
	for i, a := range f.sweep {
		for j, key := range a.keys {
			p.Swept = append(p.Swept, results.FormatCell(values[i][j]))
			if key == results.SeedKey {
				root[key] = values[i][j]
			}
		}
	}
	d := f.pointDocument()
	h := header{Seed: f.Seed}
	(&decoder{doc: d, unknown: map[string]string{}}).table("", root, &h)
	p.Seed = h.Seed
	p.Hash = hashPoint(f.kind, build(), p.Seed, s.hashed)
	p.checked = cmp.Or(s.name, p.Hash)
	return p, d.Problems
}

// configure decodes the kind's tables of a document into a configuration of the kind, and lists the
// digests of the files that it reads.
func (f *File) configure(dec *decoder, d *document.Tree, config any) (inputs []document.Setting) {
	dec.tablesOf(f.kind, d.Root, config)
	if u, ok := config.(deadlockSetting); ok && f.unsafe {
		*u.AllowDeadlock() = true
	}
	inputs = f.locateInputs(config)
	f.kind.complete(config, d.Has)
	if len(dec.later) > 0 {
		if clock := clockOf(config); clock > 0 {
			for _, read := range dec.later {
				read(clock)
			}
		}
	}
	return inputs
}

// clockOf is the length of a cycle of a configuration, 0 if it has none.
func clockOf(config any) sim.Time {
	for _, s := range resolve(config) {
		if s.Key == "fabric.clock" {
			clock, err := sim.ParseTime(fmt.Sprint(s.Value))
			if err != nil {
				panic("experiments: fabric.clock: " + err.Error())
			}
			return clock
		}
	}
	return 0
}

// eachPart visits the tables of a point's configuration, and what their choices have chosen.
func eachPart(config any, visit func(part any)) {
	var search func(v reflect.Value)
	search = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Struct:
			part := v.Addr().Interface()
			if c, ok := part.(param.Chooser); ok {
				visit(c.Config())
				return
			}
			visit(part)
			for f := range fieldsOf(v) {
				search(f.value)
			}
		case reflect.Map:
			for _, element := range elementsOf(v) {
				search(element.value)
			}
		}
	}
	search(reflect.ValueOf(config).Elem())
}

// fileReaders finds the parts of a point's configuration that read files.
func fileReaders(config any) (found []topology.PathConfig) {
	eachPart(config, func(part any) {
		if r, ok := readerOf(part); ok {
			found = append(found, r)
		}
	})
	return found
}

// locateInputs makes the paths of a point's configuration start at the folder of the experiment
// file, and returns the digests of the files: results depend on what they hold. Files that cannot
// be read have none; building the point says what is wrong.
func (f *File) locateInputs(config any) []document.Setting {
	var digests []document.Setting
	for _, r := range fileReaders(config) {
		r.RelativeTo(f.folder)
		for _, path := range r.Files() {
			digests = append(digests, document.Setting{Key: "content", Value: f.shared.digest(path)})
		}
	}
	return digests
}

// inputFolder is where relative paths of input files start.
func (f *File) inputFolder() string {
	dir := f.inputs
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(f.Name), filepath.FromSlash(dir))
	}
	if absolute, err := filepath.Abs(dir); err == nil {
		return absolute
	}
	return dir
}

// readsFiles tells whether a point or a figure reads files.
func (f *File) readsFiles() bool {
	if slices.ContainsFunc(f.Plots, func(p figures.PlotConfig) bool {
		return slices.ContainsFunc(p.References, func(r figures.ReferenceConfig) bool { return r.File != "" })
	}) {
		return true
	}
	return slices.ContainsFunc(f.Points, func(p *Point) bool {
		return slices.ContainsFunc(fileReaders(p.config), func(r topology.PathConfig) bool { return len(r.Files()) > 0 })
	})
}

// tablesOf decodes the tables of a kind. A key outside all tables that some
// table knows is told where it belongs.
func (d *decoder) tablesOf(k *kind, tables map[string]any, config any) {
	d.table("", tables, config)
	for key := range d.unknown {
		if names := document.SplitKey(key); len(names) > 1 {
			for _, t := range k.settings() {
				if t.Name == names[len(names)-1] {
					d.unknown[key] += fmt.Sprintf("; there is a table [%s]", t.Header())
				}
			}
			continue
		}
		if _, isTable := tables[key].(map[string]any); isTable {
			names := lists.Map(k.settings(), func(t TableDescription) string { return t.Name })
			names = append(names, headerTables...)
			d.unknown[key] = fmt.Sprintf("is not a table of kind %q%s: allowed are %s", k.name, param.DidYouMean(key, names), strings.Join(names, ", "))
			continue
		}
		for _, t := range k.settings() {
			if slices.ContainsFunc(t.all(), func(p param.Param) bool { return p.Key == key }) {
				d.unknown[key] = fmt.Sprintf("stands outside its table: it belongs under [%s]", t.Header())
			}
		}
	}
}

// alike lists the first of some points for which the kind finds the same things before a run, and
// says of each point by which number its first stands in the list.
func (f *File) alike(points []*Point) (firsts []*Point, of []int) {
	places := map[string]int{}
	for _, p := range points {
		at, known := places[p.checked]
		if !known {
			at = len(firsts)
			places[p.checked], firsts = at, append(firsts, p)
		}
		of = append(of, at)
	}
	return firsts, of
}

// check asks the kind about every point that may be another matter.
func (f *File) check() {
	firsts, of := f.alike(f.Points)
	problems, warnings := make([]document.Problems, len(firsts)), make([][]Warning, len(firsts))
	sideBySide(len(firsts), func(i int) {
		d, p := f.pointDocument(), firsts[i]
		of, err := f.kind.check(p.config, p.Seed)
		d.ProblemsFrom("", err)
		of = slices.DeleteFunc(of, func(w Warning) bool { return w.Unset && d.Sets(w.Key) })
		problems[i], warnings[i] = d.Problems, idleKeys(of, d)
	})
	for _, list := range problems {
		f.doc.Problems = append(f.doc.Problems, list...)
	}
	byPoint := lists.Make(len(f.Points), func(i int) []Warning { return warnings[of[i]] })
	found := f.reallyIdle(byPoint)
	f.Warnings = f.joinedWarnings(&found)
}

// pointDocument is the file to a point of it: swept keys stand where they are swept.
func (f *File) pointDocument() *document.Tree {
	return &document.Tree{Name: f.doc.Name, Origins: f.doc.Origins, Swept: f.swept, Resolved: f.doc.Resolved}
}

// TopologyOf builds the network that the tables of a point of the file choose, the first of
// them if there are several. Points with the same choice share it. The error says what is
// wrong with the choice, or that the file's kind has none.
func (f *File) TopologyOf(p *Point) (topology.Topology, error) {
	var choice *Choice[struct{}, topology.Topology]
	param.EachSetting(p.config, func(_ *param.Field, table reflect.Value) {
		param.EachSetting(table.Addr().Interface(), func(_ *param.Field, v reflect.Value) {
			if c, ok := v.Addr().Interface().(*Choice[struct{}, topology.Topology]); ok && choice == nil {
				choice = c
			}
		})
	})
	if choice == nil {
		return nil, fmt.Errorf("%s: experiments of kind %q have no topology", f.Name, f.kind.name)
	}
	return choice.BuildShared(struct{}{})
}

// LoadBound is the highest load that the channels of a point can carry, proven; 0 where none is
// known. Cost: as of channel loads, once for points that share network and pattern.
func (f *File) LoadBound(p *Point) float64 {
	c, ok := p.config.(interface {
		LoadBound(seed uint64) (float64, error)
	})
	if !ok {
		return 0
	}
	bound, err := c.LoadBound(p.Seed)
	if err != nil {
		return 0 // no bound of what cannot be built
	}
	return bound
}

// unknown records a key that no point of the sweep knows, at the place where it was written
// or is swept, or else at the first at which something stands below it, as [fault.cables]
// does below fault.
func (f *File) unknown(key, message string) {
	d := f.pointDocument()
	at := d.OriginOf(key)
	if at.Line == 0 {
		for _, origins := range []map[string]document.Origin{d.Origins, d.Swept} {
			for name, o := range origins {
				if (strings.HasPrefix(name, key+".") || strings.HasPrefix(name, key+"[")) && (at.Line == 0 || cmp.Or(o.Line-at.Line, o.Column-at.Column) < 0) {
					at = o
				}
			}
		}
	}
	f.doc.Problems = append(f.doc.Problems, &document.Problem{At: at.String(), Key: key, Message: message, Order: at})
}
