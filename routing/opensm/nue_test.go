package opensm

import (
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/certify"
)

// TestNueCanDeadlock: on this network, with one lane, OpenSM's rule of shortcuts
// ([nueSearch.shortcut]) takes dependencies out of the graph on which paths go on, and a later
// destination closes a cycle with them. It is the one of 22,472 random networks of 10 to 69 switches,
// less all switches, cables and hosts without which the cycle is there as well. If the
// dependencies stay in the graph there is none. The certificate finds it.
func TestNueCanDeadlock(t *testing.T) {
	guids := []uint64{
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
	g.Names = &topology.Names{SwitchGUID: guids}
	s, err := NewSubnet(g, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	o.OperationalVLs = 1
	tables, err := routeNue(s, &o)
	if err != nil {
		t.Fatal(err)
	}
	c := certify.New(tables.VCs())
	tables.Dependencies(c.Add)
	if proof := c.Certify(1, 1); proof.Acyclic() {
		t.Error(proof.Describe(g))
	}
	if acyclicEngines["nue"] {
		t.Error("nue is listed among the engines that cannot deadlock")
	}
}
