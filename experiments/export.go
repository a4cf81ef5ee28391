package experiments

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// topologyFormats are the forms in which networks can be written.
var topologyFormats = map[string]func(io.Writer, *topology.Graph) error{
	"dot":     topology.WriteDOT,
	"graphml": topology.WriteGraphML,
	"json":    topology.WriteJSON,

	"ibnetdiscover": topology.WriteIBNetDiscover,
	"ibsim":         topology.WriteIBSim,
}

// TopologyFormats lists the names of the formats in alphabetical order.
func TopologyFormats() []string { return sortedKeys(topologyFormats) }

// WriteTopology writes a network in one of the formats.
func WriteTopology(w io.Writer, t topology.Topology, format string) error {
	write := topologyFormats[format]
	if write == nil {
		return fmt.Errorf("unknown format %q%s: known are %s", format, didYouMean(format, TopologyFormats()), strings.Join(TopologyFormats(), ", "))
	}
	return write(w, t.Graph())
}

// ImportTopology reads a network from a file in weft's JSON form, of
// ibnetdiscover or of ibsim, told apart by their content. The warnings say what
// was strange but could be read.
func ImportTopology(path string) (topology.Topology, []string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: cannot be read: %s", path, reason(err))
	}
	t, err := sim.Make(topology.Registry, topologyFileType(text), struct{}{}, func(c *topology.FileConfig) { c.Path = path })
	if err != nil {
		return nil, nil, err
	}
	if strange, ok := t.(interface{ Warnings() []string }); ok {
		return t, strange.Warnings(), nil
	}
	return t, nil, nil
}

// topologyFileType is the topology that reads a file of this content.
func topologyFileType(text []byte) string {
	switch {
	case bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")):
		return "file"
	case bytes.Contains(text, []byte("switchguid=")) || bytes.Contains(text, []byte("caguid=")):
		return "ibnetdiscover"
	}
	return "ibsim"
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
