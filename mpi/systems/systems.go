// Package systems holds presets of whole machines: adapter, cables and switches, protocols, memory of a
// node, and what a message-passing library adds. A preset is a file of values under the keys of
// experiment files, each with its source; what it was fitted to is in it, too.
package systems

import (
	"cmp"
	"embed"
	_ "embed"
	"encoding"
	"encoding/csv"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/param"
)

// Value is a setting of a preset.
type Value struct {
	Key, Value, Source string
	Transport          string // for which alone it holds; "": all
}

// Fit names measured rows that values were fitted to.
type Fit struct {
	System, Benchmark, Library string // of the rows; Library is its beginning
	Nodes                      int
	PerNode                    int `toml:"per_node"`
	Sizes                      []int64
	Values                     []string // keys
}

// Preset is a machine, or what a library adds to one.
type Preset struct {
	Name      string `toml:"-"`
	Doc       string
	Unknown   string   // what of it is not known
	Transport string   // below the library
	Adapters  int      // of a node; 0: one
	Versions  []string // of a library: beginnings of the versions that it stands for, where not for all
	Value     []Value
	Fitted    []Fit
}

//go:embed presets libraries
var files embed.FS

// Registry holds the machines.
var Registry = param.NewRegistry[struct{}, *Preset]("system")

// libraries are the message-passing libraries, by the name of their file.
var libraries = map[string]func() *Preset{}

// Library is the message-passing library of a name, of [Libraries]; nil: there is none.
func Library(name string) *Preset {
	if read := libraries[name]; read != nil {
		return read()
	}
	return nil
}

// Libraries are the names of the message-passing libraries, sorted.
func Libraries() []string { return slices.Sorted(maps.Keys(libraries)) }

// QDR is the machine of files that name none: its values are the defaults of package mpi.
const QDR = "qdr"

func init() {
	for _, folder := range []string{"presets", "libraries"} {
		entries, err := fs.ReadDir(files, folder)
		if err != nil {
			panic("systems: " + err.Error())
		}
		for _, e := range entries {
			name := strings.TrimSuffix(e.Name(), ".toml")
			doc, read := preset(name, path.Join(folder, e.Name()))
			if folder == "libraries" {
				libraries[name] = read
				continue
			}
			param.Register(Registry, name, doc, struct{}{}, func(struct{}, struct{}) (*Preset, error) { return read(), nil })
		}
	}
}

// preset is a file's doc, its first line but for comments, and what reads the whole when asked.
func preset(name, file string) (doc string, read func() *Preset) {
	data, err := files.ReadFile(file)
	if err != nil {
		panic("systems: " + err.Error())
	}
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			doc, err = strconv.Unquote(strings.TrimSpace(strings.TrimPrefix(line, "doc = ")))
			break
		}
	}
	if err != nil {
		panic("systems: " + file + ": the first line is not doc = \"...\"")
	}
	return doc, sync.OnceValue(func() *Preset {
		p := &Preset{Name: name}
		meta, err := toml.Decode(string(data), p)
		if err != nil || len(meta.Undecoded()) > 0 {
			panic(fmt.Sprintf("systems: %s: %v %v", file, err, meta.Undecoded()))
		}
		return p
	})
}

// LibraryFor is the library of a name as it was in a version: there may be one for it alone.
func LibraryFor(name, version string) string {
	for other, read := range libraries {
		if strings.HasPrefix(other, name+"-") && slices.ContainsFunc(read().Versions, func(v string) bool { return strings.HasPrefix(version, v) }) {
			return other
		}
	}
	return name
}

// With are a machine's values with a library's (nil: none) over a transport ("": the machine's);
// later ones hold.
func (p *Preset) With(library *Preset, transport string) (values []Value) {
	transport = cmp.Or(transport, p.Transport)
	for _, from := range []*Preset{p, library} {
		if from == nil {
			continue
		}
		for _, v := range from.Value {
			if v.Transport == "" || v.Transport == transport {
				values = append(values, v)
			}
		}
	}
	return values
}

// Machine is what values set, under the names of the tables of experiment files.
type Machine struct {
	System   Ways
	HCA      *hca.Config
	Protocol *mpi.Protocols
	Memory   *mpi.Memory
	Workload any // a pointer to settings copy_rate, combine_rate, call_time, block_time
}

// Ways are the latencies of a network.
type Ways struct {
	CableLatency  sim.Time `toml:"cable_latency" doc:"of a cable with the ports at its ends; the channels of machine fabric have it, in whole cycles, unless [channel] says otherwise" min:"0ns" max:"1s"`
	SpineLatency  sim.Time `toml:"spine_latency" doc:"of a cable between switches; 0ns: cable_latency" min:"0ns" max:"1s"`
	SwitchLatency sim.Time `toml:"switch_latency" doc:"from port to port of a switch; machine fabric has it in switch.crossbar_cycles" min:"0ns" max:"1s"`
	FarSwitches   int      `toml:"far_switches" doc:"switches between nodes of different leaf switches, over which loggp.far_latency is: of a dragonfly 2 to 4; 0: 3, as in a tree of two levels" min:"0" max:"1000"`
}

// Near and Far are the latencies between adapters over one leaf switch, and over two.
func (w *Ways) Near() sim.Time { return w.over(1) }
func (w *Ways) Far() sim.Time  { return w.over(cmp.Or(w.FarSwitches, 3)) }

// over is the latency from adapter to adapter over so many switches.
func (w *Ways) over(switches int) sim.Time {
	n := sim.Time(switches)
	return 2*w.CableLatency + n*w.SwitchLatency + (n-1)*w.Spine()
}

// Spine is the latency of a cable between switches.
func (w *Ways) Spine() sim.Time { return cmp.Or(w.SpineLatency, w.CableLatency) }

// Set makes a machine have values, but for keys that are given.
func (m *Machine) Set(values []Value, given func(key string) bool) {
	tables := map[string]any{"system": &m.System, "hca": m.HCA, "protocol": m.Protocol, "memory": m.Memory, "workload": m.Workload}
	for _, v := range values {
		table, key, _ := strings.Cut(v.Key, ".")
		if tables[table] == nil || given(v.Key) {
			continue
		}
		param.EachSetting(tables[table], func(f *param.Field, to reflect.Value) {
			if f.Key != key {
				return
			}
			var err error
			if t, ok := to.Addr().Interface().(encoding.TextUnmarshaler); ok {
				err = t.UnmarshalText([]byte(v.Value))
			} else {
				_, err = fmt.Sscan(v.Value, to.Addr().Interface())
			}
			if err != nil {
				panic(fmt.Sprintf("systems: %s = %s: %v", v.Key, v.Value, err))
			}
		})
	}
}

// Adapter is the one that the values of package hca are laid over; "": none is named.
func Adapter(values []Value) (name string) {
	for _, v := range values {
		if v.Key == "hca.preset" {
			name = v.Value
		}
	}
	return name
}

// FitsOf are the rows that a library was fitted to; of none there are none.
func (p *Preset) FitsOf() []Fit {
	if p == nil {
		return nil
	}
	return p.Fitted
}

// Error is a preset's distance from measured rows of a class and of some sizes, in percent, when
// weft reproduce hardware wrote errors.csv: rows of quality A and B that it was not fitted to.
type Error struct{ Class, Sizes, Rows, Median, P90 string }

//go:embed errors.csv
var measured string

// Errors are how far a preset is off; none: no row was measured on such a machine.
func (p *Preset) Errors() (all []Error) {
	lines, err := csv.NewReader(strings.NewReader(measured)).ReadAll()
	if err != nil {
		panic("systems: errors.csv: " + err.Error())
	}
	for _, l := range lines[1:] { // preset, class, sizes, rows, median, p90, aim
		if l[0] == p.Name {
			all = append(all, Error{l[1], l[2], l[3], l[4], l[5]})
		}
	}
	return all
}

// String names the rows.
func (f Fit) String() string {
	return fmt.Sprintf("%s of %s, %s, %d x %d, sizes %v: %s", f.Benchmark, f.System, f.Library, f.Nodes, f.PerNode, f.Sizes, strings.Join(f.Values, ", "))
}
