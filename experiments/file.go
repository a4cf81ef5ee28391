package experiments

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-sim/weft/sim/input"
)

// header is the part of a file outside all tables.
type header struct {
	Title  string `toml:"title" doc:"what the experiment shows; the title of its figures"`
	Kind   string `toml:"kind" doc:"what is measured; see weft list kinds"`
	Seed   uint64 `toml:"seed" doc:"seed of every random stream; the same for all points of a sweep, so that variants meet the same random numbers" max:"9223372036854775807"`
	Inputs string `toml:"inputs" doc:"folder at which relative paths of input files start, itself relative to this file; default: the folder of this file"`
}

// headerKeys are the keys of header.
var headerKeys = []string{"title", "kind", "seed", "inputs"}

// File is an experiment file, read, expanded and checked.
type File struct {
	Name     string // as given by the user
	Title    string
	rawTitle string // with names of settings in the place of some of their values
	Seed     uint64
	Points   []*Point
	Plots    []PlotConfig
	Expects  []ExpectConfig
	Warnings []Warning // of the kind, each with its key; repetitions dropped

	kind   *kind
	set    []string // Options.Set
	quick  bool     // a [quick] table was applied
	inputs string   // of the header
	unsafe bool     // Options.AllowDeadlock
	cyclic []string // networks that can deadlock and may, as preflight finds them
	doc    *document
	shared *sharedBuilds
	sweep  []axis
	refine *refinement // nil: none
	keys   []string    // swept, in order
}

// Point is one point of a sweep: a complete configuration.
type Point struct {
	Index    int // from 0
	Seed     uint64
	Hash     string   // of everything that the results depend on
	Swept    []string // values of the file's swept keys, as CSV cells
	config   any
	settings []setting
	steps    []int   // on each axis of the sweep; -1 on the refined one where refinement added the point
	refined  float64 // its value there then
}

// Options change how a file is read.
type Options struct {
	Set   []string // KEY=VALUE, laid over the file in order
	Quick bool     // apply the file's [quick] table
	// CheckQuick finds the faults of the quick variant too.
	CheckQuick bool
	// AllowDeadlock lets networks run that can deadlock.
	AllowDeadlock bool

	finished bool // the settings of results that are there: parameters that are not used are passed over
}

// ReadFile loads an experiment file from disk. Failures to read are faults of
// the file too.
func ReadFile(path string, options Options) (*File, error) {
	text, err := input.ReadInput(path, input.MaxSettings)
	if err != nil {
		return nil, Faults{{At: path, Message: "cannot be read: " + err.Error()}}
	}
	return Load(path, string(text), options)
}

// Load reads an experiment file from its text. The error is of type Faults and
// holds everything that is wrong: first of the values, and if those are good
// of what they describe together (a topology that cannot be built, a routing
// that it cannot carry).
func Load(name, text string, options Options) (*File, error) {
	d, err := parseDocument(name, text)
	if err != nil {
		return nil, err
	}
	quick := options.Quick && d.tree["quick"] != nil
	if options.Quick {
		d.applyQuick()
	}
	d.applySettings(options.Set)
	if len(d.tree) == 0 && len(d.faults) == 0 {
		d.fault("", "the file is empty: name at least a kind or a [topology]")
		return nil, d.faults.err()
	}
	f := &File{Name: name, set: options.Set, quick: quick, doc: d, shared: &sharedBuilds{}, unsafe: options.AllowDeadlock}
	if !f.header() {
		return nil, d.faults.err()
	}
	var refine []setting
	f.sweep, refine = d.axes()
	f.readRefinement(refine)
	if len(d.faults) > 0 {
		f.sweep = nil // faults of the sweep itself: still judge the rest
	}
	f.expand()
	f.figures()
	if err := d.faults.err(); err != nil {
		return nil, err
	}
	f.check()
	if !options.finished {
		f.checkUnused()
	}
	if len(d.faults) == 0 {
		f.fillTitles(options.Set)
	}
	if err := d.faults.err(); err != nil {
		return nil, err
	}
	if options.CheckQuick && !options.Quick && d.tree["quick"] != nil {
		options.Quick = true
		if _, err := Load(name, text, options); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// headerTables are the tables that every kind has.
var headerTables = []string{"sweep", "plot", "expect", "quick"}

// header reads the keys outside tables; false means that the kind, and with it
// the meaning of the rest, is unknown.
func (f *File) header() bool {
	d := f.doc
	h := header{Kind: "traffic", Seed: 1}
	dec := &decoder{doc: d, unknown: map[string]string{}}
	dec.table("", only(d.tree, headerKeys...), &h)
	f.Title, f.Seed, f.inputs = h.Title, h.Seed, h.Inputs
	if f.Title == "" {
		f.Title = f.Stem()
	}
	f.kind = kinds[h.Kind]
	if f.kind == nil {
		d.fault("kind", "= %q: unknown kind%s: known are %s", h.Kind, didYouMean(h.Kind, KindNames()), strings.Join(KindNames(), ", "))
	}
	return f.kind != nil
}

// only copies some keys of a table.
func only(table map[string]any, names ...string) map[string]any {
	some := map[string]any{}
	for _, name := range names {
		if value, ok := table[name]; ok {
			some[name] = value
		}
	}
	return some
}

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

// unknown records a key that no point of the sweep knows, at the place where
// it was written or is swept.
func (d *document) unknown(key, message string, sweep []axis) {
	place := key
	for _, a := range sweep {
		for i, swept := range a.keys {
			if swept == key {
				place = a.places[i]
			}
		}
	}
	at := d.originOf(place)
	d.faults = append(d.faults, &Fault{At: at.String(), Key: key, Message: message, order: at})
}

// point decodes the point at the given steps of the sweep and appends it.
func (f *File) point(steps []int) *decoder {
	values := make([][]any, len(f.sweep))
	for i, a := range f.sweep {
		values[i] = a.values[steps[i]]
	}
	p, dec := f.decode(values, len(f.Points))
	p.steps = slices.Clone(steps)
	f.doc.faults = append(f.doc.faults, dec.doc.faults...)
	f.Points = append(f.Points, p)
	return dec
}

// decode makes the point that has the given values on the axes of the sweep.
// The decoder holds its faults, and the keys that nothing knows.
func (f *File) decode(values [][]any, index int) (*Point, *decoder) {
	d := &document{name: f.doc.name, tree: cloneTable(f.doc.tree), origins: f.doc.origins, swept: map[string]origin{}}
	p := &Point{Index: index, config: f.kind.defaults()}
	for i, a := range f.sweep {
		for j, key := range a.keys {
			value := values[i][j]
			p.Swept = append(p.Swept, formatCell(value))
			d.swept[unquoted(key)] = f.doc.originOf(a.places[j])
			if inside, err := setKey(d.tree, key, value); err != nil {
				d.fault(key, "cannot be set: %s is not a table", inside)
			}
		}
	}
	dec := &decoder{doc: d, unknown: map[string]string{}, shared: f.shared}
	h := header{Seed: f.Seed}
	dec.table("", only(d.tree, "seed"), &h)
	p.Seed = h.Seed
	tables := cloneTable(d.tree)
	for _, name := range append(slices.Clone(headerKeys), headerTables...) {
		delete(tables, name)
	}
	dec.tablesOf(f.kind, tables, p.config)
	if u, ok := p.config.(unsafeConfig); ok && f.unsafe {
		u.setAllowDeadlock()
	}
	inputs := f.locateInputs(p.config)
	p.settings = resolve(p.config)
	p.Hash = hashPoint(f.kind, build(), p.Seed, append(inputs, p.settings...))
	return p, dec
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
			d.unknown[key] = fmt.Sprintf("is not a table of kind %q%s: allowed are %s", k.name, didYouMean(key, names), strings.Join(names, ", "))
			continue
		}
		for _, t := range k.settings() {
			if t.has(key) {
				d.unknown[key] = fmt.Sprintf("stands outside its table: it belongs under [%s]", t.Name)
			}
		}
	}
}

func tableNames(k *kind) []string {
	var names []string
	for _, t := range k.settings() {
		name, _, _ := strings.Cut(t.Name, ".")
		names = append(names, name)
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

// check asks the kind about every distinct point.
func (f *File) check() {
	seen := map[string]bool{}
	warned := map[Warning]bool{}
	for _, p := range f.Points {
		if seen[p.Hash] {
			continue
		}
		seen[p.Hash] = true
		warnings, err := f.kind.check(p.config, p.Seed)
		d := &document{name: f.doc.name, origins: f.doc.origins, swept: f.sweptOrigins()}
		for _, e := range flatten(err) {
			d.faultFrom("", e)
		}
		f.doc.faults = append(f.doc.faults, d.faults...)
		for _, w := range warnings {
			if !warned[w] {
				f.Warnings = append(f.Warnings, w)
			}
			warned[w] = true
		}
	}
}

// checkUnused reports the parameters that the file sets and no point makes use of,
// such as a rule for rings beside topologies without any.
func (f *File) checkUnused() {
	for _, key := range f.shared.unused() {
		f.doc.unknown(key, "is not used by what it stands with: leave it out", f.sweep)
	}
}

func (f *File) sweptOrigins() map[string]origin {
	at := map[string]origin{}
	for _, a := range f.sweep {
		for j, key := range a.keys {
			at[unquoted(key)] = f.doc.originOf(a.places[j])
		}
	}
	return at
}

// Stem is the file's name without folders and extension, for result folders.
func (f *File) Stem() string {
	return strings.TrimSuffix(filepath.Base(f.Name), ".toml")
}

// Question is the comment at the top of the file, line by line.
func (f *File) Question() []string { return f.doc.comment }

// SweptKeys lists the keys that the sweep varies, in order.
func (f *File) SweptKeys() []string { return f.keys }

// Place tells where a key was set, for messages.
func (f *File) Place(key string) string { return f.doc.originOf(key).String() }

// Describe names a point by its swept settings.
func (f *File) Describe(p *Point) string {
	if len(f.keys) == 0 {
		return "the only one"
	}
	parts := make([]string, len(f.keys))
	for i, key := range f.keys {
		parts[i] = key + " = " + p.Swept[i]
	}
	return strings.Join(parts, ", ")
}
