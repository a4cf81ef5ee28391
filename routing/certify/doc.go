// Package certify proves freedom from deadlock: it collects the channel
// dependency graph of whatever sends packets (unicast routings, multicast
// trees, protocol classes) and finds its shortest cycle, or that there is none.
package certify
