// Package fabric is what users of a simulated network see: its settings ([Config]), what a
// routing is given and gives ([Routing], [Head], [View], [Hop], and the needs that a routing
// may declare), and what terminals send and are told ([Source], [PacketSpec], [Sink],
// [Delivery], [Workload]). Nothing is simulated here: package fabric/core makes a network
// of a graph, settings and a routing, and runs it. docs/model.md has the timing diagram.
package fabric
