package experiments

import (
	"errors"

	"github.com/weft-sim/weft/sim/param"
)

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
		for _, e := range param.Errors(errors.Join(err, f.checkFork(p))) {
			d.problemFrom("", e)
		}
		f.doc.problems = append(f.doc.problems, d.problems...)
		for _, w := range warnings {
			if !warned[w] && !(w.Unset && d.sets(w.Key)) {
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
