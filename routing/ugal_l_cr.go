package routing

import (
	"github.com/weft-sim/weft/fabric"
)

// UGALCRConfig holds the settings of routing "ugal-l-cr".
type UGALCRConfig struct {
	HeldSlots string `toml:"held_slots" doc:"whether flits that have left count as waiting until their credits are sent; with sensing = waiting or both" choices:"counted|ignored"`
	UGALSettings
}

func init() {
	Register("ugal-l-cr", "UGAL-L_CR: ugal-l-vch, with credits held back in proportion to the credit round trips of the outputs", Use{On: Groups, Faults: true},
		UGALCRConfig{"counted", defaultUGAL()}, newUGALCR)
}

// creditRoundTrip is UGAL-L_CR (Kim et al., ISCA 2008, section 4.3.2): decisions
// are those of UGAL-L_VCH. What is new is in the switches, which measure how
// long credits take to come back from each output and hold back the credits of
// flits that leave by slow ones, so that congestion is felt upstream before
// buffers are full.
//
// A queue's length includes the slots whose credits are held back: a flit that
// left by an output counts as waiting for it until its credit is sent. The paper
// does not say so, but nothing else lets the decision feel the delay; the
// reasons are in package fabric's credit sensing. held_slots = "ignored" is the
// other reading.
type creditRoundTrip struct {
	*ugal
	counts bool
}

func newUGALCR(c UGALCRConfig, env Env) (fabric.Routing, error) {
	u, err := newUGAL("ugal-l-cr", c.UGALSettings, env, hybridGauge{})
	if err != nil {
		return nil, err
	}
	return creditRoundTrip{u, c.HeldSlots == "counted"}, nil
}

// UnusedSettings implements [param.Skipper]: slots are not looked at where credits
// alone are.
func (c creditRoundTrip) UnusedSettings() []string {
	if c.settings.Sensing == "credits" {
		return []string{"held_slots"}
	}
	return nil
}

// Needs implements [fabric.Needer].
func (c creditRoundTrip) Needs() fabric.Needs {
	needs := c.ugal.Needs()
	needs.SensesCredits, needs.HeldSlots = true, c.counts
	return needs
}
