package collectives

func init() {
	registerLeaders("alltoall-one-leader", "alltoall: one leader a node gathers, exchanges and scatters aggregated blocks",
		func(int, int64, int64) int { return 1 })
}
