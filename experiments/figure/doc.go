// Package figure draws all that weft draws: figures for papers and reports ([Figure]),
// networks ([Network]), bars of parts ([StackedBars]) and whatever else is areas, lines and
// words ([Drawing]), on one canvas, as SVG, PNG or PDF. The same data give the same bytes.
package figure
