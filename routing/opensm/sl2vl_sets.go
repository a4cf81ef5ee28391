package opensm

// SL2VLSets are the tables of service levels to virtual lanes in OpenSM's
// configuration: qos_sl2vl, and those of adapters (qos_ca_), port 0 of switches
// (qos_sw0_) and other ports of switches (qos_swe_). Those that are nil are the
// first, that is by default 0 to 14 and 7.
type SL2VLSets struct {
	All, Adapter, SwitchZero, SwitchPort *[16]uint8
}

// defaultSL2VL is OpenSM's own.
var defaultSL2VL = [16]uint8{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 7}

// dropped is the lane of packets that a port must drop.
const dropped = 15

// written is a table as a port with so many data lanes gets it.
func written(vls int, tables ...*[16]uint8) [16]uint8 {
	table := defaultSL2VL
	for _, t := range tables {
		if t != nil {
			table = *t
			break
		}
	}
	for sl, vl := range table {
		if vl != dropped {
			table[sl] = vl & uint8(vls-1)
		}
	}
	return table
}
