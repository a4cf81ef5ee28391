package netmap

import (
	"fmt"

	"github.com/weft-sim/weft/fabric/topology"
)

// matrixWidth is that of a matrix of groups.
const matrixWidth = 640

// matrix draws groups against groups.
func (m *Map) matrix(t topology.Grouped) *Picture {
	n := t.Groups()
	hottest := make([]float64, n*n) // from*n + to
	for _, l := range m.links() {
		i := t.GroupOf(l.from)*n + t.GroupOf(l.to)
		hottest[i] = max(hottest[i], l.load)
	}
	p := m.newPicture()
	p.Label = "load between groups"
	const margin = 40
	cell := float64(matrixWidth-margin-10) / float64(n)
	gap := 0.0
	if cell > 5 {
		gap = 1
	}
	for from := range n {
		for to := range n {
			p.load(shape{form: box, x: margin + cell*float64(to), y: margin + cell*float64(from), width: cell - gap, height: cell - gap},
				fmt.Sprintf("group %d to %d", from, to), hottest[from*n+to])
		}
	}
	if !m.Plain {
		p.text(margin, 12, 11, "start", "to group")
		p.text(2, margin-6, 11, "start", "from")
		for step, i := max(1, (n+9)/10), 0; i < n; i += step {
			centre := margin + cell*(float64(i)+0.5)
			p.text(centre, margin-6, 11, "middle", fmt.Sprint(i))
			p.text(margin-6, centre+4, 11, "end", fmt.Sprint(i))
		}
	}
	return p.finish(matrixWidth, matrixWidth, p.scale)
}
