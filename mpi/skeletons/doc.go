// Package skeletons holds the programs that stand for applications: what they send
// and when, with the computing between as a parameter.
package skeletons
