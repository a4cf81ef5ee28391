package routing

import (
	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/sim"
)

func init() {
	sim.Register(Registry, "ugal-l-cr", "UGAL-L_CR: ugal-l-vch, with credits held back in proportion to the credit round trips of the outputs",
		UGALLConfig{defaultUGAL()}, newUGALCR)
}

// creditRoundTrip is UGAL-L_CR (Kim et al., ISCA 2008, section 4.3.2): decisions
// are those of UGAL-L_VCH. What is new is in the switches, which measure how
// long credits take to come back from each output and hold back the credits of
// flits that leave by slow ones, so that congestion is felt upstream before
// buffers are full.
type creditRoundTrip struct{ *ugal }

func newUGALCR(c UGALLConfig, env Env) (fabric.Routing, error) {
	u, err := newUGAL("ugal-l-cr", c.UGALSettings, env, hybridGauge{})
	if err != nil {
		return nil, err
	}
	return creditRoundTrip{u}, nil
}

// SensesCredits implements [fabric.CreditSenser].
func (creditRoundTrip) SensesCredits() bool { return true }
