package topology_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/simtest"
)

// The example of FileConfig's documentation.
func TestFileExample(t *testing.T) {
	topo := topologytest.Build(t, "file", func(c *topology.FileConfig) { c.Path = filepath.Join("testdata", "two.json") })
	b := topology.NewBuilder(2, topology.Class{Name: "terminal", Latency: 1}, topology.Class{Name: "wire", Latency: 10, Rate: 40e9})
	b.AddTerminal(0, 0)
	b.AddTerminal(1, 0)
	b.AddLink(0, 1, 1)
	want := b.Freeze()
	want.Names = &topology.Names{Switches: []topology.SwitchName{{Name: "left"}, {}}, Terminals: []topology.AdapterPort{{Name: "host A"}, {}}}
	simtest.ErrorIf(t, !reflect.DeepEqual(topo.Graph(), want), "%+v, want %+v", topo.Graph(), want)
	simtest.Equal(t, topo.Facts(), (topology.Facts{2, 2, 1, -1, -1}), "")
	text := simtest.Must(os.ReadFile("file.go"))(t)
	data := simtest.Must(os.ReadFile(filepath.Join("testdata", "two.json")))(t)
	doc := strings.ReplaceAll(string(text), "\n//\t", "\n")
	simtest.ErrorIf(t, !strings.Contains(doc, strings.TrimSpace(string(data))),
		"the example in the documentation of FileConfig is not testdata/two.json")
}

func TestFilePaths(t *testing.T) {
	for _, c := range []struct{ path, want string }{{"x.json", filepath.Join("dir", "x.json")}, {"", ""}, {"/x.json", "/x.json"}} {
		config := topology.FileConfig{c.path}
		config.RelativeTo("dir")
		simtest.ErrorIf(t, config.Path != c.want, "%q from dir is %q, want %q", c.path, config.Path, c.want)
	}
}

// Every problem is reported with its line, and all of them together.
func TestFileProblems(t *testing.T) {
	const (
		head    = "{\n\"format\": \"weft-topology\", \"version\": 1,\n"
		classes = "\"classes\": [{\"name\": \"x\", \"latency\": 1}],\n"
		nodes   = "\"switches\": [{},\n{}],\n\"terminals\": [{\"switch\": 0, \"class\": \"x\"}],\n"
		link    = "\"links\": [{\"a\": {\"switch\": 0}, \"b\": {\"switch\": 1}, \"class\": \"x\"}]}"
	)
	for _, mark := range []string{"", "\ufeff"} {
		_, err := topology.ReadJSON("f", []byte(mark+head+classes+nodes+link))
		simtest.FatalIf(t, err != nil, "the correct file, after %q: %v", mark, err)
	}
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{"f:1: not JSON"}},
		{"syntax", "{\n\"format\": 1,\n}", []string{"f:3: not JSON"}},
		{"trailing", head + classes + nodes + link + "\n]", []string{"f:8: not JSON"}},
		{"not an object", "[1]", []string{"f:1: want an object"}},
		{"version", "{\"format\": \"weft-topology\", \"version\": 2}", []string{"version 2"}},
		{"unknown key", head + "\"nodes\": [1, 2]}", []string{`f:3: unknown key "nodes"`}},
		{"key twice", head + classes + classes + nodes + link, []string{`f:4: "classes" twice`}},
		{"not a list", head + "\"links\": {}}", []string{"f:3: want a list"}},
		{"type", head + "\"switches\": [{},\n{\"lid\": \"x\"}]}", []string{`f:4: "lid": string: want an integer of at most 32 bits`}},
		{"range", head + "\"terminals\": [{\"switch\": 1.5}]}", []string{`f:3: "switch": number 1.5: want an integer of at most 64 bits`}},
		{"no object", head + "\"switches\": [[]]}", []string{"f:3: array: want an object"}},
		{"unknown field", head + "\"switches\": [\n\n{\"colour\": 1}]}", []string{`f:5: unknown field "colour"`}},
		{"terminal without switch", head + classes + "\"switches\": [{}, {}],\n\"terminals\": [{\"class\": \"x\"}],\n" + link, []string{`f:5: no "switch": want 0 to 1`}},
		{"link without end", head + classes + nodes + "\"links\": [{\"a\": {\"switch\": 0}, \"class\": \"x\"}]}", []string{`f:7: no "switch": want 0 to 1`}},
		{"no nodes", head + classes + "\"links\": []}", []string{"0 switches and 0 terminals"}},
		{"guid", head + "\"switches\": [{\"guid\": \"0xg\"}]}", []string{`f:3: GUID "0xg"`}},
		{"classes", head + "\"classes\": [{\"name\": \"x\", \"latency\": 0},\n{\"latency\": 1}, {\"name\": \"y\", \"latency\": 1},\n{\"name\": \"y\", \"latency\": 1},\n{\"name\": \"z\", \"latency\": 1, \"rate\": \"fast\"}],\n" + nodes + link,
			[]string{`f:3: class "x": latency = 0`, "f:4: class \"\": want a name", `f:5: class "y" twice`, `f:6: rate "fast"`}},
		{"together", head + classes + nodes + "\"links\": [{\"a\": {\"switch\": 0}, \"b\": {\"switch\": 2}, \"class\": \"x\"},\n" +
			"{\"a\": {\"switch\": 1}, \"b\": {\"switch\": 1}, \"class\": \"x\"},\n" +
			"{\"a\": {\"switch\": -1}, \"b\": {\"switch\": 1, \"port\": -3}, \"class\": \"w\"},\n" +
			"{\"a\": {\"switch\": 0, \"port\": 0}, \"b\": {\"switch\": 1}, \"class\": \"x\"}]}",
			[]string{"f:7: switch 2: want 0 to 1", "f:8: a link from switch 1 to itself", "f:9: switch -1", "f:9: port -3", `f:9: unknown class "w"`, "f:10: port 0 of switch 0 is taken by line 6"}},
		{"not connected", head + classes + nodes + "\"links\": []}", []string{"f:5: no path from switch 0 to switch 1"}},
		{"nodes", head + classes + "\"switches\": [{}],\n\"terminals\": [{\"switch\": 0, \"class\": \"x\", \"node\": 0},\n{\"switch\": 0, \"class\": \"x\"}]}",
			[]string{`f:5: 1 of 2 terminals have a "node"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := topology.ReadJSON("f", []byte(c.text))
			for _, want := range c.want {
				simtest.ErrorIf(t, err == nil || !strings.Contains(err.Error(), want), "%v\nlacks %q", err, want)
			}
		})
	}
	// A list that no network of so few bytes has is not read on: 2^20 and one more switch, and nothing else.
	long := head + classes + "\"switches\": [{}" + strings.Repeat(",{}", 1<<20) + "]}"
	simtest.Refuse(topology.ReadJSON("f", []byte(long)))(t, fmt.Sprintf("more than %d elements in a list of a file of %d bytes", 1<<20, len(long)))
	var many strings.Builder
	fmt.Fprintf(&many, "%s%s\"switches\": [{}], \"links\": [], \"terminals\": [{\"switch\": 0, \"class\": \"x\"}", head, classes)
	for range 100 {
		many.WriteString(",\n{\"switch\": 7, \"class\": \"x\"}")
	}
	many.WriteString("]}")
	_, err := topology.ReadJSON("f", []byte(many.String()))
	if err == nil || strings.Count(err.Error(), "\n") != input.MostProblems || !strings.HasSuffix(err.Error(), "more problems") {
		t.Errorf("100 problems: %v", err)
	}
}

// Whatever is read is a sound graph that survives export and import.
func FuzzReadJSON(f *testing.F) {
	two := simtest.Must(os.ReadFile(filepath.Join("testdata", "two.json")))(f)
	f.Add(two)
	var b bytes.Buffer
	topology.WriteJSON(&b, namedGraph())
	f.Add(b.Bytes())
	f.Add([]byte(`{"links": [1, null, []], "x": 3, "classes": null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		g, err := topology.ReadJSON("f", data)
		if err != nil {
			return
		}
		topologytest.CheckGraph(t, g)
		var b bytes.Buffer
		simtest.Check(t, topology.WriteJSON(&b, g))
		again := simtest.Must(topology.ReadJSON("export", b.Bytes()))(t)
		simtest.ErrorIf(t, !reflect.DeepEqual(g, again), "%+v, read back %+v", g, again)
	})
}
