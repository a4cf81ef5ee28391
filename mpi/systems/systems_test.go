package systems

import (
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sim/weft/fabric/hca"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestLayers: values of a library hold against those of a machine, and those of a transport over it only.
func TestLayers(t *testing.T) {
	p := &Preset{Transport: "ucx", Value: []Value{{Key: "hca.preset", Value: "edr"}, {Key: "protocol.send_overhead", Value: "1us"}, {Key: "hca.mtu", Value: "2KiB"}}}
	library := &Preset{Value: []Value{{Key: "protocol.send_overhead", Value: "2us"}, {Key: "protocol.send_overhead", Value: "3us", Transport: "verbs"}, {Key: "memory.domains", Value: "2"}, {Key: "protocol.eager_copies", Value: "false"}, {Key: "hca.payload_share", Value: "0.5"}, {Key: "protocol.rendezvous", Value: "read"}}}
	for transport, want := range map[string]sim.Time{"": 2 * sim.Microsecond, "verbs": 3 * sim.Microsecond} {
		values := p.With(library, transport)
		adapter, protocol, memory := hca.HDR, mpi.DefaultProtocols, mpi.DefaultMemory
		m := Machine{HCA: &adapter, Protocol: &protocol, Memory: &memory, Workload: &struct{}{}}
		m.Set(values, func(key string) bool { return key == "hca.mtu" })
		bad := protocol.SendOverhead != want || protocol.EagerCopies || protocol.Rendezvous != "read" || memory.Domains != 2 || adapter.PayloadShare != 0.5 || adapter.MTU != hca.HDR.MTU || Adapter(values) != "edr"
		simtest.ErrorIf(t, bad, "%q: %+v %+v %+v", transport, protocol, memory, adapter)
	}
}

// TestWays: near are two cables and a switch, far four and three.
func TestWays(t *testing.T) {
	w := Ways{CableLatency: 10, SwitchLatency: 100}
	simtest.ErrorIf(t, w.Near() != 120 || w.Far() != 340, "near %d, far %d; want 120, 340", w.Near(), w.Far())
	w.SpineLatency = 50
	simtest.ErrorIf(t, w.Near() != 120 || w.Far() != 420, "near %d, far %d with long cables between switches; want 120, 420", w.Near(), w.Far())
}

// TestLibraryFor: versions up to 4.0 have rules of their own.
func TestLibraryFor(t *testing.T) {
	for version, want := range map[string]string{"3.1.6": "open-mpi-4.0", "4.0.3": "open-mpi-4.0", "4.1.6": "open-mpi", "5.0.8": "open-mpi", "": "open-mpi"} {
		simtest.Equal(t, LibraryFor("open-mpi", version), want, "%q:", version)
	}
}

// TestErrors: errors.csv is of presets that there are, and 90 % are not below the median.
func TestErrors(t *testing.T) {
	n := 0
	for _, name := range Registry.Names() {
		p := simtest.Must(Registry.New(name, struct{}{}))(t)
		for _, e := range p.Errors() {
			n++
			median, err1 := strconv.ParseFloat(e.Median, 64)
			p90, err2 := strconv.ParseFloat(e.P90, 64)
			simtest.ErrorIf(t, err1 != nil || err2 != nil || p90 < median, "%s: %+v", name, e)
		}
	}
	lines := strings.Count(measured, "\n")
	simtest.ErrorIf(t, n == 0 || n != lines-1, "%d rows of presets, %d lines", n, lines)
}
