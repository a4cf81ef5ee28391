// Package snapshot writes the state of simulations as bytes and reads it back.
//
// [Value] archives all fields of a type, in both directions. What needs code has one method
// for both, which is called by Value, too:
//
//	func (p *probe) Archive(a *snapshot.Archive) {
//		snapshot.Int(a, &p.sent)
//		snapshot.Int(a, &p.ahead)
//	}
//
// so that what is written and what is read cannot drift apart. The form is that of
// variable-length integers (encoding/binary) and is the same on every machine. It says
// nothing of types: whoever stores it keeps the version of the program beside it, as a
// [File] does. A state is trusted: it breaks whoever reads it as another type's. Package
// snapshottest finds fields that a method has forgotten.
package snapshot
