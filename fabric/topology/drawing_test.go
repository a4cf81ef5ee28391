package topology_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestReadDrawing: what GraphML and DOT say of a network is read back: written again, it is the same. GraphML keeps
// the ports, too.
func TestReadDrawing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "net")
	for name, g := range exported(t) {
		for form, write := range map[string]func(io.Writer, *topology.Graph) error{"GraphML": topology.WriteGraphML, "DOT": topology.WriteDOT} {
			var text, again bytes.Buffer
			simtest.Check(t, write(&text, g))
			simtest.Check(t, os.WriteFile(path, text.Bytes(), 0o666))
			back := simtest.Must(topology.ReadFile(path))(t).Graph()
			simtest.Check(t, write(&again, back))
			if again.String() != text.String() || !reflect.DeepEqual(back.Peer, g.Peer) && form == "GraphML" {
				t.Errorf("%s of %s is read as another network:\n%.2000s\nwas\n%.2000s", form, name, again.String(), text.String())
			}
		}
	}
	for _, c := range []struct{ old, new, want string }{
		{`target="s0"`, `target="s9"`, "switch 9: want 0 to"},
		{`<node id="s1">`, `<node id="s2">`, "s2: want s1 next"},
		{`<edge source="t0"`, `<edge source="t1"`, "t1: want one edge for every terminal"},
		{`<edge source="t0"`, `<edge id="e" source="t0"`, "is no element as weft writes it"},
	} {
		var text bytes.Buffer
		simtest.Check(t, topology.WriteGraphML(&text, namedGraph()))
		simtest.Check(t, os.WriteFile(path, []byte(strings.Replace(text.String(), c.old, c.new, 1)), 0o666))
		simtest.Refuse(topology.ReadFile(path))(t, c.want)
	}
}
