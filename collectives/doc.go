// Package collectives holds the algorithms of collective communication as lazy
// schedules: what every rank sends, receives and combines in which round, with
// a contract on the data that is checked without a network.
package collectives
