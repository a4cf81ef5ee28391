package experiments

import (
	"strings"

	"github.com/weft-sim/weft/sim/param"
)

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
	dec.table("", only(d.tree, headerKeys...), h)
	f.Title, f.Seed, f.inputs, f.Beside = h.Title, h.Seed, h.Inputs, h.Beside
	if f.Title == "" {
		f.Title = f.Stem()
	}
	f.kind = kinds[h.Kind]
	if f.kind == nil {
		d.problem("kind", "= %q: unknown kind%s: known are %s", h.Kind, param.DidYouMean(h.Kind, KindNames()), knownKinds())
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
