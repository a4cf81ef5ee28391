package routes

import "github.com/weft-sim/weft/experiments"

// Loads are the mean over the draws of the demand, in full rates of an adapter: at 1 a
// cable as fast as the fastest adapter is full.
func init() {
	const load = "in full rates of an adapter, mean over the draws"
	engine := experiments.Column{Name: "engine", Doc: "engine, and the pattern where there are several"}
	share := experiments.Column{Name: "load_share", Doc: "load of the direction of a cable, " + load}
	from := experiments.Column{Name: "cable_from", Doc: "port out of which the cable leads"}
	to := experiments.Column{Name: "cable_to", Doc: "port to which it leads"}
	bound := experiments.Column{Name: "throughput_bound", Doc: "share of what they want to send that all terminals can send before the first cable is full, mean over the draws"}
	hottest := experiments.Column{Name: "hottest_cable", Doc: "direction of a cable with the highest load_share"}
	pattern := experiments.Column{Name: "pattern", Doc: "pattern of traffic"}
	for name, d := range map[string]experiments.FurtherDescription{
		"engines.csv": {Doc: "engines side by side, a row for each pattern and engine", Columns: []experiments.Column{
			engine, pattern,
			{Name: "status", Doc: "ok, or refused, with the reason under note"},
			{Name: "pairs_without_path", Doc: "pairs of adapter ports that the tables do not join"},
			{Name: "hops_mean", Doc: "cables between switches on a path, mean over all pairs of terminals"},
			{Name: "hops_max", Doc: "the same of the longest path"},
			{Name: "cable_load_mean", Doc: "mean over the directions of all cables, " + load},
			{Name: "fullest_cable_load", Doc: "load of the fullest cable of each draw, whichever that is, " + load + "; at least hottest_cable_load, of one cable"},
			{Name: "idle_cables", Doc: "directions of cables that carry nothing in any draw"},
			bound,
			{Name: "throughput_least", Doc: "throughput_bound of the worst draw"},
			{Name: "service_levels", Doc: "service levels that paths use"},
			{Name: "lanes", Doc: "virtual lanes that they need"},
			{Name: "deadlock", Doc: "free, or the length of the shortest cycle of channels"},
			hottest,
			{Name: "hottest_cable_load", Doc: "load_share of hottest_cable: its load, in full rates of an adapter, mean over the draws"},
			{Name: "note", Doc: "why the engine refuses, or where the tables may differ from OpenSM's"},
		}},
		"jobs.csv": {Doc: "what each job of --jobs gets, a row for each job and engine", Columns: []experiments.Column{
			{Name: "job", Doc: "name of the job"}, engine,
			{Name: "hosts", Doc: "hosts of the job"}, pattern,
			{Name: "load_share", Doc: "share of its full rate that each terminal of the job wants to send"},
			bound,
			{Name: "throughput_alone", Doc: "the same without the other jobs"}, hottest,
		}},
		"cables.csv": {Doc: "load of every direction of every cable, a column for each engine", Columns: []experiments.Column{
			{Name: "from", Doc: "switch out of which the cable leads"}, {Name: "from_port", Doc: "its port"},
			{Name: "to", Doc: "switch to which it leads"}, {Name: "to_port", Doc: "its port"},
			{Name: "load_share", Doc: share.Doc + "; followed by the engine's name"},
		}},
		"hottest.csv": {Doc: "the hottest cables of each engine, under every engine", Columns: []experiments.Column{from, to, engine, pattern, share}},
		"histogram.csv": {Doc: "directions of cables by load, in the same bins for all engines", Columns: []experiments.Column{
			engine,
			{Name: "load_from_share", Doc: "lower end of the bin, in full rates of an adapter"},
			{Name: "load_to_share", Doc: "upper end of the bin"},
			{Name: "cables", Doc: "directions of cables in the bin"},
		}},
	} {
		experiments.DescribeCommandTable("weft routes", name, d)
	}
}
