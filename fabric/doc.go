// Package fabric simulates a network of input-queued virtual-channel switches
// flit by flit: buffers, virtual channels, credits, allocators, channels and
// terminals. docs/model.md has the timing diagram; [Config] the settings.
package fabric
