// Package otf2 reads traces in the Open Trace Format 2, as Score-P writes them: of every
// location, its events with their times. What is read is what the messages and collectives
// of MPI's ranks take: little endian, one file a location, not compressed.
package otf2
