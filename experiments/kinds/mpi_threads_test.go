package kinds

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/sim/simtest"
)

// threaded are programs whose parts hear of each other in all the ways that there are:
// eagerly, by rendezvous, by writes and their acknowledgements, over relays, through
// shared memory; with noise, and with memory that copies share.
var threaded = []struct{ name, text string }{
	{"rendezvous", "[workload]\ntype = \"osu-alltoall\"\niterations = 1\nbytes = \"9KiB\"\n"},
	{"eager", "[workload]\ntype = \"osu-alltoall\"\niterations = 2\nbytes = \"512B\"\n[noise]\nstart_skew = \"2us\"\ncall = \"100ns\"\n"},
	{"direct writes", "[workload]\ntype = \"fft3d\"\nn = 40\niterations = 1\n"},
	{"relays", "[workload]\ntype = \"osu-alltoall\"\niterations = 1\nbytes = \"9KiB\"\n[connections]\ngroup = 4\nproxy = true\n"},
	{"on demand", "[workload]\ntype = \"osu-alltoall\"\niterations = 1\nbytes = \"100B\"\n[connections]\ngroup = 4\nmode = \"xrc-s\"\n"},
	{"datagrams", "[workload]\ntype = \"osu-alltoall\"\niterations = 1\nbytes = \"1KiB\"\n[connections]\nmode = \"ud\"\n"},
	{"memory", "[workload]\ntype = \"osu-alltoall\"\niterations = 1\nbytes = \"1KiB\"\n[memory]\nbandwidth = \"60Gb/s\"\n"},
	{"halo", "[workload]\ntype = \"halo\"\niterations = 2\ncompute = \"10us\"\ndims = [4, 8]\n"},
}

var threadedNetworks = []struct{ name, text string }{
	{"dragonfly", "[topology]\ntype = \"dragonfly\"\np = 1\na = 4\nh = 2\n[routing]\ntype = \"ugal-l\"\n[fabric]\nflit_bytes = \"256B\"\nclock = \"64ns\"\n"},
	{"tree", "[topology]\ntype = \"fat-tree\"\nk = 4\nn = 3\n[routing]\ntype = \"nca\"\n[fabric]\nflit_bytes = \"256B\"\nclock = \"64ns\"\n[channel.level1]\nlatency = \"320ns\"\n"},
	{"torus of lanes", "[topology]\ntype = \"torus\"\ndims = [4, 4]\nterminals = 1\n[routing]\ntype = \"dor\"\n[switch]\nflow_control = \"cut-through\"\nbuffer_flits = 64\noutput_buffer_flits = 4\nvlarb_low = \"0:192,1:64\"\n[terminal]\nvlarb_high = \"1:9\"\nvlarb_low = \"0:9\"\nvl_high_limit = 1\n[fabric]\nflit_bytes = \"128B\"\nclock = \"32ns\"\n"},
	{"torus of packets", "[topology]\ntype = \"torus\"\ndims = [4, 4]\nterminals = 1\n[routing]\ntype = \"val\"\n[switch]\nflow_control = \"cut-through\"\nhold = true\nbuffer_flits = 64\n[fabric]\nunit = \"packet\"\nflit_bytes = \"128B\"\nclock = \"32ns\"\n"},
}

// TestMPIThreads: the number of threads does not change a digit of a program's times
// and counts.
func TestMPIThreads(t *testing.T) {
	divideAlways(t)
	for i, network := range threadedNetworks {
		if testing.Short() && network.name != "tree" { // with the race detector
			continue
		}
		for j, program := range threaded {
			text := "kind = \"mpi\"\n[job]\nranks = 32\nmachine = \"fabric\"\nfinish_times = true\n[placement]\nper_node = 2\n" + program.text + network.text
			sameOnThreads(t, program.name+" on "+network.name, load(t, text, experiments.Options{}), simtest.Threads(t, i+j), true, "ranks")
		}
	}
}

// What cannot be divided runs on one thread and says why.
func TestMPIOnOneThread(t *testing.T) {
	divideAlways(t)
	for text, want := range map[string]string{
		"[job]\nmachine = \"loggp\"\n": "loggp",
		"[job]\nmachine = \"fabric\"\n[placement]\nper_node = 1\n[topology]\nterminals = 16\n":                                                                                                                                                       "one switch",
		"[job]\nmachine = \"fabric\"\n[placement]\nper_node = 1\n[topology]\ntype = \"fat-tree\"\nk = 4\nn = 3\n[routing]\ntype = \"nca\"\n[protocol]\nacknowledge = \"0ns\"\n":                                                                      "protocol.acknowledge",
		"[job]\nmachine = \"fabric\"\n[placement]\nper_node = 1\n[topology]\ntype = \"fat-tree\"\nk = 4\nn = 3\n[routing]\ntype = \"nca\"\n[workload]\ntype = \"halo\"\ndims = [4, 4]\niterations = 2\n[connections]\ngroup = 4\ntear_down = true\n": "tear_down",
	} {
		o := execute(t, load(t, "kind = \"mpi\"\n"+text, experiments.Options{}), experiments.Execution{Threads: 2})
		if len(o.OnOneThread) != 1 || !strings.Contains(fmt.Sprint(o.OnOneThread), want) {
			t.Errorf("%s\nsays %v, want %q", text, o.OnOneThread, want)
		}
		if o = execute(t, load(t, "kind = \"mpi\"\n"+text, experiments.Options{}), experiments.Execution{Threads: 1}); len(o.OnOneThread) > 0 {
			t.Errorf("one thread was asked for: %v", o.OnOneThread)
		}
	}
}
