package topology

import (
	"fmt"
	"math"
	"strconv"

	"github.com/weft-sim/weft/sim"
)

const (
	fileFormat  = "weft-topology"
	fileVersion = 1
)

// The elements of a topology file. Everything with omitempty is optional.
type (
	fileClass struct {
		Name    string `json:"name"`
		Latency int    `json:"latency"`
		Rate    string `json:"rate,omitempty"`
	}
	fileSwitch struct {
		Name  string `json:"name,omitempty"`
		GUID  guid   `json:"guid,omitempty"`
		LID   int32  `json:"lid,omitempty"`
		LMC   uint8  `json:"lmc,omitempty"`
		Ports int32  `json:"ports,omitempty"`
	}
	filePort struct {
		Switch int   `json:"switch"`
		Port   *int  `json:"port,omitempty"`
		Number int32 `json:"number,omitempty"`
	}
	fileTerminal struct {
		Name string `json:"name,omitempty"`
		filePort
		Class    string `json:"class"`
		NodeGUID guid   `json:"node_guid,omitempty"`
		PortGUID guid   `json:"port_guid,omitempty"`
		LID      int32  `json:"lid,omitempty"`
		LMC      uint8  `json:"lmc,omitempty"`
		Node     *int32 `json:"node,omitempty"`
		NodePort int32  `json:"node_port,omitempty"`
		Host     *int32 `json:"host,omitempty"`
	}
	fileLink struct {
		A     filePort `json:"a"`
		B     filePort `json:"b"`
		Class string   `json:"class"`
	}
)

// fileAggregation is a port of an aggregation node; Number is that of the switch's.
type fileAggregation struct {
	Name     string `json:"name,omitempty"`
	Switch   int    `json:"switch"`
	Number   int32  `json:"number,omitempty"`
	NodeGUID guid   `json:"node_guid,omitempty"`
	NodePort int32  `json:"node_port,omitempty"`
	PortGUID guid   `json:"port_guid,omitempty"`
	LID      int32  `json:"lid,omitempty"`
	LMC      uint8  `json:"lmc,omitempty"`
	Rate     string `json:"rate,omitempty"`
}

func (f *fileAggregation) blank() { f.Switch = noSwitch }

// noSwitch stands where a file does not say which switch.
const noSwitch = math.MinInt

func (f *fileTerminal) blank() { f.Switch = noSwitch }

func (f *fileLink) blank() { f.A.Switch, f.B.Switch = noSwitch, noSwitch }

// guid is a 64-bit identity, written as "0x" and 16 hexadecimal digits.
type guid uint64

func (x guid) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "0x%016x", uint64(x)), nil }

func (x *guid) UnmarshalText(text []byte) error {
	v, err := strconv.ParseUint(string(text), 0, 64)
	if err != nil {
		return fmt.Errorf("GUID %q: want a number such as \"0x0002c90300a1b2c3\"", text)
	}
	*x = guid(v)
	return nil
}

func newFileClass(c Class) fileClass {
	f := fileClass{Name: c.Name, Latency: c.Latency}
	if c.Rate != 0 {
		f.Rate = c.Rate.String()
	}
	return f
}

func (f fileClass) class() (Class, error) {
	c := Class{Name: f.Name, Latency: f.Latency}
	if c.Name == "" {
		return c, fmt.Errorf("a class without name")
	}
	if c.Latency < 1 {
		return c, fmt.Errorf("class %q: latency = %d: want at least 1 cycle", c.Name, c.Latency)
	}
	var err error
	if f.Rate != "" {
		c.Rate, err = sim.ParseRate(f.Rate)
	}
	return c, err
}

func newFileSwitch(g *Graph, s SwitchID) fileSwitch {
	var f fileSwitch
	if n := g.Names; n != nil {
		f = fileSwitch{at(n.Switch, s), guid(at(n.SwitchGUID, s)), at(n.SwitchLID, s), at(n.SwitchLMC, s), at(n.SwitchPorts, s)}
	}
	return f
}

func newFilePort(g *Graph, p PortID) filePort {
	local := g.LocalPort(p)
	f := filePort{Switch: int(g.PortSwitch[p]), Port: &local}
	if g.Names != nil {
		f.Number = at(g.Names.Port, p)
	}
	return f
}

func newFileTerminal(g *Graph, t TerminalID) fileTerminal {
	p := g.TerminalPort[t]
	f := fileTerminal{filePort: newFilePort(g, p), Class: g.Classes[g.PortClass[p]].Name}
	if n := g.Names; n != nil {
		f.Name, f.NodeGUID, f.PortGUID = at(n.Terminal, t), guid(at(n.NodeGUID, t)), guid(at(n.PortGUID, t))
		f.LID, f.LMC, f.NodePort = at(n.TerminalLID, t), at(n.TerminalLMC, t), at(n.NodePort, t)
		if n.TerminalNode != nil {
			f.Node = &n.TerminalNode[t]
		}
		if n.Host != nil {
			f.Host = &n.Host[t]
		}
	}
	return f
}

// at is list[i], or zero for a list that is nil.
func at[E any, I ~int32](list []E, i I) E {
	var zero E
	if list == nil {
		return zero
	}
	return list[i]
}
