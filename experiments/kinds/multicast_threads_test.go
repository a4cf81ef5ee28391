package kinds

import (
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/sim/simtest"
)

// groupNetworks and groupMessages are groups on networks that fall into parts in different
// ways, and what they send: by the network or by their members, one after the other and
// with pauses, with overheads that allow long windows and without any, alone and beside
// unicast packets.
var groupNetworks = []struct{ name, text string }{
	{"torus", "[topology]\ntype = \"torus\"\ndims = [4, 4]\nterminals = 2\n[routing]\ntype = \"dor\"\n"},
	{"tree", "[topology]\ntype = \"fat-tree\"\nk = 4\nn = 3\n[routing]\ntype = \"nca\"\n[channel.level1]\nlatency = \"160ns\"\n"},
	{"dragonfly", "[topology]\ntype = \"dragonfly\"\np = 1\na = 4\nh = 2\n[routing]\ntype = \"min\"\n[channel.global]\nlatency = \"80ns\"\n"},
}

var groupMessages = []struct{ name, text string }{
	{"multicast", "bytes = \"4KiB\"\nrotate = true\nthink = \"0us\"\n"},
	{"multicast among unicast", "bytes = \"9KiB\"\nthink = \"1us\"\nunicast_load = 0.2\nunicast_flits = 4\n"},
	{"multicast without overheads", "bytes = \"2KiB\"\nthink = \"0us\"\nunicast_load = 0.1\n[host]\nsend_overhead = \"0ns\"\nreceive_overhead = \"0ns\"\n"},
	{"multicast from slow terminals", "bytes = \"256B\"\nthink = \"0us\"\nrotate = true\nunicast_load = 0.012\nunicast_flits = 4\n[host]\ndma_rate = \"10Tb/s\"\nsend_overhead = \"0ns\"\nreceive_overhead = \"200ns\"\n[channel.terminal]\ncycles_per_flit = 50\n"},
	{"tree of sends", "bytes = \"5KiB\"\ncarrier = \"broadcast-binomial\"\nrotate = true\n"},
	{"scattered", "bytes = \"5KiB\"\ncarrier = \"broadcast-scatter-allgather\"\nunicast_load = 0.1\n[host]\nreceive_overhead = \"10ns\"\nsend_overhead = \"0ns\"\n"},
}

// TestMulticastThreads: the number of threads does not change a digit: the times of every
// group, the flits of every channel, deliveries, packets beside the messages, cycles.
func TestMulticastThreads(t *testing.T) {
	divideAlways(t)
	for i, network := range groupNetworks {
		for j, messages := range groupMessages {
			text := "kind = \"multicast-latency\"\n[switch]\nbuffer_flits = 64\n[groups]\npattern = \"random\"\ngroups = 8\njoins = 3\n[measure]\ngroups = true\nlinks = true\n" +
				network.text + "[messages]\ncount = 2\nwarmup = 1\nspread = \"2us\"\n" + messages.text
			sameOnThreads(t, messages.name+" on "+network.name, load(t, text, experiments.Options{}), simtest.Threads(t, i+j), true, "groups", "links")
		}
	}
}
