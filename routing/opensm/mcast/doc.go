// Package mcast holds OpenSM's multicast engines, as of version 3.3.23, for the registry of
// package multicast: the rule of minhop, which most of its unicast engines use, and that of
// sssp. Beside them stand the files in which OpenSM keeps groups, min-hop tables and
// multicast forwarding tables, and jobs: the groups of such files, routed by any engines and
// compared with the tables that the subnet has.
//
// Terms: an MLID is the multicast LID of a group, an MFT a switch's multicast forwarding table.
package mcast
