// Package mpi simulates message-passing programs: ranks, matching, the eager
// and rendezvous protocols, InfiniBand connections and their memory, workload
// skeletons, and the replay of GOAL schedules on the LogGOPS model.
package mpi
