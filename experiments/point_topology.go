package experiments

import (
	"fmt"
	"reflect"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/param"
)

// TopologyOf builds the network that the tables of a point of the file choose, the first of
// them if there are several. Points with the same choice share it. The error says what is
// wrong with the choice, or that the file's kind has none.
func (f *File) TopologyOf(p *Point) (topology.Topology, error) {
	var choice *Choice[struct{}, topology.Topology]
	param.EachSetting(p.config, func(_ reflect.StructField, table reflect.Value) {
		param.EachSetting(table.Addr().Interface(), func(_ reflect.StructField, v reflect.Value) {
			if c, ok := v.Addr().Interface().(*Choice[struct{}, topology.Topology]); ok && choice == nil {
				choice = c
			}
		})
	})
	if choice == nil {
		return nil, fmt.Errorf("%s: experiments of kind %q have no topology", f.Name, f.kind.name)
	}
	return choice.BuildShared(struct{}{})
}
