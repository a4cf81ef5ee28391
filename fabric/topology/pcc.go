package topology

import (
	"github.com/weft-sim/weft/sim/param"
)

// PCCConfig configures the topology "pcc".
type PCCConfig struct {
	M     int `toml:"m" doc:"ports of a switch and of a processor; m-1 a prime power for sigma = 1; 4, 5, 6 or 9 for sigma = 2" unit:"ports" min:"3" max:"128"`
	Sigma int `toml:"sigma" doc:"switches that two processors share" min:"1" max:"2"`
}

func init() {
	param.Register(Registry, "pcc", "simplest system network PCC(N, m, sigma): a symmetric block design of m-port processors and m x m switches (Podlazov 2012)",
		PCCConfig{M: 3, Sigma: 1},
		func(c PCCConfig, _ struct{}) (Topology, error) { return asTopology(NewPCC(c)) })
}

// NewPCC builds PCC(N, m, sigma), N = m(m-1)/sigma + 1: N processors of m
// ports and N switches of m ports, joined where the block design says so.
//
// In the graph a processor is a switch node (its m-port adapter: the
// splitter/joiner that works on all ports at once) with one terminal. That is
// PK_1, so a [DistributedSwitch] of one cascade stands for it; nodes 0..N-1
// are the processors, N..2N-1 the switches. A processor forwards nothing: a
// routing that leads through one uses the detours that the paper leaves to
// software.
//
// Closed forms: 2N nodes, N*m cables, any two terminals 2 cables apart.
func NewPCC(c PCCConfig) (*DistributedSwitch, error) {
	design, err := NewDesign(c.M, c.Sigma)
	if err != nil {
		return nil, err
	}
	s := &DistributedSwitch{design: design, levels: []int{c.M, design.points}, extra: [][]int{nil, nil}, place: [][]int{nil, nil}}
	if err := s.freeze(); err != nil {
		return nil, err
	}
	return s, nil
}
