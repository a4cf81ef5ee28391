package routing

import "github.com/weft-sim/weft/fabric"

// UGALQueues are the settings of UGAL outside of groups: what is compared, and where.
type UGALQueues struct {
	Sensing    string `toml:"sensing" doc:"what a queue length is: flits waiting in the switch for the output; credits outstanding behind it; or both" choices:"waiting|credits|both"`
	Threshold  int    `toml:"threshold" doc:"offset T: minimal if q_m*H_m <= q_nm*H_nm + T" unit:"flits" min:"-1000000" max:"1000000"`
	Candidates int    `toml:"candidates" doc:"Valiant paths drawn for each packet; the best is compared" min:"1" max:"64"`
	Decision   string `toml:"decision" doc:"decisions of a cycle at a switch: greedy, all of them see the queues at its beginning; sequential, each sees those made before it" choices:"greedy|sequential"`
	DecidedAt  string `toml:"decided_at" doc:"where: at the terminal, a cycle before the packet enters its channel; or at the switch, as the packet arrives" choices:"terminal|switch"`
}

func defaultQueues() UGALQueues {
	return UGALQueues{Sensing: "waiting", Candidates: 1, Decision: "greedy", DecidedAt: "terminal"}
}

// queueReader is what a routing with these settings tells the fabric.
type queueReader struct {
	queues UGALQueues
	sense  sensing
}

func newQueueReader(queues UGALQueues) queueReader {
	return queueReader{queues, senses[queues.Sensing]}
}

// Needs implements [fabric.Needer].
func (q queueReader) Needs() fabric.Needs {
	needs := q.sense.needs()
	needs.Departs = q.queues.DecidedAt == "terminal"
	needs.Greedy = q.queues.Decision == "greedy" && !needs.Departs
	return needs
}
