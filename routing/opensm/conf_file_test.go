package opensm

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sim/weft/sim/simtest"
)

func TestReadConfig(t *testing.T) {
	dir := t.TempDir()
	simtest.Check(t, os.WriteFile(filepath.Join(dir, "roots"), []byte("# two roots\n0x0002c90000000001\n  18 \n"), 0o600))
	c, err := ReadConfig(strings.NewReader(`# comment
routing_engine ftree;updn no_fallback
guid 0x0002c903000010f1
lmc 2
root_guid_file roots
connect_roots TRUE
max_op_vls 3
scatter_ports 7
qos TRUE # and its tables
qos_sl2vl 0,1,0,1,0,1,0,1,0,1,0,1,0,1,15,15
cn_guid_file (null)
log_file /var/log/opensm.log
qos_vlarb_high 0:4,1:0
perfmgr_redir TRUE
shiny 1
`), "opensm.conf", dir)
	simtest.Check(t, err)
	if !slices.Equal(c.Engines, []string{"ftree", "updn"}) || !c.NoFallback || c.GUID != 0x2c903000010f1 || c.LMC != 2 || !c.ConnectRoots ||
		!slices.Equal(c.Roots, []uint64{0x2c90000000001, 18}) || !c.HasRoots || c.HasNodes || c.ScatterPorts != 7 || !c.QoS {
		t.Errorf("%+v", c)
	}
	// max_op_vls 3 is the code of four lanes.
	simtest.ErrorIf(t, c.OperationalVLs != 4 || c.MaxVLs != 4, "%d lanes, want 4", c.OperationalVLs)
	got := written(c.OperationalVLs, c.SL2VL.SwitchPort, c.SL2VL.All)
	simtest.ErrorIf(t, got != [16]uint8{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 15, 15}, "SL2VL %v", got)
	simtest.ErrorIf(t, len(c.Warnings) != 1 || c.Warnings[0] != `opensm.conf:15: unknown key "shiny": passed over`,
		"warnings %q", c.Warnings)
}

// TestFilesOfOtherEngines: OpenSM opens no files of engines that it is not asked for; opensm --create-config
// names one of torus-2QoS, whatever the engine.
func TestFilesOfOtherEngines(t *testing.T) {
	const text = "torus_config /nowhere/torus-2QoS.conf\nroot_guid_file /nowhere/roots\ncn_guid_file /nowhere/nodes\nlfts_file /nowhere/lfts\nrouting_engine minhop\n"
	c := simtest.Must(ReadConfig(strings.NewReader(text), "x", "."))(t)
	simtest.ErrorIf(t, c.HasRoots || c.HasNodes || c.Torus != nil || len(c.Named) > 0 || len(c.Warnings) > 0, "%+v", c)
	for engine, want := range map[string]string{"ftree": "x:3: cn_guid_file", "updn": "x:2: root_guid_file", "torus-2QoS": "x:1: torus_config"} {
		simtest.Refuse(ReadConfig(strings.NewReader(text), "x", ".", "sssp", engine))(t, want)
	}
}

func TestReadConfigProblems(t *testing.T) {
	for text, want := range map[string]string{
		"routing_engine best\n": `x:1: routing_engine: no routing engine "best": want dfsssp`,
		"lmc 8\n":               "x:1: lmc = \"8\": want 0 to 7",
		"\nqos yes\n":           "x:2: qos = \"yes\": want TRUE or FALSE",
		"guid host\n":           "x:1: guid = \"host\"",
		"qos_sl2vl 0,1\n":       "x:1: qos_sl2vl: 2 lanes, want 16",
		"qos_sl2vl 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,16\n":     "lane \"16\" of SL 15",
		"torus_config none\nrouting_engine minhop,torus-2QoS\n": "x:1: torus_config: none cannot be read",
		"root_guid_file none\nrouting_engine updn\n":            "x:1: root_guid_file: none cannot be read",
		"io_guid_file ios\n":                                    "x:1: io_guid_file = \"ios\": it changes the tables",
		"lmc_esp0 TRUE\n":                                       "x:1: lmc_esp0",
		"lmc\n":                                                 "x:1: lmc without a value",
	} {
		simtest.Refuse(ReadConfig(strings.NewReader(text), "x", "."))(t, want)
	}
}

func TestReadTorusConfig(t *testing.T) {
	c := simtest.Must(ReadTorusConfig(strings.NewReader("torus 4 5m 3 # size\nxp_link 0x20 0x21\nym_link 0x20 34\nz_dateline -1\n"), "t"))(t)
	if c.Size != [3]int{4, 5, 3} || c.Wraps != [3]bool{true, false, true} || c.Links[0][0] != [2]uint64{0x20, 0x21} || c.Links[3][0] != [2]uint64{0x20, 34} || c.Dateline != [3]int{0, 0, -1} {
		t.Errorf("%+v", c)
	}
	for text, want := range map[string]string{
		"":                               "t:1: no size",
		"torus 99 99 99\n":               "t:1: a torus of 970299 switches",
		"torus 4 5\n":                    "t:1: torus: want three sizes",
		"torus 0 5 3\n":                  `t:1: size "0"`,
		"torus 4 5x 3\n":                 `t:1: size "5x"`,
		"torus 4 4 4\ntorus 4 4 4\n":     "t:2: torus: the size is given twice",
		"torus 4 4 4\nxp_link 0x1\n":     "t:2: xp_link: want the GUIDs of two switches",
		"torus 4 4 4\nxp_link 0x1 y\n":   `t:2: xp_link: "y" is no GUID`,
		"torus 4 4 4\nx_dateline far\n":  "t:2: x_dateline",
		"torus 4 4 4\nnext_seed\n":       "t:2: next_seed is not modelled",
		"torus 4 4 4\nup_link 0x1 0x2\n": `t:2: "up_link"`,
	} {
		simtest.Refuse(ReadTorusConfig(strings.NewReader(text), "t"))(t, want)
	}
}

func TestReadGUIDs(t *testing.T) {
	if guids, err := ReadGUIDs(strings.NewReader("\ufeff0x1F\r\n\n0x20 # core\n"), "g"); err != nil || !slices.Equal(guids, []uint64{0x1f, 0x20}) {
		t.Errorf("%v, %v", guids, err)
	}
	if _, err := ReadGUIDs(strings.NewReader("0x1f\ncore\n0x1 0x2\n"), "g"); err == nil || !strings.Contains(err.Error(), `g:2: "core"`) || !strings.Contains(err.Error(), "g:3:") {
		t.Errorf("%v, want problems in lines 2 and 3", err)
	}
}

func FuzzReadConfig(f *testing.F) {
	f.Add("routing_engine ftree,updn\nlmc 1\nqos TRUE\nqos_sl2vl 0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7\nmax_op_vls 4\n")
	f.Add("guid 0x1\nscatter_ports 5 # seed\nroot_guid_file (null)\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "_file") || strings.Contains(text, "torus_config") {
			return // would open files of any name
		}
		c, err := ReadConfig(strings.NewReader(text), "opensm.conf", dir)
		simtest.FatalIf(t, err == nil && (c.LMC < 0 || c.LMC > 7 || c.OperationalVLs < 1 || c.OperationalVLs > 15), "%+v", c)
	})
}

func FuzzReadGUIDs(f *testing.F) {
	f.Add("0x0002c90200001234\n77\n")
	f.Fuzz(func(t *testing.T, text string) {
		guids, err := ReadGUIDs(strings.NewReader(text), "guids")
		if err == nil && len(guids) > strings.Count(text, "\n")+1 {
			t.Fatalf("%d GUIDs in %d lines", len(guids), strings.Count(text, "\n")+1)
		}
	})
}

func FuzzReadTorusConfig(f *testing.F) {
	f.Add("torus 4 4 4\nxp_link 0x1 0x2\nxm_link 0x1 0x3\nx_dateline 1\n")
	f.Add("mesh 5t 5 1\nyp_link 1 2\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ReadTorusConfig(strings.NewReader(text), "torus")
		if err != nil {
			return
		}
		for _, size := range c.Size {
			simtest.FatalIf(t, size < 1 || size > maxTorusSize, "%+v", c)
		}
	})
}
