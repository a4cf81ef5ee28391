// Package reference answers questions about experiment files and results from the
// declarations that read and write them: what a word means ([Explain]), what a file
// may hold ([Schema]), and how one begins ([Start]).
package reference
