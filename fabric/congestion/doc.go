// Package congestion holds the state machines of congestion control: the window of Ultra
// Ethernet's senders ([NSCC]) and the credit of its receivers ([RCCC]), the rate of RoCE's
// senders ([DCQCN]), the inter-packet delays of InfiniBand's ([InfiniBand]), and the choice of
// entropies by which packets are sprayed over paths ([Spraying]).
//
// None of them knows a packet or a network: whoever uses them says what has happened and when,
// and asks what may be sent. Their states are values that [snapshot.Value] archives; settings
// and what follows from them are shared by all flows of a terminal and are no part of the state.
package congestion
