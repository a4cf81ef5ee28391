package experiments

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/sim/input"
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
	Plots    []PlotConfig
	Expects  []verdict.Expect
	Warnings []Warning // of the kind, each with its key; repetitions dropped
	Set      []string  // Options.Set
	Quick    bool      // a [quick] table was applied
	Cyclic   []string  // networks that can deadlock and may, as preflight finds them

	kind   *kind
	inputs string // of the header
	unsafe bool   // Options.AllowDeadlock
	doc    *document.Tree
	shared *Shared
	sweep  []axis
	refine *refinement // nil: none
	fork   *forking    // nil: points warm up with their own settings
	keys   []string    // swept, in order
}

// Point is one point of a sweep: a complete configuration.
type Point struct {
	Index    int // from 0
	Seed     uint64
	Hash     string   // of everything that the results depend on
	Swept    []string // values of the file's swept keys, as CSV cells
	config   any
	settings []document.Setting
	warmup   *warmup // nil: the kind has none that could be kept
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

// ReadFile loads an experiment file from disk. Failures to read are problems of
// the file too.
func ReadFile(path string, options Options) (*File, error) {
	text, err := input.ReadInput(path, input.MaxSettings)
	if err != nil {
		return nil, document.Problems{{At: path, Message: "cannot be read: " + err.Error()}}
	}
	return Load(path, string(text), options)
}

// Load reads an experiment file from its text. The error is of type Problems and
// holds everything that is wrong: first of the values, and if those are good
// of what they describe together (a topology that cannot be built, a routing
// that it cannot carry).
func Load(name, text string, options Options) (*File, error) {
	return loadText(name, text, options, false)
}

// LoadFinished is Load of the settings of results that are there: parameters that nothing
// uses are passed over, and files of figures may be gone.
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
	f.readFork()
	f.expand()
	f.figures(finished)
	if len(d.Problems) > 0 {
		return
	}
	f.check()
	f.warnOfForks()
	if !finished {
		for _, key := range f.shared.unused() { // such as a rule for rings beside topologies without any
			f.unknown(key, "is not used by what it stands with: leave it out")
		}
	}
	if len(d.Problems) == 0 {
		f.fillTitles(options.Set)
	}
}

// Stem is the file's name without folders and extension, for result folders.
func (f *File) Stem() string {
	return strings.TrimSuffix(filepath.Base(f.Name), ".toml")
}

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
	parts := make([]string, len(f.keys))
	for i, key := range f.keys {
		parts[i] = key + " = " + p.Swept[i]
	}
	return strings.Join(parts, ", ")
}

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

// defaultHeader is that of a file that says nothing.
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
	if f.Title == "" {
		f.Title = f.Stem()
	}
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

// embedded holds the experiment files that come with weft.
//
//go:embed examples papers
var embedded embed.FS

// embeddedName is the name under which a file comes with weft, if it does.
func embeddedName(name string) string {
	return strings.TrimSuffix(path.Clean(strings.ReplaceAll(name, `\`, "/")), ".toml") + ".toml"
}

// EmbeddedTitle is the title of a file that comes with weft. Only the keys in front of its
// tables are read, and where the title speaks of its points, those in which they differ.
func EmbeddedTitle(name string) string {
	text, err := embedded.ReadFile(name)
	if err != nil {
		panic("experiments: " + err.Error())
	}
	keys, _, _ := strings.Cut("\n"+string(text), "\n[")
	var header struct{ Title string }
	if _, err := toml.Decode(keys, &header); err != nil {
		panic("experiments: " + err.Error()) // a test loads them all
	}
	if !placeholder.MatchString(header.Title) {
		return header.Title
	}
	d, err := document.Parse(name, string(text))
	if err != nil {
		panic("experiments: " + err.Error())
	}
	f := &File{Name: name, doc: d, shared: &Shared{}}
	if f.header() {
		f.readSweep()
		for i := range f.sweep {
			if a := &f.sweep[i]; !slices.ContainsFunc(a.keys, func(key string) bool { return shownIn(header.Title, key) }) {
				a.values = a.values[:1]
			}
		}
		f.expand()
	}
	f.fillTitles(nil)
	return f.Title
}

// shownIn tells whether what a title shows may change with a setting.
func shownIn(title, key string) bool {
	ofNetwork := strings.Contains(title, "{terminals}") || strings.Contains(title, "{switches}")
	return strings.Contains(title, "{"+key+"}") || ofNetwork && strings.HasPrefix(key, "topology.")
}

// Embedded lists the experiment files that come with weft under a folder
// ("examples", "papers/dragonfly"; "" for all), in alphabetical order.
func Embedded(folder string) []string {
	root := "."
	if folder != "" {
		root = folder
	}
	var names []string
	err := fs.WalkDir(embedded, root, func(p string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(p, ".toml") {
			names = append(names, p)
		}
		return err
	})
	if err != nil {
		return nil // no such folder
	}
	slices.Sort(names)
	return names
}

// EmbeddedKeys lists the dotted keys that a file that comes with weft sets or
// sweeps, in the order of the file.
func EmbeddedKeys(name string) []string {
	text, err := embedded.ReadFile(name)
	if err != nil {
		return nil
	}
	d, err := document.Parse(name, string(text))
	if err != nil {
		return nil
	}
	var keys []string
	for _, key := range d.Order {
		for _, lead := range []string{"quick.", "sweep.lockstep.", "sweep."} {
			key = strings.TrimPrefix(key, lead)
		}
		key = strings.ReplaceAll(key, `"`, "")
		if strings.Contains(key, ".") && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// KindOf is the kind of an experiment file, or of one that comes with weft; "" where
// there is no such file, or it is no TOML.
func KindOf(name string) string {
	text, err := input.ReadInput(name, input.MaxSettings)
	if err != nil {
		if text, err = embedded.ReadFile(embeddedName(name)); err != nil {
			return ""
		}
	}
	d, err := document.Parse(name, string(text))
	if err != nil {
		return ""
	}
	if kind, given := d.Root["kind"].(string); given {
		return kind
	}
	return DefaultKind
}

// reproductionTimesCSV says what the experiments of each paper took, whole and in their quick
// variants: seconds of one core of weft's own machine.
//
//go:embed papers/times.csv
var reproductionTimesCSV string

var reproductionTimes = sync.OnceValue(func() map[string][2]float64 {
	t, err := ReadTable("times.csv", strings.NewReader(reproductionTimesCSV))
	if err != nil {
		panic("experiments: " + err.Error())
	}
	all := map[string][2]float64{}
	for _, r := range t.Rows {
		all[r[0]] = [2]float64{results.Number(r[1]), results.Number(r[2])}
	}
	return all
})

// ReproductionTime says how long some of the files of papers take, or their quick variants, on
// so many processors: of whole papers together, and for others what all of their paper takes.
func ReproductionTime(paths []string, quick bool, processors int) string {
	all, some := map[string]int{}, map[string]int{}
	for _, path := range Embedded("papers") {
		all[paperOf(path)]++
	}
	for _, path := range paths {
		some[paperOf(path)]++
	}
	column := 0
	if quick {
		column = 1
	}
	whole, seconds := 0, 0.0
	var parts []string
	for _, paper := range results.SortedKeys(some) {
		took, known := reproductionTimes()[paper]
		if !known {
			panic("experiments: papers/times.csv lacks " + paper)
		}
		if some[paper] == all[paper] {
			whole += some[paper]
			seconds += took[column]
			continue
		}
		parts = append(parts, fmt.Sprintf("%d of the %d experiments of %s, all of which take %s", some[paper], all[paper], paper, processorTime(took[column], processors)))
	}
	if whole > 0 {
		parts = append([]string{fmt.Sprintf("%d experiments: %s", whole, processorTime(seconds, processors))}, parts...)
	}
	return strings.Join(parts, "; ") + " (on weft's own machine)"
}

// paperOf is the paper that a file such as papers/dragonfly/fig9.toml is of.
func paperOf(path string) string {
	paper, _, _ := strings.Cut(strings.TrimPrefix(path, "papers/"), "/")
	return paper
}

// processorTime says what some seconds of one processor are on several.
func processorTime(seconds float64, processors int) string {
	text := func(seconds float64) string {
		if seconds < 100 {
			return fmt.Sprintf("%.0f s", seconds)
		}
		return fmt.Sprintf("%.0f minutes", seconds/60)
	}
	return fmt.Sprintf("roughly %s of processor time, %s on %d idle processors", text(seconds), text(seconds/float64(processors)), processors)
}
