package fabric

import "fmt"

// Misuse is what a routing or a program of terminals has done that it must not. Whoever
// finds it panics with it, since a run cannot go on.
type Misuse struct {
	Of  string // what it is: routing, program
	By  any    // it
	Did string // and what it must do
}

func (m *Misuse) Error() string { return fmt.Sprintf("%s %T %s", m.Of, m.By, m.Did) }

// Misused is the table of experiment files that names it, and what it has done.
func (m *Misuse) Misused() (table, did string) { return m.Of, m.Did }
