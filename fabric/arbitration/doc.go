// Package arbitration is InfiniBand's choice between the virtual lanes of a port: two
// tables of weights, one before the other within a limit.
package arbitration
