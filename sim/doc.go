// Package sim is weft's foundation: simulated time, the event kernel, named
// random streams, units.
//
// # Contract
//
// Time is an integer count of picoseconds; floating point enters only in
// statistics. Simultaneous events have a total order that depends on the model
// alone (see [Event]). Every consumer of randomness draws from a stream of its
// own, named by (seed, role, id), so that adding one disturbs no other. The
// same model with the same seed therefore gives the same results, bit for bit,
// on every machine and for every number of threads.
package sim
