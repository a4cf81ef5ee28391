package topology

import "testing"

// Sample is one parameter set of a registered topology for the conformance
// suite, besides the defaults and random ones.
type Sample struct {
	Name string
	Set  func(config any)
	// TightBisection says that the documentation claims the bisection to be
	// the true minimum on this sample, not only an upper bound.
	TightBisection bool
}

// Samples is filled by the families' own tests.
var Samples = map[string][]Sample{}

// addSample adds a parameter set of the topology `name`, configured by *C.
func addSample[C any](name, label string, tightBisection bool, set func(*C)) {
	Samples[name] = append(Samples[name], Sample{label, func(c any) { set(c.(*C)) }, tightBisection})
}

// Of the conformance suite, which this package's own tests cannot import:
// suite_test.go sets them.
var (
	CheckGraph func(t testing.TB, g *Graph)
	Diameter   func(g *Graph) int
	Families   func() []string
)
