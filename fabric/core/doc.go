// Package core simulates a network of input-queued virtual-channel switches
// flit by flit: buffers, virtual channels, credits, allocators, channels and
// terminals. docs/model.md has the timing diagram, [fabric.Config] the settings.
//
// [Fabric] is the handle. Behind it are the network, which does not change while it
// runs (network.go), the state of its hardware (state.go), and domains, each the part
// that a thread simulates at a time (domain.go, domains.go). A domain's cycle is
// in cycle.go, a terminal's part of it in terminal.go, a switch's in switch.go with its
// allocation in vcalloc.go, crossbar.go and matcher.go. Package measure takes a network
// through the phases of a measured run.
//
// Observers ([Observer]) look on; those of package observe divide latencies and record packets.
// What they may read of a [Domain] is exported for them; they change nothing.
package core
