package experiments

// ProcessorSeconds is the processor time that this process has used, 0 where the
// system does not tell.
func ProcessorSeconds() float64 { return cpuSeconds() }
