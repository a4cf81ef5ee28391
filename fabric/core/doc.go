// Package core simulates a network of input-queued virtual-channel switches
// flit by flit: buffers, virtual channels, credits, allocators, channels and
// terminals. docs/model.md has the timing diagram, [fabric.Config] the settings.
//
// [Fabric] is the handle. Behind it are the network, which does not change while it
// runs (network.go), the state of its hardware (hardware.go, records.go), and domains, each the part
// that a thread simulates at a time (domain.go). [Fabric.open] fills these in, and chooses the forms of
// their loops (open.go). A cycle of a domain, and in it of a switch, is in cycle.go, from top to bottom, a
// terminal's part of it in terminal.go. docs/architecture.md follows a flit through the files, docs/rooms.csv
// has them in their order. Package measure takes a network through the phases of a measured run.
//
// Observers ([Observer]) look on; those of package observe divide latencies and record packets.
// What they may read of a [Domain] is exported for them; they change nothing.
package core
