// Package opensm repeats the unicast routing of OpenSM 3.3.23, InfiniBand's
// subnet manager, bit for bit: LIDs, linear forwarding tables (LFT), service
// levels (SL) and the tables that map service levels to virtual lanes (SL2VL).
//
// A [Subnet] is a network as OpenSM sees it; an engine ([Engines], one a file)
// makes [Tables] of it or refuses it with OpenSM's reason ([*Refusal]). OpenSM
// itself then takes its engine minhop, without a word; this package never does.
package opensm
