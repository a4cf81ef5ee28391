package cost

import (
	"fmt"
	"math"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// Floor says how switches and terminals stand. The defaults are assumptions: cabinets of the
// usual size (42 units of 600 x 1200 mm) with an aisle as deep as a cabinet, switches of one
// unit, two nodes a unit.
type Floor struct {
	CabinetUnits  float64 `toml:"cabinet_units" doc:"rack units of a cabinet" min:"1" max:"1000"`
	SwitchUnits   float64 `toml:"switch_units" doc:"rack units of a switch" min:"0.01" max:"1000"`
	TerminalUnits float64 `toml:"terminal_units" doc:"rack units of a terminal, which stands with its switch" min:"0" max:"1000"`
	Width         float64 `toml:"cabinet_width_m" doc:"from a cabinet to the next one in its row, in metres" min:"0.01" max:"100"`
	Pitch         float64 `toml:"row_pitch_m" doc:"from a row of cabinets to the next one, in metres" min:"0.01" max:"100"`
	Inside        float64 `toml:"inside_m" doc:"length of a cable within a cabinet, in metres" min:"0" max:"100"`
	Slack         float64 `toml:"slack_m" doc:"what a cable between cabinets has beyond their distance, in metres" min:"0" max:"100"`
}

// DefaultFloor are the assumptions.
var DefaultFloor = Floor{CabinetUnits: 42, SwitchUnits: 1, TerminalUnits: 0.5, Width: 0.6, Pitch: 2.4, Inside: 1.5, Slack: 2}

// maxCabinets bounds plans.
const maxCabinets = 1 << 24

// plan is where switches stand.
type plan struct {
	floor    Floor
	cabinet  []int32 // of each switch; its terminals may take the ones that follow, too
	cabinets int
	columns  int // cabinets of a row
}

// newPlan fills cabinets in the order of switch numbers, each switch with its terminals in
// one cabinet if they fit into one, else from a new one on; families number what is close in
// the graph close together. Cabinets stand in rows that make the floor as square as can be.
func newPlan(g *topology.Graph, f Floor) (*plan, error) {
	terminals := make([]int, g.Switches())
	for _, p := range g.TerminalPort {
		terminals[g.PortSwitch[p]]++
	}
	p := &plan{floor: f, cabinet: make([]int32, g.Switches())}
	free := 0.0
	for s, n := range terminals {
		need := f.SwitchUnits + float64(n)*f.TerminalUnits
		if need > free {
			more := max(1, int(math.Ceil(need/f.CabinetUnits)))
			p.cabinet[s] = int32(p.cabinets)
			if p.cabinets += more; p.cabinets > maxCabinets {
				return nil, &param.ParamError{Key: "cabinet_units", Value: f.CabinetUnits, Want: fmt.Sprintf("larger cabinets: there are more than %d", maxCabinets)}
			}
			free = float64(more)*f.CabinetUnits - need
			if more > 1 { // what is left is in the last of them, the switch in the first
				free = 0
			}
			continue
		}
		p.cabinet[s] = int32(p.cabinets - 1)
		free -= need
	}
	side := math.Sqrt(float64(p.cabinets) * f.Width * f.Pitch)
	p.columns = max(1, int(math.Round(side/f.Width)))
	return p, nil
}

// length is that of a cable between two switches: along rows and aisles.
func (p *plan) length(s, t topology.SwitchID) float64 {
	a, b := int(p.cabinet[s]), int(p.cabinet[t])
	if a == b {
		return p.floor.Inside
	}
	x, y := a%p.columns-b%p.columns, a/p.columns-b/p.columns
	return p.floor.Slack + p.floor.Width*math.Abs(float64(x)) + p.floor.Pitch*math.Abs(float64(y))
}
