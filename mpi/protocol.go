package mpi

// Protocol is how a message travels.
type Protocol uint8

// Auto leaves the choice to the message's size.
const Auto Protocol = 0
