// Package mem speeds up the reading of memory: it asks for cache lines before they
// are needed, and for large pages; and it lets large data lie in files. Nothing of it
// changes a result.
//
// Reading memory that is not in a cache takes a hundred times as long as what is
// done with it, and the state of ten thousand terminals is in none. What is needed
// next is often known before it is its turn.
package mem
