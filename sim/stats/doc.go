// Package stats holds the statistics of runs: running means, histograms, batch
// means with their confidence intervals, the end of a warm-up, and whether a series
// still grows.
package stats
