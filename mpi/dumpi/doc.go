// Package dumpi reads the binary traces of DUMPI, the MPI profiling library of SST: the
// calls of every rank with their arguments and times.
package dumpi
