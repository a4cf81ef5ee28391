// Package routing holds the unicast routing algorithms: which output and which
// virtual channels a packet takes at each switch, why that cannot deadlock, and
// what load it puts on each channel.
//
// An algorithm is one file with one registration in [Registry]. It asks its
// topology once, in the constructor, for the capability it needs (groups,
// coordinates, levels), turns it into slices, and from then on answers Route
// with a handful of loads. All of them list their possible decisions
// ([fabric.Explorer]); [Dependencies] makes the channel dependency graph of a
// deadlock certificate from that, [Loads] the channel loads of a traffic
// matrix.
package routing
