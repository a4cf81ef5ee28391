package lft_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/fabric/topology"
	_ "github.com/weft-sim/weft/fabric/topology/families"
	"github.com/weft-sim/weft/fabric/topology/ib"
	"github.com/weft-sim/weft/fabric/topology/topologytest"
	"github.com/weft-sim/weft/routing"
	"github.com/weft-sim/weft/routing/lft"
	"github.com/weft-sim/weft/routing/routingtest"
	"github.com/weft-sim/weft/sim/param"
	"github.com/weft-sim/weft/sim/simtest"
)

// writeTables writes tables into a file of the test.
func writeTables(t *testing.T, l *ib.LFTs) string {
	t.Helper()
	var text bytes.Buffer
	simtest.Check(t, l.Write(&text))
	path := filepath.Join(t.TempDir(), "lfts.dump")
	simtest.Check(t, os.WriteFile(path, text.Bytes(), 0o600))
	return path
}

// The tables of other routings, written and read back, lead by the same ports: the loads of all
// channels are equal. On trees the suite of all routings holds "lft" to its contracts.
func TestLFTOfOtherRoutings(t *testing.T) {
	carried := 0
	for _, name := range []string{"nca", "dor"} {
		for _, n := range topologytest.Special(t) {
			config := simtest.Must(routing.Registry.Config(name))(t)
			if nca, ok := config.(*routing.NCAConfig); ok {
				nca.Up, nca.Down = "hashed", "hashed"
			}
			r, err := routing.Registry.Build(name, config, routing.Env{Topology: n.Topology})
			if err != nil {
				continue
			}
			g := n.Topology.Graph()
			tables, err := lft.Tables(g, r, r.VCs())
			if err != nil {
				continue // ties that the source decides
			}
			carried++
			t.Run(name+" on "+n.Name, func(t *testing.T) {
				v := routingtest.Variant{Routing: "lft", Config: &lft.Config{Tables: writeTables(t, tables)}, CanDeadlock: strings.HasPrefix(n.Name, "torus")}
				read := simtest.Must(routing.Registry.Build("lft", v.Config, routing.Env{Topology: n.Topology}))(t)
				routingtest.ConformOn(t, n, v, read)
				a, b := loads(t, g, r), loads(t, g, read)
				simtest.ErrorIf(t, !slices.Equal(a.Port, b.Port), "loads %v, want %v", b.Port, a.Port)
			})
		}
	}
	simtest.ErrorIf(t, carried < 5, "%d networks carried", carried)
}

func loads(t *testing.T, g *topology.Graph, r fabric.Routing) *routing.Load {
	t.Helper()
	return simtest.Must(routing.Loads(g, r, r.VCs(), shifts{g.Terminals()}))(t)
}

// shifts sends to the next terminal and to the one half way round, in equal shares: sums of them are exact.
type shifts struct{ n int }

func (s shifts) Weights(src topology.TerminalID, yield func(topology.TerminalID, float64)) {
	for _, by := range []int{1, s.n / 2} {
		yield(topology.TerminalID((int(src)+by)%s.n), 0.5)
	}
}

// Tables cannot say what depends on more than the destination.
func TestTablesRefused(t *testing.T) {
	topo := topologytest.Build(t, "fat-tree", func(c *topology.FatTreeConfig) { c.K, c.N = 4, 2 })
	r := simtest.Must(routing.Registry.New("table", routing.Env{Topology: topo}, param.Set("ties", "random")))(t)
	simtest.Refuse(lft.Tables(topo.Graph(), r, r.VCs()))(t, "tables by destination cannot say this: switch 1 sends packets for terminal 0 by switch 1 port 2 and by switch 1 port 3")
}

const torus2QoS = "torus_5x5x3_2"

func readNetlist(t *testing.T, name string) topology.Topology {
	t.Helper()
	return simtest.Must(topology.ReadFile(filepath.Join("testdata", name)))(t)
}

// OpenSM's torus-2QoS on a torus: with its service levels and SL2VL tables two lanes are in use and
// there is no cycle; with all packets on one level there is, and so there is under its engine sssp.
func TestLFTOfOpenSM(t *testing.T) {
	topo := readNetlist(t, torus2QoS+".net.gz")
	file := func(ending string) string { return filepath.Join("testdata", torus2QoS+"."+ending+".gz") }
	for _, c := range []struct {
		name    string
		config  lft.Config
		vcs     int
		acyclic bool
	}{
		{"torus-2QoS", lft.Config{Tables: file("torus-2QoS.lft"), Levels: file("torus-2QoS.sl"), SL2VL: file("torus-2QoS.sl2vl")}, 2, true},
		{"one level", lft.Config{Tables: file("torus-2QoS.lft"), SL2VL: file("torus-2QoS.sl2vl")}, 1, false},
		// Levels 8 and up are of the second quality: four lanes more.
		{"second quality", lft.Config{Tables: file("torus-2QoS.lft"), Level: 8, SL2VL: file("torus-2QoS.sl2vl")}, 5, false},
		{"sssp", lft.Config{Tables: file("sssp.lft")}, 1, false},
		{"a lane of choice", lft.Config{Tables: file("sssp.lft"), Level: 3, Lanes: []int{0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}}, 5, false},
	} {
		r, err := routing.Registry.Build("lft", &c.config, routing.Env{Topology: topo})
		simtest.FatalIf(t, err != nil, "%s: %v", c.name, err)
		certificate, _ := routingtest.Certificate(t, topo, r, r.VCs())
		simtest.ErrorIf(t, r.VCs() != c.vcs || certificate.Acyclic() != c.acyclic,
			"%s: %d virtual channels, want %d: %s", c.name, r.VCs(), c.vcs, certificate.Describe(topo.Graph()))
	}
	simtest.Refuse(routing.Registry.Build("lft", &lft.Config{Tables: file("torus-2QoS.lft"), Levels: file("torus-2QoS.sl"), SL2VL: file("torus-2QoS.sl2vl")},
		routing.Env{Topology: topo, VCs: 1}))(t, "at least 2")
}

// What does not lead to its destination is named.
func TestLFTProblems(t *testing.T) {
	b := topology.NewBuilder(3, topology.Class{Name: "x"}) // a triangle with a host each
	for s := range topology.SwitchID(3) {
		b.AddTerminal(s, 0)
	}
	for s := range topology.SwitchID(3) {
		b.AddLink(s, (s+1)%3, 0)
	}
	topo := topology.NewFileNetwork(b.Freeze())
	g := topo.Graph()
	up, down := []topology.PortID{1, 4, 8}, []topology.PortID{2, 5, 7} // to the next and the last switch
	for s := range up {
		for _, x := range []struct {
			port topology.PortID
			to   int
		}{{up[s], (s + 1) % 3}, {down[s], (s + 2) % 3}} {
			if peer, ok := g.PeerPort(x.port); !ok || int(g.PortSwitch[peer]) != x.to {
				up[s], down[s] = down[s], up[s]
				break
			}
		}
	}
	tables := func(change func(l *ib.LFTs)) string {
		l := ib.NewLFTs(g)
		for s := range topology.SwitchID(3) {
			for d := range topology.SwitchID(3) {
				port := g.TerminalPort[d]
				if d == (s+1)%3 {
					port = up[s]
				} else if d != s {
					port = down[s]
				}
				l.SetTerminal(s, topology.TerminalID(d), port)
			}
		}
		change(l)
		return writeTables(t, l)
	}
	drop := []int{2: 15, 15: 0}
	for _, c := range []struct {
		name   string
		config lft.Config
		want   []string
	}{
		{"nothing", lft.Config{Tables: tables(func(*ib.LFTs) {})}, nil},
		// All at switch 1, and terminals of switch 2 whose packets come by it: none do.
		{"no entry", lft.Config{Tables: tables(func(l *ib.LFTs) { l.SetTerminal(1, 0, topology.NoPort) })},
			[]string{"terminal 1 cannot reach terminal 0: its switch switch 1 has no entry", "1 of 6 pairs"}},
		{"no entry on the way", lft.Config{Tables: tables(func(l *ib.LFTs) { l.SetTerminal(1, 0, topology.NoPort); l.SetTerminal(2, 0, down[2]) })},
			[]string{"terminal 2 cannot reach terminal 0: switch 1 has no entry", "2 of 6 pairs"}},
		{"another host", lft.Config{Tables: tables(func(l *ib.LFTs) { l.SetTerminal(0, 0, down[0]); l.SetTerminal(2, 0, g.TerminalPort[2]) })},
			[]string{"terminal 1 cannot reach terminal 0: switch 2", "2 of 6 pairs"}},
		{"circle", lft.Config{Tables: tables(func(l *ib.LFTs) { l.SetTerminal(1, 0, up[1]); l.SetTerminal(2, 0, down[2]) })},
			[]string{"packets for terminal 0 go round in a circle: " + g.PortName(up[1]) + ", " + g.PortName(down[2]) + "\n", "2 of 6 pairs"}},
		{"dropped", lft.Config{Tables: tables(func(*ib.LFTs) {}), Level: 2, Lanes: drop},
			[]string{"packets from terminal 1 to terminal 0, of service level 2, are dropped: its adapter gives them lane 15"}},
	} {
		_, err := routing.Registry.Build("lft", &c.config, routing.Env{Topology: topo})
		simtest.ErrorIf(t, (err == nil) != (c.want == nil), "%s: %v", c.name, err)
		simtest.Fail(t, err, c.want...)
	}
}

// The arbitration of a cluster's ports comes with its tables: the port that the file names has its own, others what the settings say.
func TestLFTArbitration(t *testing.T) {
	b := topology.NewBuilder(2, topology.Class{Name: "x"})
	b.AddTerminal(0, 0)
	b.AddTerminal(1, 0)
	b.AddLink(0, 1, 0)
	topo := topology.NewFileNetwork(b.Freeze())
	g := topo.Graph()
	tables := simtest.Must(lft.Tables(g, simtest.Must(routing.Registry.New("table", routing.Env{Topology: topo}))(t), 1))(t)
	path := writeTables(t, tables)
	file := filepath.Join(filepath.Dir(path), "vlarb")
	// Generated names: terminals have LIDs 1 and 2, switch 0 LID 3; its port 2 is the cable.
	opened := func(text string) (fabric.Routing, error) {
		simtest.Check(t, os.WriteFile(file, []byte(text), 0o600))
		return routing.Registry.Build("lft", &lft.Config{Tables: path, VLArb: file}, routing.Env{Topology: topo})
	}
	text := "# VLArbitration tables: Lid 3 port 2 LowCap 8 HighCap 8\n# Low priority VL Arbitration Table:\nVL    : |0x0 |\nWEIGHT: |0x7 |\n# High priority VL Arbitration Table:\nVL    : |0x0 |\nWEIGHT: |0x0 |\n# Port info: Lid 3 port 2\nVLHighLimit:.....................4\n"
	r := simtest.Must(opened(text))(t)
	lanes := r.(fabric.LaneArbitration)
	for p := range topology.PortID(g.NumPorts()) {
		got, named := lanes.ArbitrationTables(p), g.PortSwitch[p] == 0 && g.LocalPort(p) == 1
		simtest.ErrorIf(t, (got != nil) != named || named && (got.Limit != 4 || got.Low[0].Weight != 7), "%s: %+v", g.PortName(p), got)
	}
	config := fabric.DefaultConfig()
	simtest.Refuse(core.New(g, config, r, 1))(t, "cut-through with arbitration")
	config.Switch.FlowControl, config.Switch.OutputBufferFlits = "cut-through", 4
	simtest.Must(core.New(g, config, r, 1))(t)
	// Terminal 1, LID 2, is named, too; with no turn for lane 0 it is refused.
	host := strings.Replace(text, "Lid 3 port 2", "Lid 2 port 1", 1)
	r = simtest.Must(opened(host))(t)
	f := simtest.Must(core.New(g, config, r, 1))(t)
	none, got := f.TerminalTables(0), f.TerminalTables(1)
	simtest.ErrorIf(t, none != nil || got == nil || got.Low[0].Weight != 7, "terminal 0 has %+v, terminal 1 %+v", none, got)
	for _, text := range []string{strings.Replace(host, "|0x7 |", "|0x0 |", 1), strings.Replace(text, "|0x7 |", "|0x0 |", 1)} {
		simtest.Refuse(opened(text))(t, "tables give lane 0 no turn")
	}
	plain, err := routing.Registry.Build("lft", &lft.Config{Tables: path}, routing.Env{Topology: topo})
	simtest.ErrorIf(t, err != nil || plain.(fabric.LaneArbitration).ArbitratesLanes(), "arbitrates without tables, %v", err)
}
