// Package mpi simulates message-passing programs: ranks, matching, the eager
// and rendezvous protocols, InfiniBand connections and their memory, and the LogGOPS
// machine. The programs are in packages below it.
package mpi
