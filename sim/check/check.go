// Package check is the checked build, made with -tags weftcheck: whether this is one, and
// arrays whose bounds are checked in it only. What is left out of other builds, because it
// costs a fifth of a simulator's instructions, is thus done by tests.
package check
