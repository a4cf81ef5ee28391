// Package booksim holds weft against curves measured with BookSim2 (Jiang, Becker,
// Michelogiannakis, Balfour, Towles, Kim and Dally, ISPASS 2013): it reads a
// folder of curves with their configuration files, says by parameters alone which
// experiment of weft's is the same network, switch and traffic, and judges the
// results.
//
// The facts about BookSim2's settings are those of its public snapshot of
// 2017-06-27. curves holds measurements with it: configuration files as they were
// given to it, a CSV table for each curve, and longpackets_seeds.csv, in which every
// load was run with five seeds.
package booksim
