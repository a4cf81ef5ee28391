// Package figure draws figures for papers and reports: lines with confidence
// bands, grouped bars and histograms, as SVG, PNG or PDF. The same data give
// the same bytes.
package figure
