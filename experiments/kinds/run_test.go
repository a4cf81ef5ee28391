package kinds

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/weft-sim/weft/experiments"
)

func load(t testing.TB, text string, options experiments.Options) *experiments.File {
	t.Helper()
	f, err := experiments.Load("x.toml", text, options)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// execute runs a file and returns the outcome.
func execute(t *testing.T, f *experiments.File, e experiments.Execution) *experiments.Outcome {
	t.Helper()
	o, err := f.Execute(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// number is what a cell holds; NaN if that is no number.
func number(cell string) float64 {
	x, err := strconv.ParseFloat(cell, 64)
	if err != nil {
		return math.NaN()
	}
	return x
}

// numbers returns a column of a table.
func numbers(t *testing.T, table *experiments.Table, name string) []float64 {
	t.Helper()
	x, err := table.Numbers(name)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// shortest is a number as cells of results have it.
func shortest(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
