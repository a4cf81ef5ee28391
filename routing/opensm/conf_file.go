package opensm

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/fabric/topology/ib"
	"github.com/weft-sim/weft/sim/input"
)

// Options are the settings of OpenSM's configuration that change what an engine computes, under the
// names that they have there. The zero value is not the default: use [DefaultOptions].
type Options struct {
	Roots          []uint64 // root_guid_file: GUIDs of switches
	HasRoots       bool     // the file is given; it may be empty
	ComputeNodes   []uint64 // cn_guid_file: GUIDs of adapter ports (ftree, sssp, dfsssp)
	HasNodes       bool
	Order          []uint64 // guid_routing_order_file: GUIDs of end ports
	ConnectRoots   bool     // connect_roots
	PortShifting   bool     // port_shifting
	ScatterPorts   uint32   // scatter_ports: the seed, 0 is off
	ProfileSwitch  bool     // port_profile_switch_nodes
	MeshAnalysis   bool     // do_mesh_analysis (lash)
	LashStartVL    int      // lash_start_vl
	NueMaxVLs      int      // nue_max_num_vls
	QoS            bool     // qos: SL2VL tables are written
	OperationalVLs int      // data virtual lanes of the poorest port: 1, 2, 4, 8 or 15
	Torus          *TorusConfig
	SL2VL          SL2VLSets
	grid           *torusGrid // where the switches are, if the network knows; for torus-2QoS
}

// DefaultOptions are OpenSM's defaults on ports of eight virtual lanes.
func DefaultOptions() Options { return Options{NueMaxVLs: 1, OperationalVLs: 8} }

// Config is a configuration file of OpenSM as far as it concerns unicast tables.
type Config struct {
	Options
	// Engines is the list of routing_engine: later ones are tried where the ones before refuse.
	Engines []string
	// NoFallback tells that the list ends with no_fallback.
	NoFallback bool
	GUID       uint64 // of the subnet manager's port; 0 where not set
	LMC        int
	MaxVLs     int // max_op_vls: data lanes that a port may use
	// Named are the paths of the files that it names and that were read.
	Named []string
	// Warnings name what was passed over, each with its line.
	Warnings []string
}

// Subnet looks at a network as OpenSM does with this configuration: manager is the name of
// the subnet manager's terminal ([FindManager]), and ports have so many data lanes. It takes
// the coordinates of a network that has some, for torus-2QoS without a torus_config.
func (c *Config) Subnet(network topology.Topology, manager string, lanes int) (*Subnet, error) {
	on, err := FindManager(network.Graph(), manager, c.GUID)
	if err != nil {
		return nil, err
	}
	c.OperationalVLs = min(lanes, c.MaxVLs)
	s, err := NewSubnet(network.Graph(), on, c.LMC)
	if err != nil {
		return nil, err
	}
	if grid, ok := network.(topology.Grid); ok && c.Torus == nil {
		c.grid = gridOf(s, grid)
	}
	return s, nil
}

// DefaultConfig is what an empty file configures.
func DefaultConfig() *Config { return &Config{Options: DefaultOptions(), MaxVLs: 15} }

// ReadConfig reads a configuration file in the form that opensm --create-config writes: a key and
// its value a line. Files that it names are read, too; their paths are relative to dir. Keys that
// leave unicast tables alone are passed over, unknown ones with a warning, as are files of engines
// that are not among engines (by default the file's list): OpenSM does not open them. Values that
// change tables in ways that are not modelled are problems.
func ReadConfig(r io.Reader, name, dir string, engines ...string) (*Config, error) {
	c := DefaultConfig()
	p := configReader{Lines: input.NewLines(r, name), Config: c, dir: dir}
	seen := map[string]int{}
	for words := p.NextWords(); words != nil; words = p.NextWords() {
		key, value := words[0], strings.Trim(strings.Join(words[1:], " "), `"`)
		if line, twice := seen[key]; twice {
			p.warn("%s again; the value of line %d is lost", key, line)
		}
		seen[key] = p.Number
		if value == "(null)" {
			continue
		}
		set := settings[key]
		switch {
		case set != nil && value == "":
			p.Problem("%s without a value", key)
		case readers[key] != nil:
			p.named = append(p.named, namedFile{key, value, p.Number})
		case set != nil:
			set(&p, key, value)
		case key == "max_op_vls":
			c.MaxVLs = 15 // of data that InfiniBand's code stands for (VLCap); 0 is no limit
			if code := p.number(key, value, 5); code > 0 && code < 5 {
				c.MaxVLs = 1 << (code - 1)
			}
		case slices.Contains(strings.Fields(ignoredKeys), key), ignoredGroups().MatchString(key):
		default:
			p.warn("unknown key %s: passed over", input.Quote(key))
		}
	}
	c.OperationalVLs = min(c.OperationalVLs, c.MaxVLs)
	if p.Number = seen["routing_engine"]; c.ScatterPorts == 0 && slices.Contains(c.Engines, "lash") && slices.Contains(c.Engines, "dfsssp") {
		p.warn("dfsssp, in the list, seeds by the clock what OpenSM's lash balances its levels by: weft takes the seed without it")
	}
	if len(engines) == 0 {
		engines = c.Engines
	}
	if p.misnamed {
		engines = Engines()
	}
	for _, f := range p.named {
		if slices.ContainsFunc(readers[f.key], func(e string) bool { return slices.Contains(engines, e) }) {
			p.Number = f.line
			settings[f.key](&p, f.key, f.value)
		}
	}
	return c, p.Finish()
}

type configReader struct {
	*input.Lines
	*Config
	dir   string
	named []namedFile // of engines; the last of a key counts
	// misnamed tells that the list has engines that are none: the files of all may be meant.
	misnamed bool
}

type namedFile struct {
	key, value string
	line       int
}

// readers are the engines that read the files of settings which others do not.
var readers = map[string][]string{"root_guid_file": {"updn", "ftree"}, "cn_guid_file": {"ftree", "sssp", "dfsssp"}, "torus_config": {"torus-2QoS"}}

func (p *configReader) warn(format string, args ...any) {
	if len(p.Warnings) < input.MostProblems {
		p.Warnings = append(p.Warnings, fmt.Sprintf("%s:%d: "+format, append([]any{p.Name, p.Number}, args...)...))
	}
}

// settings are the keys that change tables.
var settings = map[string]func(p *configReader, key, value string){
	"routing_engine": (*configReader).engines,
	"guid": func(p *configReader, key, value string) {
		var err error
		if p.GUID, err = parseGUID(value); err != nil {
			p.Problem("%s = %s: want a GUID, such as 0x0002c90200001234", key, input.Quote(value))
		}
	},
	"lmc":                       func(p *configReader, key, value string) { p.LMC = p.number(key, value, 7) },
	"qos":                       func(p *configReader, key, value string) { p.QoS = p.boolean(key, value) },
	"connect_roots":             func(p *configReader, key, value string) { p.ConnectRoots = p.boolean(key, value) },
	"port_shifting":             func(p *configReader, key, value string) { p.PortShifting = p.boolean(key, value) },
	"port_profile_switch_nodes": func(p *configReader, key, value string) { p.ProfileSwitch = p.boolean(key, value) },
	"do_mesh_analysis":          func(p *configReader, key, value string) { p.MeshAnalysis = p.boolean(key, value) },
	"scatter_ports":             func(p *configReader, key, value string) { p.ScatterPorts = uint32(p.number(key, value, 1<<32-1)) },
	"lash_start_vl":             func(p *configReader, key, value string) { p.LashStartVL = p.number(key, value, 14) },
	"nue_max_num_vls":           func(p *configReader, key, value string) { p.NueMaxVLs = p.number(key, value, 15) },
	"root_guid_file":            func(p *configReader, key, value string) { p.Roots, p.HasRoots = readNamed(p, key, value, ReadGUIDs) },
	"cn_guid_file": func(p *configReader, key, value string) {
		p.ComputeNodes, p.HasNodes = readNamed(p, key, value, ReadGUIDs)
	},
	"guid_routing_order_file": func(p *configReader, key, value string) { p.Order, _ = readNamed(p, key, value, ReadGUIDs) },
	"torus_config":            func(p *configReader, key, value string) { p.Torus, _ = readNamed(p, key, value, ReadTorusConfig) },
	"qos_sl2vl":               func(p *configReader, key, value string) { p.SL2VL.All = p.table(key, value) },
	"qos_ca_sl2vl":            func(p *configReader, key, value string) { p.SL2VL.Adapter = p.table(key, value) },
	"qos_sw0_sl2vl":           func(p *configReader, key, value string) { p.SL2VL.SwitchZero = p.table(key, value) },
	"qos_swe_sl2vl":           func(p *configReader, key, value string) { p.SL2VL.SwitchPort = p.table(key, value) },
}

// What changes tables and is not modelled: files that must not be named, and what must be off.
func init() {
	for key := range strings.FieldsSeq("hop_weights_file port_search_ordering_file dimn_ports_file port_prof_ignore_file io_guid_file ids_guid_file") {
		settings[key] = func(p *configReader, key, value string) {
			p.Problem("%s = %s: it changes the tables and is not modelled; want (null)", key, input.Quote(value))
		}
	}
	for key := range strings.FieldsSeq("lmc_esp0 quasi_ftree_indexing reassign_lids honor_guid2lid_file avoid_throttled_links nue_include_switches guid_routing_order_no_scatter") {
		settings[key] = func(p *configReader, key, value string) {
			if p.boolean(key, value) {
				p.Problem("%s = %s: it changes the tables and is not modelled; want FALSE", key, input.Quote(value))
			}
		}
	}
}

func (p *configReader) number(key, value string, high int) int {
	v, err := strconv.ParseInt(value, 0, 64)
	if err != nil || v < 0 || v > int64(high) {
		p.Problem("%s = %s: want 0 to %d", key, input.Quote(value), high)
		return 0
	}
	return int(v)
}

func (p *configReader) boolean(key, value string) bool {
	switch strings.ToUpper(value) {
	case "TRUE":
		return true
	case "FALSE":
		return false
	}
	p.Problem("%s = %s: want TRUE or FALSE", key, input.Quote(value))
	return false
}

// engines reads a list such as "ftree,updn".
func (p *configReader) engines(key, value string) {
	p.Engines, p.NoFallback = nil, false
	for _, name := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" ,;\t", r) }) {
		if name == "no_fallback" {
			p.NoFallback = true
			continue
		}
		if _, err := EngineOf(name); err != nil {
			p.Problem("%s: %v", key, err)
			p.misnamed = true
			continue
		}
		if !slices.Contains(p.Engines, name) {
			p.Engines = append(p.Engines, name)
		}
	}
}

// readNamed reads a file that the configuration names; ok is false if it cannot be opened.
func readNamed[T any](p *configReader, key, value string, read func(in io.Reader, path string) (T, error)) (what T, ok bool) {
	path := input.In(p.dir, value)
	f, err := input.OpenInput(path, input.MaxInput)
	if err != nil {
		p.Problem("%s: %s cannot be read: %v", key, path, err)
		return what, false
	}
	defer f.Close()
	p.Named = append(p.Named, path)
	what, err = read(f, path)
	p.Add(err)
	return what, true
}

// table reads sixteen lanes, "0,1,...,15".
func (p *configReader) table(key, value string) *[16]uint8 {
	words := strings.Split(value, ",")
	var table [16]uint8
	if len(words) != len(table) {
		p.Problem("%s: %d lanes, want 16", key, len(words))
		return nil
	}
	for sl, word := range words {
		v, err := strconv.ParseUint(strings.TrimSpace(word), 0, 8)
		if err != nil || v > ib.DropLane {
			p.Problem("%s: lane %s of SL %d: want 0 to 15", key, input.Quote(word), sl)
			return nil
		}
		table[sl] = uint8(v)
	}
	return &table
}

// ignoredKeys and ignoredGroups are the keys that leave unicast tables as they are.
//
//go:embed ignored_keys.txt
var ignoredKeys string

var ignoredGroups = input.Pattern(`^(qos|cc|perfmgr|event)_`)
