// Package experiments turns experiment files into results: it reads strict
// TOML, expands sweeps, computes the points side by side, keeps finished points
// safe in a journal, and writes CSV tables, a manifest, figures and verdicts.
//
// What an experiment measures is its kind (see [Register]): one file declares
// the settings of a kind as a struct, its result columns as another, and a
// function from the one to the other. Everything else (decoding with exact
// error places, validation, sweeps, resuming, plots, documentation) follows
// from those declarations.
//
// # Determinism
//
// results.csv depends on the file, its seed and the version of weft only: rows
// stand in the order of the points, and the seed of a point is the seed of the
// file, so that compared variants meet the same random numbers. What depends
// on the machine is kept apart in performance.csv and manifest.json.
package experiments
