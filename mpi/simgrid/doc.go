// Package simgrid reads the time-independent traces of SimGrid: actions of ranks, whose
// computations are numbers of floating-point operations.
package simgrid
