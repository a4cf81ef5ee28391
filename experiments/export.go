package experiments

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
)

// topologyFormats are the forms in which networks can be written.
var topologyFormats = map[string]func(io.Writer, *topology.Graph) error{
	"dot":     topology.WriteDOT,
	"graphml": topology.WriteGraphML,
	"json":    topology.WriteJSON,
}

// TopologyFormats lists the names of the formats in alphabetical order.
func TopologyFormats() []string { return sortedKeys(topologyFormats) }

// WriteTopology writes the network of a file's first point.
func (f *File) WriteTopology(w io.Writer, format string) error {
	write := topologyFormats[format]
	if write == nil {
		return fmt.Errorf("unknown format %q%s: known are %s", format, didYouMean(format, TopologyFormats()), strings.Join(TopologyFormats(), ", "))
	}
	built, err := f.Topology()
	if err != nil {
		return err
	}
	return write(w, built.Graph())
}

// Topology builds the network of a file's first point.
func (f *File) Topology() (topology.Topology, error) {
	for _, table := range fieldsOf(reflect.ValueOf(f.Points[0].config).Elem()).list {
		if table.value.Kind() != reflect.Struct {
			continue
		}
		for _, setting := range fieldsOf(table.value).list {
			if c, ok := setting.value.Addr().Interface().(*Choice[struct{}, topology.Topology]); ok {
				return c.BuildShared(struct{}{})
			}
		}
	}
	return nil, fmt.Errorf("%s: experiments of kind %q have no topology", f.Name, f.kind.name)
}
