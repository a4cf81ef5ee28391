package mcast

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/routing/multicast"
	"github.com/weft-sim/weft/sim/simtest"
)

// OpenSM restores groups from a dump and dumps them again: this reads and
// writes the same bytes. (The 8-port fat tree's groups were joined by hosts, so
// that OpenSM also wrote who came first, which is of no use here.)
func TestSADumpRoundTrip(t *testing.T) {
	env := opensmFabric(t, "torus_4x4x4_1")
	for _, name := range []string{"random_64_256x8.sa.gz", "grid_4x4x4.sa.gz", "gridperm1_8x8.sa.gz"} {
		file := opensmFile(t, name)
		groups := simtest.Must(ReadSADump(bytes.NewReader(file), name, env.Graph))(t)
		var out bytes.Buffer
		simtest.Check(t, WriteSADump(&out, env.Graph, groups))
		if out.String() != string(file) {
			t.Errorf("%s: %s", name, firstDifference(out.String(), string(file)))
		}
	}
}

// What OpenSM wrote of 24 groups that hosts joined over the network, with the broadcast group that
// no one joined, holds the groups of the file that the joins came from.
func TestSADumpOfJoinedGroups(t *testing.T) {
	env := opensmFabric(t, "ft3_8")
	joined := groupsOf(t, env.Graph, "ft3_8.grid_8x16.opensm-sa.dump.gz")
	planned := groupsOf(t, env.Graph, "grid_8x16.sa.gz")
	if len(joined) != 25 || joined[0].MLID != BroadcastMLID || joined[0].Size() != 0 {
		t.Fatalf("%d groups, the first %+v; want 25, the first 0xc000 without members", len(joined), joined[0])
	}
	for i, g := range planned {
		j := joined[i+1]
		simtest.ErrorIf(t, j.MLID != g.MLID || !reflect.DeepEqual(j.Terminals, g.Terminals),
			"group %#x has terminals %v, planned are %v of %#x", j.MLID, j.Terminals, g.Terminals, g.MLID)
	}
}

const saTail = " qkey=0x00000b1b mlid=%s mtu=0x84 tclass=0x00 pkey=0xffff rate=0x83 pkt_life=0x92 sl_flow_hop=0x00000000 scope_state=0x21 proxy_join=0x0\n\n"

// saRecord is a group's record.
func saRecord(mlid, mgid string) string {
	return "MC Group " + mlid + " : mgid=" + mgid + " port_gid=0x0:0x0" + fmt.Sprintf(saTail, mlid)
}

func saMember(guid string) string {
	return "mcm_port: port_gid=0xfe80000000000000:" + guid + " scope_state=0x21 proxy_join=0x0\n\n"
}

// Switches and hosts as members, copies, other records, groups of IPv6
// neighbour discovery that share an MLID.
func TestReadSADump(t *testing.T) {
	graph := chain(4)
	text := "# restored\r\n" + saRecord("0xc001", "0x1:0x1") + saMember("0x0000000000200002") + saMember("0x0000000000100007") + saMember("0x100001") + saMember("0x100001") +
		"Service Record: id=0x1 name='x'\n\nInformInfo Record: subscriber_gid=0x1:0x2\n\n" +
		saRecord("0xc002", "0xff12601bffff0000:0x1ff000001") + saMember("0x100001") +
		saRecord("0xc002", "0xff12601bffff0000:0x1ff000002") + saMember("0x100003")
	groups := simtest.Must(ReadSADump(strings.NewReader(text), "x.sa", graph))(t)
	type members struct {
		terminals []topology.TerminalID
		switches  []topology.SwitchID
	}
	var got []members
	for _, g := range groups {
		got = append(got, members{g.Terminals, g.Switches})
	}
	want := []members{{[]topology.TerminalID{0, 3}, []topology.SwitchID{2}}, {[]topology.TerminalID{0, 1}, nil}}
	simtest.ErrorIf(t, !reflect.DeepEqual(got, want), "%v, want %v", got, want)
	// 0 and 1 are the hosts with the port GUIDs 0x100001 and 0x100003.
	simtest.ErrorIf(t, groups[0].Line != 2 || groups[0].ID != 0 || groups[1].ID != 1, "lines and ids: %+v", groups)
}

func TestReadSADumpProblems(t *testing.T) {
	graph := chain(4)
	good := saRecord("0xc001", "0x1:0x1")
	for _, c := range []struct{ name, text, want string }{
		{"another file", "hello\n", "x.sa:1: \"hello\" is not a record"},
		{"unknown port", good + saMember("0x999"), "x.sa:3: group 0xc001: port 0000000000000999 is not in the fabric"},
		{"member first", saMember("0x100001"), "x.sa:1: member record before any group"},
		{"MLID too low", saRecord("0xbfff", "0x1:0x1"), "x.sa:1: group record without an MLID"},
		{"MLID too high", saRecord("0xffff", "0x1:0x1"), "x.sa:1: group record without an MLID"},
		{"MLIDs disagree", strings.Replace(good, "mlid=0xc001", "mlid=0xc002", 1), "x.sa:1: group 0xc001 has mlid=0xc002"},
		{"MLID twice", good + saRecord("0xc001", "0x1:0x2"), "x.sa:3: MLID 0xc001 is a duplicate: the group in line 1"},
		{"MGID twice", good + saRecord("0xc002", "0x1:0x1"), "x.sa:3: MGID 0000000000000001:0000000000000001 is a duplicate: first in line 1"},
		{"field missing", strings.Replace(good, "qkey=", "qqkey=", 1), "x.sa:1: group 0xc001: qkey= is missing"},
		{"fields out of order", strings.Replace(good, " mtu=0x84 tclass=0x00", " tclass=0x00 mtu=0x84", 1), "x.sa:1: group 0xc001: tclass= is missing"},
		{"field too wide", strings.Replace(good, "mtu=0x84", "mtu=0x184", 1), "x.sa:1: group 0xc001: mtu=0x184"},
		{"half a GID", strings.Replace(good, "mgid=0x1:0x1", "mgid=0x1", 1), "x.sa:1: group 0xc001: mgid=0x1: want two"},
		{"record cut", good[:len(good)/2], "x.sa:1: group 0xc001"},
		{"member cut", good + saMember("0x100001")[:60], "x.sa:3: member: "},
	} {
		simtest.Refuse(ReadSADump(strings.NewReader(c.text), "x.sa", graph))(t, c.want)
	}
}

func TestReadMCFDBsProblems(t *testing.T) {
	graph := chain(4)
	head := "\nSwitch 0x0000000000200000\nLID    : Out Port(s)\n"
	if tables, err := ReadMCFDBs(strings.NewReader(head+"0xC001 : 0x000  0x002 \n"), "x", graph); err != nil ||
		!reflect.DeepEqual(tables[0], []MFTRow{{0xc001, []uint8{0, 2}}}) {
		t.Errorf("%v, %v", tables, err)
	}
	for _, c := range []struct{ name, text, want string }{
		{"another file", "hello\n", "x:1: \"hello\": want an MLID"},
		{"unknown switch", "Switch 0x999\n0xC001 : 0x001 \n", "x:1: switch 0000000000000999 is not in the fabric"},
		{"no GUID", "Switch zz\n", "x:1: switch without a GUID"},
		{"switch twice", head + head, "x:5: switch 0000000000200000 is a duplicate"},
		{"row first", "0xC001 : 0x001 \n", "x:1: row before any switch"},
		{"order", head + "0xC002 : 0x001 \n0xC001 : 0x001 \n", "x:5: row 0xc001 is out of order"},
		{"ports out of order", head + "0xC001 : 0x002  0x001 \n", "x:4: row 0xc001: port \"0x001\""},
		{"port too high", head + "0xC001 : 0x003 \n", "x:4: row 0xc001 has a port beyond 2"},
		{"no ports", head + "0xC001 : \n", "x:4: row 0xc001 has no ports"},
		{"no MLID", head + "0x0001 : 0x001 \n", "x:4: "},
	} {
		if _, err := ReadMCFDBs(strings.NewReader(c.text), "x", graph); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one problem", c.name, err)
		}
	}
}

// What reads without problem reads the same after being written; problems name file and line.
func FuzzReadSADump(f *testing.F) {
	graph := chain(4)
	f.Add(saRecord("0xc001", "0x1:0x1") + saMember("0x200002") + saMember("0x100001"))
	f.Add("Service Record: id=0x1\n\n" + saMember("0x100001") + saRecord("0xc000", "0xff12601bffff0000:0x1ff000001"))
	f.Fuzz(func(t *testing.T, text string) {
		groups, err := ReadSADump(strings.NewReader(text), "fuzz", graph)
		if err != nil {
			simtest.ErrorIf(t, !strings.HasPrefix(err.Error(), "fuzz:"), "an error without file: %v", err)
			return
		}
		var out bytes.Buffer
		simtest.Check(t, WriteSADump(&out, graph, groups))
		again := simtest.Must(ReadSADump(&out, "fuzz", graph))(t)
		for i := range groups {
			groups[i].Line, again[i].Line = 0, 0
		}
		simtest.ErrorIf(t, len(again) != len(groups) || !reflect.DeepEqual(again, groups) && len(groups) > 0,
			"%+v, then %+v", groups, again)
	})
}

func FuzzReadMCFDBs(f *testing.F) {
	graph := chain(4)
	f.Add("\nSwitch 0x0000000000200000\nLID    : Out Port(s)\n0xC001 : 0x000  0x002 \n")
	f.Fuzz(func(t *testing.T, text string) {
		tables, err := ReadMCFDBs(strings.NewReader(text), "fuzz", graph)
		if err != nil {
			return
		}
		var out bytes.Buffer
		simtest.Check(t, WriteMCFDBs(&out, graph, tables))
		again, err := ReadMCFDBs(&out, "fuzz", graph)
		simtest.ErrorIf(t, err != nil || fmt.Sprint(again) != fmt.Sprint(tables), "%v, then %v, %v", tables, again, err)
	})
}

func FuzzReadLIDMatrix(f *testing.F) {
	graph := chain(2)
	f.Add("Switch: guid 0x0000000000200000\n0x0003: 00 01 02 # portguid 0x0000000000200000\n0x0004: 01 ff 01 # portguid 0x0000000000200001\n" +
		"Switch: guid 0x0000000000200001\n0x0003: 01 ff 01 # portguid 0x0000000000200000\n0x0004: 00 ff ff # portguid 0x0000000000200001\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ReadLIDMatrix(strings.NewReader(text), "fuzz", graph)
		if err != nil {
			simtest.ErrorIf(t, !strings.HasPrefix(err.Error(), "fuzz:"), "an error without file: %v", err)
			return
		}
		env := newEnv(t, graph)
		e := simtest.Must(NewMinHopMCFrom(env, m))(t)
		if e.Join(multicast.NewGroup(0, []topology.TerminalID{0, 1}, nil)) == nil {
			err := e.Forest().Check()
			simtest.ErrorIf(t, err != nil, "%v", err)
		}
	})
}
