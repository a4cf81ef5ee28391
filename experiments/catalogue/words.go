package catalogue

import (
	"fmt"
	"text/tabwriter"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/experiments/verdict"
	"github.com/weft-sim/weft/fabric/measure"
	"github.com/weft-sim/weft/mpi/systems"
)

// commonColumns are columns of tables of every kind, and in front of all tables.
var commonColumns = []struct {
	file    string
	columns []experiments.Column
}{
	{"every table", []experiments.Column{
		{Name: "point", Doc: "number of the point, from 0 in the order of the sweep"},
		{Name: "seed", Doc: "seed of the point's random streams"},
	}},
	{"results.csv", []experiments.Column{
		{Name: "replications", Doc: "independent runs that the row sums up"},
	}},
	{"performance.csv", []experiments.Column{
		{Name: "events", Doc: "arrivals of flits and credits, and injections, or the events of the kernel"},
		{Name: "flit_hops", Doc: "flits that crossed a switch, counted at each; of kind flows packets that crossed a channel"},
		{Name: "wall_seconds", Doc: "time that the point took on this machine"},
		{Name: "peak_memory_mib", Doc: "largest memory of the process until the point was done"},
	}},
	{"failures.csv", []experiments.Column{
		{Name: "reason", Doc: "why the point could not be computed"},
	}},
}

// verdicts are the words of every judgement: of points, of targets, of differences,
// and the topics of weft check.
var verdicts = []struct {
	what  string
	facts []string
	words []term
}{
	{"a verdict on a point", []string{"column state", "more docs/model.md, The verdict"}, []term{
		{measure.Steady.String(), "queues have become stationary and what is accepted reaches what is offered: the network keeps up with the load, and the latencies of the row mean something"},
		{measure.Saturated.String(), "queues grow as long as the load goes on: more is offered than the network carries. Latencies of the row say how long the run was, and nothing else"},
		{measure.Undecided.String(), "the run does not tell whether the network keeps up: too short, or too close to the capacity. A longer measure.window, or measure.window = 0, decides; state_reason says what was missing"},
	}},
	{"the reason of a verdict on a point", []string{"column state_reason", "more docs/model.md, The verdict"}, []term{
		{measure.ByBound, "saturated: more is offered than the channels can carry, by a proven bound"},
		{measure.ByGrowth, "saturated: sources fall behind further and further"},
		{measure.ByDrain, "saturated: packets of the window had not arrived after twice its length"},
		{measure.ByTests, "steady: neither the backlog of the sources nor the latency grows, and what is accepted reaches what is offered"},
		{measure.ByPackets, "undecided: fewer than 100 packets were measured"},
		{measure.ByWindow, "undecided: the window has fewer than eight slices, or the run is shorter than a hundred longest packets of a terminal or four latencies of an idle network"},
		{measure.ByBacklog, "undecided: the backlog of the sources may be growing"},
		{measure.ByLatency, "undecided: the latency may be growing"},
		{measure.ByAccepting, "undecided: less is accepted than is offered, and no queue is seen to grow"},
	}},
	{"a verdict on a target of a paper", []string{"table verdicts.csv of weft reproduce"}, []term{
		{verdict.Met, "the measured value is within the tolerance of the target"},
		{verdict.Missed, "the measured value is outside the tolerance of the target"},
		{verdict.Refuted, "a count contradicts what the paper says, and no model could avoid it"},
		{verdict.Calibrated, "a parameter of the model was fitted to this row, which therefore proves nothing"},
		{verdict.Reported, "the row has no tolerance: the value stands beside the paper's"},
		{verdict.NotRun, "the run has none of the points that the row is about, as with --quick"},
	}},
	{"a judgement of weft compare", []string{"column judgement"}, []term{
		{results.Higher, "the difference is significant, and the second value is the higher one"},
		{results.Lower, "the difference is significant, and the second value is the lower one"},
		{results.Unclear, "chance alone may give the difference"},
		{results.Equal, "the same numbers on both sides, without any spread"},
		{results.NoInterval, "there is neither a confidence interval nor several seeds to judge by"},
		{"a saturated", "the time is that of a network that does not keep up, and not judged: a the first, b the second value, or both; so with undecided"},
		{results.Best, "--best: every other variant is significantly behind"},
		{results.Tie, "--best: not significantly different from the first"},
		{results.Behind, "--best: significantly worse than the first"},
		{results.Foremost, "--best: has the best value, and nothing to judge by"},
	}},
	{"a topic of weft check", nil, []term{
		{"faults", "what is broken from the start, and what becomes of it"},
		{"deadlock", "whether packets can wait for each other in a circle, from the dependencies between channels: exact, and the circle is shown if there is one. --allow-deadlock runs such a network all the same"},
		{"channels", "virtual channels that there are, and that the routing needs to be free from deadlock"},
		{"throughput", "the load from which on a channel cannot carry its share of the traffic, and which channel that is"},
		{"latency", "mean latency of a packet that meets no other"},
		{"cost", "flit-hops, time of one core and memory that the run takes, roughly"},
	}},
}

// term is a word of the field, or an abbreviation, as weft uses it.
type term struct{ word, doc string }

// terms is in alphabetical order, capitals counting as small letters.
var terms = []term{
	{"adaptive routing", "routing that chooses a packet's way by the state of the network, as UGAL and progressive adaptive routing do"},
	{"backlog", "how long the oldest packet of each source has waited; where it grows, the network does not keep up"},
	{"blame", "division of the latency of packets into parts, by channel and switch (docs/blame.md)"},
	{"certificate", "proof, made before a run, that no packets can wait for each other in a circle, or the circle"},
	{"channel", "one direction of a cable, from a port or terminal to another; has a latency and a rate"},
	{"channel dependency", "a packet can hold one channel while it waits for the other; where dependencies form a cycle, packets can deadlock (Dally and Seitz 1987)"},
	{"colour", "number of the row that a multicast tree takes in every forwarding table on its way"},
	{"credit", "permission to send one flit into a buffer at the far end of a channel; it comes back when the flit has left the buffer"},
	{"cut-through", "flow control under which the head of a packet goes on only where the whole packet fits"},
	{"dateline", "place on a ring at which packets change to another virtual channel, so that the ring is no cycle of channels"},
	{"deadlock", "packets that wait for each other in a circle, and never move again"},
	{"eager", "protocol of small messages: data are sent at once, into buffers that the receiver has posted"},
	{"EFI", "edge forwarding index: the number of multicast groups whose trees use a cable"},
	{"escape channel", "virtual channel with a routing free of deadlock of its own, which any packet can take when nothing else is free (Duato 1993)"},
	{"flit", "flow control digit: what a channel carries in a cycle and a buffer holds in a slot; packets consist of flits"},
	{"flit-hop", "a flit crossing a switch; the unit of what a simulation costs"},
	{"GOAL", "format of communication schedules as dependency graphs (Hoefler et al. 2009), which LogGOPSim and weft replay"},
	{"GUID", "64-bit name of an InfiniBand device or port"},
	{"HCA", "host channel adapter: the InfiniBand interface of a node, with its queue pairs"},
	{"idle latency", "latency of a packet that meets no other"},
	{"injection", "entry of a packet from its terminal into the network"},
	{"knee", "load at which a network ceases to keep up, and latency begins to grow without bound"},
	{"LFT", "linear forwarding table: of a switch, the port for every destination LID"},
	{"LID", "local identifier: the 16-bit address of a port in an InfiniBand subnet"},
	{"LMC", "LID mask control: a port answers to 2^LMC consecutive LIDs, which can have ways of their own"},
	{"LogGOPS", "LogGP with O, time of a CPU for each byte, and S, the size from which messages go by rendezvous (Hoefler et al. 2010)"},
	{"LogGP", "model of messages by latency L, overhead o, gap g, and gap for each byte G, on P processors (Alexandrov et al. 1995)"},
	{"LSS", "an all-to-all by direct writes with few handshake messages; see skeleton osu-alltoall with algorithm alltoall-lss"},
	{"MFT", "multicast forwarding table: of a switch, the ports for every multicast address"},
	{"MGID", "128-bit name of a multicast group"},
	{"MLID", "multicast local identifier: the address of a multicast group in a subnet, from 0xC000 on; number of its row in the forwarding tables"},
	{"MSER-5", "rule that finds the end of a warm-up: the truncation with the least standard error of the mean of batches of five (White, Cobb and Spratt 2000)"},
	{"MTU", "maximum transfer unit: the largest payload of a packet"},
	{"oblivious routing", "routing that does not look at the state of the network; the load of its channels can be computed before a run"},
	{"OpenSM", "the subnet manager of the OpenFabrics project, which computes forwarding tables of InfiniBand fabrics"},
	{"packet", "what is routed as a whole: a number of flits with one destination"},
	{"PLP", "an all-to-all by as many leaders a node as the size of the blocks asks for; algorithm alltoall-plp"},
	{"point", "one combination of the swept settings, and its row of results"},
	{"QP", "queue pair: a send and a receive queue of an HCA; an end of a connection"},
	{"RC", "reliable connection: transport service with a QP on each side for every pair of processes"},
	{"RDMA", "remote direct memory access: an HCA writes into another node's memory without its CPU"},
	{"rendezvous", "protocol of large messages: a request (RTS), an answer with the address (CTS), an RDMA write, and an end (FIN)"},
	{"replication", "independent run of the same point with another seed; intervals come from their spread"},
	{"RTS, CTS, FIN", "control messages of the rendezvous protocol: request to send, clear to send, finished"},
	{"saturation", "state of a network to which more is offered than it carries; see the verdict saturated"},
	{"SL, VL", "service level of a packet and virtual lane of a channel: InfiniBand's names for a class of packets and for a virtual channel"},
	{"speedup", "steps of a switch core in a cycle of the channels"},
	{"SRQ", "shared receive queue: receive buffers that several QPs take from"},
	{"terminal", "end point of a network: sends and receives packets; a node with its adapter"},
	{"TFI", "tree forwarding index: the number of multicast groups on one tree"},
	{"UD", "unreliable datagram: transport service in which one QP reaches all others"},
	{"UGAL", "universal globally-adaptive load-balancing: each packet goes minimally or by Valiant's way, by a comparison of queues (Singh 2005); -L looks at local queues, -G at all"},
	{"Valiant routing", "minimal to a random intermediate group or switch, then minimal to the destination: spreads any traffic (Valiant and Brebner 1981)"},
	{"VC, virtual channel", "one of several queues with credits of their own that share a channel"},
	{"verdict", "steady, saturated or undecided: what a run says about whether the network keeps up; also what weft reproduce says of a target"},
	{"warm-up", "cycles before the measured window, in which the network fills"},
	{"window", "the cycles that are measured"},
	{"wormhole", "flow control under which flits of a packet follow as credits come; a packet may lie over several switches"},
	{"XGFT", "extended generalised fat tree: a tree of h levels in which a switch has m children and w parents, by level (Öhring et al. 1995)"},
	{"XRC", "extended reliable connection: a QP reaches all processes of a node"},
}

// systemsCategory is the category of presets of machines, of which there is more to say than their settings.
const systemsCategory = "systems"

// listErrors says how far a preset is from measurements, and what of it is not known.
func listErrors(t *tabwriter.Writer, name string) {
	p, err := systems.Registry.New(name, struct{}{})
	if err != nil {
		return
	}
	for _, e := range p.Errors() {
		fmt.Fprintf(t, "  \t  %s, %s: median of errors %s %%, nine in ten within %s %%, %s rows\n", e.Class, e.Sizes, e.Median, e.P90, e.Rows)
	}
	if len(p.Errors()) == 0 {
		fmt.Fprintf(t, "  \t  held against no row\n")
	}
	if p.Unknown != "" {
		fmt.Fprintf(t, "  \t  not known: %s\n", p.Unknown)
	}
}

// sources are the values of a preset with where they come from.
func sources(name string) (facts []string) {
	p, err := systems.Registry.New(name, struct{}{})
	if err != nil {
		return nil
	}
	for _, v := range p.Value {
		facts = append(facts, fmt.Sprintf("%s %s; %s", v.Key, v.Value, v.Source))
	}
	for _, f := range p.Fitted {
		facts = append(facts, fmt.Sprintf("fitted %s", f))
	}
	return facts
}
