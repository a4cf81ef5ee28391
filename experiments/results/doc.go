// Package results holds what runs leave: tables of results as CSV (table.go), arithmetic
// over their columns (formula.go), where load sweeps cease to keep up (knees.go), which
// differences are significant (compare.go), and files that are complete or absent
// (files.go). It knows no experiment.
package results
