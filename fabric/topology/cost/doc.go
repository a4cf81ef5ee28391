// Package cost lays a network out on the floor of a machine room and counts what it takes:
// cabinets, cables by length and kind, watts and price, by settings that the user can change.
package cost
