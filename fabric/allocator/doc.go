// Package allocator holds the switch allocators that experiment files can name: in
// each step of a switch core, an allocator chooses which flits cross the switch.
// One file is one allocator. docs/model.md says how the switch uses them, and
// package allocatortest holds them to their promises.
package allocator
