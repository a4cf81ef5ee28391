package routing

// What routings of other packages need of this one.

// CheckVCs reports that routing name needs more virtual channels than env grants or
// than there can be.
func CheckVCs(name string, need int, env Env) error { return checkVCs(name, need, env) }

// ClassVCs is the set of virtual channels of class c when vcs channels are divided
// evenly among so many classes; with fewer channels than classes, the highest classes
// share the last channel.
func ClassVCs(c, classes, vcs int) uint32 { return classVCs(c, classes, vcs) }
