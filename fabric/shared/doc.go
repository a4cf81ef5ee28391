// Package shared simulates networks of output-queued switches that drop, trim or pause, as
// those of Ethernet do: packets are the unit, and times are picoseconds. A switch stores a
// packet, chooses one of the ports that lead nearer to its destination, and appends it to that
// port's queue of bytes. What happens when a queue is full is the difference between networks:
// the packet is dropped, it or the last one of the queue is trimmed to its header, or the
// switch has asked its neighbours to pause before.
//
// The model is that of the htsim family of simulators (Raiciu et al., SIGCOMM 2011; Handley et
// al., SIGCOMM 2017) as far as its facts are public: store and forward, a crossbar without
// limits, no memory that outputs share, two classes, control before data.
//
// What terminals send, and what they make of what arrives, is their own ([EndPoints]).
package shared
