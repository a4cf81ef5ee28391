// Package topology describes networks of switches and terminals: generators
// of the usual families, import and export of real ones, and the small types
// that routing, multicast and the deadlock certificates share.
//
// A [Graph] is plain data, frozen once built: ports are numbered densely,
// switch by switch, so that every per-port array of the simulator is a slice.
// A [Topology] is a graph with the closed forms of its family. What a family
// knows beyond the graph (groups of a dragonfly, coordinates of a grid, levels
// of a tree) is an optional capability ([Grouped], [Grid], [Tree]), asked for
// once by the algorithm that needs it.
package topology
