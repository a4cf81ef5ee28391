// Package terminal has the programs that terminals run in measured runs of a fabric:
// they decide what is sent when, hear of what arrives, and answer with packets of
// their own.
//
// [Registry] makes a [fabric.Workload] for all terminals. The open loop is one that
// the fabric has itself; the others are a [Program] for each terminal, in a [Host].
package terminal
