// Package sssp holds the shortest-path search that OpenSM's engines sssp and
// dfsssp run for each destination, with OpenSM's ties, as of version 3.3.23
// (Hoefler, Schneider and Lumsdaine, "Optimized Routing for Large-Scale
// InfiniBand Networks", Hot Interconnects 2009; Domke, Hoefler and Nagel,
// "Deadlock-Free Oblivious Routing for Arbitrary Topologies", IPDPS 2011). Its
// unicast tables and its multicast trees follow from the same weights.
package sssp
