// Package netmap draws networks: switches where their family's layout places them,
// cables between them, coloured by class or by the load of their channels, as SVG
// with a name on every element, PNG or PDF.
package netmap
