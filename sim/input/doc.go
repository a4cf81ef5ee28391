// Package input reads what users hand in: files of any packing within limits, text in
// the encodings that people's editors write, and estimates of the memory that their
// settings would take, before any is.
package input
