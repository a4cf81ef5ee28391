package kinds

import "github.com/weft-sim/weft/experiments"

func init() {
	job := experiments.Column{Name: "job", Doc: "name of its table, or in a batch list"}
	experiments.DescribeTable("jobs", experiments.FurtherDescription{Doc: "what each job takes beside the others and alone", Columns: []experiments.Column{
		job,
		{Name: "program", Doc: "what its ranks do"},
		{Name: "placement", Doc: "how its hosts were chosen"},
		{Name: "ranks", Doc: "their number"},
		{Name: "start_s", Doc: "when it begins"},
		{Name: "runs", Doc: "how often all of its ranks went through the program, mean over replications"},
		{Name: "elapsed_s", Doc: "from its start to the end of its last run, beside the others"},
		{Name: "elapsed_ci95_s", Doc: "half-width of the 95 % confidence interval, from the spread of the replications; empty for a single one"},
		{Name: "alone_s", Doc: "the same as elapsed_s, alone on the same hosts; empty for a background"},
		{Name: "slowdown", Doc: "the one by the other, in the mean of replications; where the job runs until a time, of as many runs as it has alone"},
		{Name: "slowdown_ci95", Doc: "half-width of its 95 % confidence interval"},
		{Name: "messages", Doc: "that its adapters sent beside the others in all replications: eager ones and, of rendezvous, requests, replies, data and ends"},
		{Name: "message_p99_s", Doc: "99th percentile of the time from an adapter's request until the message is in the memory of the receiver, within 0.4 %"},
		{Name: "message_p99_alone_s", Doc: "the same, alone"},
	}})
	experiments.DescribeTable("job_ranks", experiments.FurtherDescription{Doc: "where every rank was and when it was through, in the first replication", Columns: []experiments.Column{
		job,
		{Name: "rank", Doc: "within the job"},
		{Name: "host", Doc: "its number"},
		{Name: "finish_ns", Doc: "when it was through, beside the others"},
		{Name: "alone_ns", Doc: "when it was through, alone"},
	}})
	experiments.DescribeTable("job_blame", experiments.FurtherDescription{Doc: "who slows whom, and at which cables, in the first replication", Columns: []experiments.Column{
		job,
		{Name: "slowed_by", Doc: "the job that was added to it and those before"},
		{Name: "from", Doc: "port or terminal that the channel leads out of; empty: all channels with a small share, and what is no waiting"},
		{Name: "to", Doc: "port or terminal that it leads to"},
		{Name: "channel_class", Doc: "class of the channel, as the topology names it, or others"},
		{Name: "slower_s", Doc: "by how much the job takes longer for that; negative: less long"},
		{Name: "slowdown", Doc: "the same, in times that it takes alone: a job's rows add up to its slowdown less 1"},
		{Name: "share", Doc: "of what the one job does to the other"},
	}})
	experiments.DescribeTable("batch", experiments.FurtherDescription{Doc: "when and where the jobs of a batch list ran, in seconds of the list", Columns: []experiments.Column{
		job,
		{Name: "program", Doc: "what its ranks did"},
		{Name: "nodes", Doc: "hosts that it asked for"},
		{Name: "submit_s", Doc: "when it came, after the first"},
		{Name: "wait_s", Doc: "from then until its start"},
		{Name: "start_s", Doc: "when it got its hosts"},
		{Name: "end_s", Doc: "when it gave them back"},
		{Name: "hosts", Doc: "their numbers, such as 0-3,7, in the last replication"},
		{Name: "slowdown", Doc: "of its program, as in jobs.csv"},
	}})
}
