// Package atlas holds weft against what is known of the field's topologies: it reads a
// folder of exact, bounding and published numbers, graphs and curves measured with
// BookSim2 on them, builds each network by weft's own generators, and judges.
//
// The folder reference is the one that comes with weft: measurements and computations
// that were made apart from weft, described by the README there.
package atlas
