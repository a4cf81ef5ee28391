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
// [Load] goes one way (file.go): text, and TOML with the places of its keys and what is laid
// over it (package document), the keys outside tables, the sweep (sweep.go,
// refine.go), points, what the kind has to say of them, and titles (points.go,
// decode.go, choice.go), figures and expectations (figures.go). All steps note problems under
// dotted keys; none reads what a later one makes.
//
// # Determinism
//
// results.csv depends on the file, its seed and the version of weft only: rows
// stand in the order of the points, and the seed of a point is the seed of the
// file, so that compared variants meet the same random numbers. What depends
// on the machine is kept apart in performance.csv and manifest.json.
package experiments
