package opensm

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/certify"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// randomNetwork has switches with unlike numbers of hosts, parallel cables, random
// GUIDs, and parts without a cable between them now and then.
func randomNetwork(r *sim.Stream) *topology.Graph {
	switches := 1 + r.IntN(14)
	b := topology.NewBuilder(switches, topology.Class{Name: "terminal", Latency: 1}, topology.Class{Name: "cable", Latency: 1})
	for s := range switches {
		for range r.IntN(4) {
			b.AddTerminal(topology.SwitchID(s), 0)
		}
	}
	b.AddTerminal(0, 0)
	for s := 1; s < switches; s++ {
		if r.IntN(20) > 0 {
			b.AddLink(topology.SwitchID(s), topology.SwitchID(r.IntN(s)), 1)
		}
	}
	if switches > 1 {
		for range r.IntN(2 * switches) {
			if a, c := r.IntN(switches), r.IntN(switches); a != c {
				b.AddLink(topology.SwitchID(a), topology.SwitchID(c), 1)
			}
		}
	}
	g, names := b.Freeze(), &topology.Names{}
	for range switches {
		names.Switches = append(names.Switches, topology.SwitchName{GUID: topology.GUID(r.Uint64() >> 1)})
	}
	g.Names = names
	return g
}

// randomOptions are settings of all engines.
func randomOptions(r *sim.Stream, s *Subnet) *Options {
	o := DefaultOptions()
	o.ConnectRoots, o.PortShifting, o.ProfileSwitch, o.QoS = r.IntN(2) == 0, r.IntN(3) == 0, r.IntN(3) == 0, r.IntN(2) == 0
	o.OperationalVLs = []int{1, 2, 4, 8, 15}[r.IntN(5)]
	o.NueMaxVLs, o.LashStartVL = r.IntN(9), r.IntN(2)
	if r.IntN(3) == 0 {
		o.ScatterPorts = uint32(1 + r.IntN(9))
	}
	if r.IntN(2) == 0 {
		o.HasRoots = true
		for range r.IntN(3) {
			o.Roots = append(o.Roots, uint64(s.guid(int32(r.IntN(len(s.Switches))))))
		}
	}
	if r.IntN(3) == 0 {
		o.HasNodes = true
		for t, x := range s.Names.Terminals {
			if t%2 == 0 {
				o.ComputeNodes, o.Order = append(o.ComputeNodes, uint64(x.PortGUID)), append(o.Order, uint64(x.PortGUID))
			}
		}
	}
	return &o
}

// TestRandomNetworks: no engine panics on any network; its tables name ports that are there and lead no packet round in
// a circle; all pairs that cables join are served by the engines that know no forbidden turns. Layers have no cycle
// where the engine promises it, nor do nue's on these networks (TestNueCanDeadlock has one where they do).
func TestRandomNetworks(t *testing.T) {
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	r, routed := sim.NewStream(3, "opensm", 0), map[string]int{}
	for round := range rounds {
		g := randomNetwork(&r)
		s := newSubnet(t, g, topology.TerminalID(r.IntN(g.Terminals())), r.IntN(3))
		o := randomOptions(&r, s)
		for _, e := range engines {
			name := e.Name
			tables, err := e.Route(s, o)
			if refused := (*Refusal)(nil); err != nil && (errors.As(err, &refused) || name == "torus-2QoS" || strings.Contains(err.Error(), "arbitrary")) {
				continue
			}
			simtest.FatalIf(t, err != nil, "round %d, %s: %v", round, name, err)
			routed[name]++
			simtest.Equal(t, checkTables(tables, e.Acyclic || name == "nue"), "", "round %d, %s:", round, name)
		}
	}
	for _, name := range Engines() {
		simtest.ErrorIf(t, routed[name] < rounds/20 && name != "torus-2QoS" && name != "ftree", "%s routed %d of %d networks", name, routed[name], rounds)
	}
}

// checkTables says what is wrong.
func checkTables(t *Tables, acyclic bool) string {
	s := t.Subnet
	distance, err := s.distances()
	if err != nil {
		return err.Error()
	}
	n := len(s.Switches)
	for from := range s.nodes() {
		for lid, port := range t.LFT[from] {
			if port == noPath {
				continue
			}
			e := s.Ends[lid]
			if e.Node < 0 {
				return fmt.Sprintf("an entry for LID %d, which nobody has", lid)
			}
			if _, ok := t.Path(from, lid, nil); !ok {
				return fmt.Sprintf("LID %d is not reached from switch %d", lid, from)
			}
		}
		for lid, e := range s.Ends {
			restricted := t.Engine == "updn" || t.Engine == "ftree" || t.Engine == "dnup"
			if e.Node >= 0 && !restricted && distance[int(e.Node)*n+int(from)] != noPath && t.LFT[from][lid] == noPath {
				return fmt.Sprintf("no entry for LID %d in switch %d", lid, from)
			}
		}
	}
	if !acyclic {
		return ""
	}
	c := certify.New(t.VCs())
	t.Dependencies(c.Add)
	if proof := c.Certify(1, 1); !proof.Acyclic() {
		return proof.Describe(s.Graph)
	}
	return ""
}

// TestOrdered holds the order of channels to a plain search for cycles, on random dependencies that come and go.
func TestOrdered(t *testing.T) {
	r := sim.NewStream(5, "ordered", 0)
	for range 60 {
		s := newSubnet(t, randomNetwork(&r), 0, 0)
		if len(s.Links) < 4 {
			continue
		}
		g := newOrdered(&newLASH(s, lashSwitches(s)).channels)
		var in []dependency
		for range 200 {
			c := int32(r.IntN(len(g.peer)))
			next := g.peer[c]
			d := g.start[next] + int32(r.IntN(int(g.start[next+1]-g.start[next])))
			want, got := !plainReaches(in, d, c), g.add(c, d)
			simtest.FatalIf(t, got != want, "%d on %d: added %t, a plain search says %t", d, c, got, want)
			if want {
				in = append(in, dependency{c, d})
			}
			if len(in) > 0 && r.IntN(4) == 0 {
				i := r.IntN(len(in))
				g.uses[g.at(in[i].from, in[i].to)]--
				in = append(in[:i], in[i+1:]...)
			}
		}
	}
}

// dependency is one of channel to on channel from.
type dependency struct{ from, to int32 }

// plainReaches tells whether dependencies lead from one channel to another.
func plainReaches(list []dependency, from, to int32) bool {
	seen := map[int32]bool{from: true}
	for grown := true; grown; {
		grown = false
		for _, d := range list {
			if seen[d.from] && !seen[d.to] {
				seen[d.to], grown = true, true
			}
		}
	}
	return seen[to]
}

// TestLargeFabrics holds tables against hashes of OpenSM's: more than 255 LIDs, whose order nue takes with the bytes
// swapped; lash with layers of 9,999 pairs and more; cables side by side and switches without a coordinate in lash's
// analysis of meshes. The fabrics and their source are in testdata. Service levels are those from the first host of
// each switch, 16 hexadecimal digits of SHA-256 as the forwarding tables' hashes have; "" where OpenSM was not asked.
func TestLargeFabrics(t *testing.T) {
	for _, c := range []struct{ net, engine, conf, tables, levels string }{
		{"ft3_16.net.gz", "lash", "", "f0985459d01485ba", "79fa9ca3f3a1b388"},
		{"ft3_16.net.gz", "nue", "nue_max_num_vls 1", "5fedacfc424bf0db", "7030da7c4e9ec3ff"},
		{"ft3_16.net.gz", "nue", "nue_max_num_vls 2", "8aa3a1ce0790029d", "2c768295a5c9b1f2"},
		{"ft3_16.net.gz", "nue", "nue_max_num_vls 8", "0fe4a2f23942cf5c", "87200fc2767a92e1"},
		{"torus_5x4_double.net", "lash", "do_mesh_analysis TRUE", "fe25abb413dffdb8", ""},
		{"torus_5x4_double.net", "nue", "nue_max_num_vls 1", "663bc95f4982c7f5", ""},
		{"torus_5x5_tail.net", "lash", "do_mesh_analysis TRUE", "66e3d19f02a289b6", ""},
		{"torus_5x5_tail.net", "nue", "nue_max_num_vls 2", "50d115256e0f9318", ""},
	} {
		name, network := c.net+", "+c.engine+" "+c.conf, simtest.Must(topology.ReadFile("testdata/"+c.net))(t)
		conf := simtest.Must(ReadConfig(strings.NewReader("qos TRUE\n"+c.conf+"\n"), name, ""))(t)
		s, engine := newSubnet(t, network.Graph(), DefaultManager(network.Graph()), 0), simtest.Must(EngineOf(c.engine))(t)
		tables, err := engine.Route(s, &conf.Options)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var lft, sl strings.Builder
		simtest.Check(t, tables.WriteLFT(&lft))
		simtest.Check(t, tables.WriteSL(&sl))
		var first []string
		for n := range s.nodes() {
			if hosts := s.hosts(n); len(hosts) > 0 {
				first = append(first, strconv.Itoa(int(s.TerminalLID[hosts[0].Terminal])))
			}
		}
		var rows bytes.Buffer
		for line := range strings.Lines(sl.String()) {
			if lid, _, _ := strings.Cut(line, " "); slices.Contains(first, lid) {
				rows.WriteString(line)
			}
		}
		sum := digits([]byte(lft.String()))
		simtest.ErrorIf(t, sum != c.tables, "%s: tables %s, OpenSM's are %s", name, sum, c.tables)
		sum = digits(rows.Bytes())
		simtest.ErrorIf(t, c.levels != "" && sum != c.levels, "%s: service levels %s, OpenSM's are %s", name, sum, c.levels)
	}
}

func digits(text []byte) string { return fmt.Sprintf("%x", sha256.Sum256(text))[:16] }

// Characteristic polynomials that OpenSM 3.3.23 logs: of a switch in a torus of 5 x 5 x 3
// switches and in a mesh of 5 x 5 or more, -225-672x-733x^2-352x^3-67x^4+x^6 and
// -128x-48x^2+x^4. One of two switches is -x; in a ring of 5, whose neighbours are 3 hops
// apart without the switch, x^2-9.
func TestTorusShape(t *testing.T) {
	for _, c := range []struct {
		across []int32
		want   meshShape
	}{
		{[]int32{0}, meshShape{1, 0}},
		{[]int32{3}, meshShape{2, -9, 0}},
		{[]int32{4, 4}, meshShape{4, 0, -128, -48, 0}},
		{[]int32{1, 3, 3}, meshShape{6, -225, -672, -733, -352, -67, 0}},
	} {
		got, ok := torusShape(c.across)
		simtest.ErrorIf(t, !ok || got != c.want, "%v: %v, want %v", c.across, got, c.want)
		simtest.Equal(t, meshDimensions()[got], len(c.across), "%v: dimensions", c.across)
	}
	_, ok := torusShape([]int32{4, 4, 4, 4, 0})
	simtest.ErrorIf(t, ok, "nine links are analysed")
	// Of 1 to 8 dimensions 4, 10, 20, 35, 20, 10, 4 and 1 have up to eight links; five of
	// the four-dimensional ones are not known, and one mesh with a corner missing is.
	simtest.Equal(t, len(meshDimensions()), 100, "shapes")
}

// TestNueCanDeadlock: on this network, with one lane, OpenSM's rule of shortcuts ([nueSearch.shortcut]) takes
// dependencies out of the graph on which paths go on, and a later destination closes a cycle with them. It is the one
// of 22,472 random networks of 10 to 69 switches, less all switches, cables and hosts without which the cycle is there
// as well. If the dependencies stay in the graph there is none. The certificate finds it.
func TestNueCanDeadlock(t *testing.T) {
	guids := []topology.GUID{
		0x145cbc40d02754fa, 0x4044e49cdc90ace9, 0x76d6e611d8963b79, 0x6c856a41650b3ea6, 0x1d502781cea2131e, 0x5bfabf46a9efd4e8,
		0x192d1d402fcffd73, 0x74980669306e04b5, 0x3d99f8ea9b13048d, 0x108fdb89ba93ac38, 0x42e944bc205cb09b, 0x42ae3dcce7046983,
		0x17bb1cfb613b7a47, 0x1ed5a1cc5095e8bc, 0x3f56094edf934bd7, 0x5792ea948af35e89, 0x54eeb8a50f17d39d, 0x2265cf3387041964,
		0x6257a438fe745f47, 0x3dce7a5d5ca9091d, 0x5a4b8e6fb7a5d9b4, 0x27db525101dd1c0, 0xd0df4b7a7fe9630, 0x65bfe1d00e7ea7e1,
		0x60839dfd697f6f94, 0x75bd0b87e249b15f, 0x158427d7b0b49f60, 0x145e11b2b8600e5c, 0x618e7c685bfd2937, 0x2038be331a35447,
		0x62f8fab68d512408, 0x66b73115d94b3f33, 0x351bb11e8c532a84, 0x7afbff859b7bb1ac, 0x2207298386e29928, 0x555244414a67fcb,
		0x40d8362c9ab02757, 0x6bd5e332c8c9cdd9, 0x3fff9e410509b0e5, 0x183f3c5d483393a4, 0x42843e35f8c7a597, 0x16c2e5b32a0963b0,
		0x74f4ed48d1cf6421, 0x2dfad3a7d27bf186, 0x36193a4dbbf759c3, 0x6a5aad9489903d59, 0x722bd5f538a8dd48, 0x44ce59264c726834,
		0x5aa2c9acd3a2299, 0x6debeca67ed705c7,
	}
	cables := [][2]topology.SwitchID{
		{1, 0}, {2, 0}, {5, 2}, {8, 1}, {10, 8}, {14, 13}, {16, 4}, {17, 8}, {18, 2}, {19, 10}, {20, 10}, {21, 15},
		{22, 8}, {24, 10}, {31, 10}, {37, 10}, {38, 16}, {39, 38}, {41, 35}, {43, 39}, {44, 38}, {49, 9}, {20, 36}, {16, 39},
		{16, 19}, {34, 31}, {38, 9}, {35, 3}, {21, 37}, {0, 48}, {44, 0}, {10, 45}, {45, 25}, {49, 39}, {1, 46}, {27, 2},
		{18, 9}, {7, 15}, {13, 45}, {19, 39}, {33, 10}, {26, 36}, {10, 20}, {48, 12}, {10, 49}, {10, 42}, {6, 28}, {29, 3},
		{22, 1}, {15, 16}, {10, 35}, {2, 30}, {8, 28}, {11, 42}, {27, 39}, {48, 23}, {20, 22}, {47, 8}, {40, 17}, {4, 37},
		{15, 1}, {9, 41}, {32, 9},
	}
	b := topology.NewBuilder(len(guids), topology.Class{Name: "terminal", Latency: 1}, topology.Class{Name: "cable", Latency: 1})
	for _, s := range []topology.SwitchID{4, 5, 9, 19, 20, 21, 22, 22, 27, 39} {
		b.AddTerminal(s, 0)
	}
	for _, c := range cables {
		b.AddLink(c[0], c[1], 1)
	}
	g := b.Freeze()
	g.Names = &topology.Names{}
	for _, guid := range guids {
		g.Names.Switches = append(g.Names.Switches, topology.SwitchName{GUID: guid})
	}
	s, o := newSubnet(t, g, 0, 0), DefaultOptions()
	o.OperationalVLs = 1
	tables := simtest.Must(routeNue(s, &o))(t)
	c := certify.New(tables.VCs())
	tables.Dependencies(c.Add)
	proof := c.Certify(1, 1)
	simtest.ErrorIf(t, proof.Acyclic(), "%s", proof.Describe(g))
	e, _ := EngineOf("nue")
	simtest.ErrorIf(t, e.Acyclic, "nue is listed among the engines that cannot deadlock")
}
