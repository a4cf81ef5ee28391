package opensm

import "github.com/weft-sim/weft/fabric/topology"

// Options are the settings of OpenSM's configuration that change what an engine
// computes, under the names that they have there. The zero value is not the
// default: use [DefaultOptions].
type Options struct {
	Roots          []uint64 // root_guid_file: GUIDs of switches
	HasRoots       bool     // the file is given; it may be empty
	ComputeNodes   []uint64 // cn_guid_file: GUIDs of adapter ports (ftree)
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
func DefaultOptions() Options {
	return Options{NueMaxVLs: 1, OperationalVLs: 8}
}

// PlaceOn takes the coordinates of a network that has some, for torus-2QoS without a
// torus_config.
func (o *Options) PlaceOn(s *Subnet, network topology.Topology) {
	if grid, ok := network.(topology.Grid); ok && o.Torus == nil {
		o.grid = gridOf(s, grid)
	}
}
