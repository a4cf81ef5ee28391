// Package transport holds the end points of networks that drop, trim or pause (package
// fabric/shared): what a network adapter does between messages and packets. Flows are messages
// from one terminal to another; a connection numbers the packets of one flow, or of several, and
// sees that all arrive. Congestion control is a part of a connection: the sender's window (NSCC)
// and the receiver's credit (RCCC) of Ultra Ethernet, DCQCN of RoCE, a constant window, or none.
//
// The rules are those of Ultra Ethernet as its authors' simulator has them, and of the papers
// named beside each file.
package transport
