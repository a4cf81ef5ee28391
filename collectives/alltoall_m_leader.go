package collectives

func init() {
	registerLeaders("alltoall-m-leader", "alltoall: every rank of a node leads, each for the ranks of its index on the other nodes",
		func(perNode int, _, _ int64) int { return perNode })
}
