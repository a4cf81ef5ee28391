// Package dswitch holds the sessions of the distributed full switch (Podlazov 2012):
// all-to-all exchanges and permutations on PK_k(R_k, m, 1 | m^(k-1)), stage by stage,
// with multiple access, faults and self-routing.
package dswitch
