// Package experiments reads experiment files: strict TOML, sweeps, points with all their
// settings, figures and expectations; and it computes a point. Package engine runs all points
// of a file and writes its results.
//
// What an experiment measures is its kind (see [Register]): one file declares
// the settings of a kind as a struct, its result columns as another, and a
// function from the one to the other. Everything else (decoding with exact
// error places, validation, sweeps, resuming, plots, documentation) follows
// from those declarations. The package itself has none: a program imports weft's own kinds by
//
//	import _ "github.com/weft-sim/weft/experiments/kinds"
//
// # How a file is read
//
// [Load] goes one way (file.go): text, and TOML with the places of its keys and what is laid over
// it (package document), the keys outside tables, the sweep (sweep.go, refine.go), points, what the
// kind has to say of them, and titles (points.go, decode.go, choice.go), figures and expectations
// (figures.go). All steps note problems under dotted keys; none reads what a later one makes.
//
// # Determinism
//
// results.csv depends on the file, its seed and the version of weft only: rows
// stand in the order of the points, and the seed of a point is the seed of the
// file, so that compared variants meet the same random numbers. What depends
// on the machine is kept apart in performance.csv and manifest.json.
package experiments

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/figures"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

// File is an experiment file, read, expanded and checked.
type File struct {
	Name     string // as given by the user
	Title    string
	Beside   bool   // not one of those that a report of several is about, but beside them
	rawTitle string // with names of settings in the place of some of their values
	Seed     uint64
	Points   []*Point
	Plots    []figures.PlotConfig
	Expects  []verdict.Expect
	Warnings []Warning // of the kind, each with its key; repetitions dropped
	Set      []string  // Options.Set
	Quick    bool      // a [quick] table was applied
	Cyclic   []string  // networks that can deadlock and may, as preflight finds them

	kind   *kind
	inputs string // of the header
	folder string // inputFolder
	unsafe bool   // Options.AllowDeadlock
	doc    *document.Tree
	shared *Shared
	sweep  []axis
	refine *refinement                // nil: none
	keys   []string                   // swept, in order
	swept  map[string]document.Origin // of keys that the sweep sets

	sweptTables []string       // of these
	kindTables  map[string]any // of doc, without those of every kind and the keys of the header

	read    sync.Map // by name: [readTable], of the point decoded last
	tables  sync.Map // by name: *[listedTable], likewise
	listing sync.Mutex
	lists   [][]*listedTable // of points, one for all with the same keys
}

// Point is one point of a sweep: a complete configuration.
type Point struct {
	Index    int // from 0
	Seed     uint64
	Hash     string   // of everything that the results depend on
	Swept    []string // values of the file's swept keys, as CSV cells
	checked  string   // equal for points of which a check finds the same
	config   any      // of all points with the same settings but another seed
	settings settings
	steps    []int   // on each axis of the sweep; -1 on the refined one where refinement added the point
	refined  float64 // its value there then
}

// Config is the point's configuration: a pointer to the struct of its file's kind.
func (p *Point) Config() any { return p.config }

// Options change how a file is read.
type Options struct {
	Set   []string // KEY=VALUE, laid over the file in order
	Quick bool     // apply the file's [quick] table
	// CheckQuick finds the problems of the quick variant too.
	CheckQuick bool
	// AllowDeadlock lets networks run that can deadlock.
	AllowDeadlock bool
	// Cache keeps certificates and channel loads for later runs; nil: nothing is kept. It
	// is of this process: the tasks of a job array have none.
	Cache *Cache `json:"-"`
}

// Stem is the file's name without folders and extension, for result folders.
func (f *File) Stem() string { return strings.TrimSuffix(filepath.Base(f.Name), ".toml") }

// Kind is the name of the file's kind.
func (f *File) Kind() string { return f.kind.name }

// Question is the comment at the top of the file, line by line.
func (f *File) Question() []string { return f.doc.Comment }

// SweptKeys lists the keys that the sweep varies, in order.
func (f *File) SweptKeys() []string { return f.keys }

// Place tells where a key was set, for messages.
func (f *File) Place(key string) string { return f.doc.OriginOf(key).String() }

// Describe names a point by its swept settings.
func (f *File) Describe(p *Point) string {
	if len(f.keys) == 0 {
		return "the only one"
	}
	parts := lists.Make(len(f.keys), func(i int) string { return f.keys[i] + " = " + p.Swept[i] })
	return strings.Join(parts, ", ")
}

// Forget lets go of what the file's points share, such as large networks; what is asked for
// again is built again.
func (f *File) Forget() { f.shared.forget() }

// header is the part of a file outside all tables.
type header struct {
	Title  string `toml:"title" doc:"what the experiment shows; the title of its figures"`
	Kind   string `toml:"kind" doc:"what is measured; see weft list kinds"`
	Seed   uint64 `toml:"seed" doc:"seed of every random stream; the same for all points of a sweep, so that variants meet the same random numbers" max:"9223372036854775807"`
	Inputs string `toml:"inputs" doc:"folder at which relative paths of input files start, itself relative to this file; default: the folder of this file"`
	Beside bool   `toml:"beside" doc:"the experiment stands beside those of its folder: how much their results depend on what was assumed; a report of several lists it after them"`
}

// DefaultKind is the kind of files that name none.
const DefaultKind = "traffic"

// defaultHeader is the header of a file that says nothing.
func defaultHeader() *header { return &header{Kind: DefaultKind, Seed: 1} }

// headerKeys are the keys of header.
var headerKeys = []string{"title", "kind", "seed", "inputs", "beside"}

// headerTables are the tables that every kind has.
var headerTables = []string{"sweep", "plot", "expect", "quick"}

// header reads the keys outside tables; false means that the kind, and with it
// the meaning of the rest, is unknown.
func (f *File) header() bool {
	d := f.doc
	h := defaultHeader()
	dec := &decoder{doc: d, unknown: map[string]string{}}
	dec.table("", only(d.Root, headerKeys...), h)
	f.Title, f.Seed, f.inputs, f.Beside = h.Title, h.Seed, h.Inputs, h.Beside
	f.Title = cmp.Or(f.Title, f.Stem())
	f.kind = kinds[h.Kind]
	if f.kind == nil {
		d.Problem("kind", "= %q: unknown kind%s: known are %s", h.Kind, param.DidYouMean(h.Kind, KindNames()), knownKinds())
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

// knownKinds lists the kinds for messages. A program that imports none is told how.
func knownKinds() string {
	if len(kinds) == 0 {
		return "none, as the program does not import github.com/weft-sim/weft/experiments/kinds"
	}
	return strings.Join(KindNames(), ", ")
}

// Open loads an experiment file from disk or, where there is none of that
// name, from those that come with weft: "examples/quickstart".
func Open(name string, options Options) (*File, error) {
	if name == "" {
		return nil, document.Problems{{At: `""`, Message: "cannot be read: the name is empty"}}
	}
	if _, err := os.Stat(name); err == nil {
		return ReadFile(name, options)
	}
	inside := embeddedName(name)
	if text, err := embedded.ReadFile(inside); err == nil {
		return Load(inside, string(text), options)
	}
	_, err := ReadFile(name, options)
	if problems, ok := err.(document.Problems); ok {
		known := Embedded("")
		for i, k := range known {
			known[i] = strings.TrimSuffix(k, ".toml")
		}
		problems[0].Message += param.DidYouMean(strings.TrimSuffix(name, ".toml"), known) + "; weft list experiments names the files that come with weft"
	}
	return nil, err
}

// ReadFile loads an experiment file from disk. Failures to read are problems of the file too.
func ReadFile(path string, options Options) (*File, error) {
	text, err := input.ReadInput(path, input.MaxSettings)
	if err != nil {
		return nil, document.Problems{{At: path, Message: "cannot be read: " + err.Error()}}
	}
	return Load(path, string(text), options)
}

// Load reads an experiment file from its text. The error is of type Problems and holds everything
// that is wrong: first of the values, and if those are good of what they describe together (a
// topology that cannot be built, a routing that it cannot carry).
func Load(name, text string, options Options) (*File, error) {
	return loadText(name, text, options, false)
}

// LoadFinished is Load of the settings of results that are there: parameters that nothing
// uses, and those that have gone, are passed over, and files of figures may be gone.
func LoadFinished(name, text string) (*File, error) { return loadText(name, text, Options{}, true) }

func loadText(name, text string, options Options, finished bool) (*File, error) {
	d, err := document.Parse(name, text)
	if err != nil {
		return nil, err
	}
	quick := options.Quick && d.Root["quick"] != nil
	if options.Quick {
		d.ApplyQuick()
	}
	leavePublished(d, options.Set)
	d.ApplySettings(options.Set)
	f := &File{Name: name, Set: options.Set, Quick: quick, doc: d, shared: &Shared{cache: options.Cache}, unsafe: options.AllowDeadlock}
	f.readAll(options, finished)
	if err := d.Problems.Err(); err != nil {
		return nil, err
	}
	if options.CheckQuick && !options.Quick && d.Root["quick"] != nil {
		options.Quick = true
		if _, err := Load(name, text, options); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// readAll goes through the document once, from the keys outside tables to what the points
// come to. Each step needs what those before it have made.
func (f *File) readAll(options Options, finished bool) {
	d := f.doc
	if len(d.Root) == 0 && len(d.Problems) == 0 {
		d.Problem("", "the file is empty: name at least a kind or a [topology]")
		return
	}
	if !f.header() {
		return // the meaning of the rest is unknown
	}
	f.readSweep()
	f.expand(finished)
	f.figures(finished)
	if len(d.Problems) > 0 {
		return
	}
	f.check()
	if !finished {
		for _, key := range f.shared.unused() { // such as a rule for rings beside topologies without any
			f.unknown(key, "is not used by what it stands with: leave it out")
		}
	}
	if len(d.Problems) == 0 && !finished {
		for i := range f.Plots {
			if err := f.rehearsed(&f.Plots[i]); err != nil {
				f.doc.Problem("plot["+strconv.Itoa(i)+"]", "cannot be drawn: %v", err)
			}
		}
	}
	if len(d.Problems) == 0 {
		f.fillTitles(options.Set)
		if finished {
			d.Problems = nil // titles stand as they were
		}
	}
}
