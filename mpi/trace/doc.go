// Package trace turns the operations that a trace records into a schedule that is
// replayed, and says what became of them. Packages of formats use it.
package trace
