package topology

import (
	"errors"
	"testing"

	"github.com/weft-sim/weft/sim/param"
)

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
	Families   func() []string
)

func init() {
	addSample("single-switch", "one", false, func(c *SingleSwitchConfig) { c.Terminals = 1 })
}

func TestSingleSwitch(t *testing.T) {
	x := build(t, "single-switch", func(c *SingleSwitchConfig) { c.Terminals = 5 })
	if got, want := x.Facts(), (Facts{1, 5, 0, 0, -1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	_, err := Registry.Build("single-switch", &SingleSwitchConfig{0}, struct{}{})
	if problem := (*param.ParamError)(nil); !errors.As(err, &problem) || problem.Key != "terminals" {
		t.Errorf("no terminals: %v", err)
	}
}
