// Package multicast computes multicast trees and forwarding tables: the
// engines MR4LMS (Chen, He, Li, Qi, 2021: multicast routing for limited MFT
// size) and its improvement mr4lms-plus, with the metrics and the checker that
// compare engines. OpenSM's are in package routing/opensm/mcast.
//
// A [Group] of terminals (and possibly switches) is carried by a [Tree] of
// switches. A tree occupies one entry of the multicast forwarding table (MFT)
// in each of its switches; the entry's number is the tree's colour, the MLID
// that packets carry. Trees without a common switch may share a colour, trees
// with one may not. Several groups may share a tree: each then receives the
// others' packets, and its hosts drop them.
//
// An [Engine] admits groups one after the other and keeps its trees in a
// [Forest], which counts what the papers measure: colours, groups over each
// link (edge forwarding index, EFI), groups on each tree (tree forwarding
// index, TFI). [Run] computes one point: a topology, a group pattern, an
// engine, a number of entries.
package multicast
