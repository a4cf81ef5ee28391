package topology

import (
	"errors"
	"testing"

	"github.com/weft-sim/weft/sim/param"
)

func init() {
	addSample("single-switch", "one", false, func(c *SingleSwitchConfig) { c.Terminals = 1 })
}

func TestSingleSwitch(t *testing.T) {
	x, err := param.Make(Registry, "single-switch", struct{}{}, func(c *SingleSwitchConfig) { c.Terminals = 5 })
	if err != nil {
		t.Fatal(err)
	}
	if got, want := x.Facts(), (Facts{1, 5, 0, 0, -1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	_, err = Registry.Build("single-switch", &SingleSwitchConfig{0}, struct{}{})
	if problem := (*param.ParamError)(nil); !errors.As(err, &problem) || problem.Key != "terminals" {
		t.Errorf("no terminals: %v", err)
	}
}
