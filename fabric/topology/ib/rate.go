package ib

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/fabric/topology"
	"github.com/weft-sim/weft/sim"
)

// cableRate is the width and speed of a cable as a dump states them. The zero
// value says that it states none.
type cableRate struct {
	text string // canonical: "4xQDR"
	data sim.Rate
}

const unknownRate = "unknown"

// parseRate reads "4xFDR10"; ibdiagnet's numbers ("4x25") are understood
// too. Rates that the tool itself could not name ("4x???") are known to be
// unknown: text is "unknown", no error.
func parseRate(s string) (cableRate, error) {
	if strings.Contains(s, "?") {
		return cableRate{text: unknownRate}, nil
	}
	name, data, err := topology.ParseLink(s)
	if err == nil {
		return cableRate{name, data}, nil
	}
	if width, speed, _ := strings.Cut(s, "x"); strings.HasPrefix(speed, "Un") { // "Undefined (n)", "Unknown"
		if _, _, err := topology.ParseLink(width + "xSDR"); err == nil {
			return cableRate{text: unknownRate}, nil
		}
	}
	return cableRate{}, fmt.Errorf("rate %w", err)
}

// looksLikeRate tells whether a word of a port line's comment is meant as the
// cable's width and speed.
func looksLikeRate(word string) bool {
	width, _, ok := strings.Cut(word, "x")
	if _, err := strconv.Atoi(width); ok && err == nil {
		return true
	}
	return strings.HasPrefix(word, "??")
}
