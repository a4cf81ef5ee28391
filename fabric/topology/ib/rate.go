package ib

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim"
)

// laneSpeed is one lane speed of InfiniBand: what ibnetdiscover calls it, what
// ibdiagnet's numeric form calls it, and the data rate of a lane in bit/s
// after line coding (InfiniBand Architecture Specification, volume 2, 5.2):
// 8b/10b up to QDR, 64b/66b from FDR10 to EDR; from HDR on the name gives the
// data rate, the raised signalling rate pays for coding and error correction.
// FDR's 14.0625 Gbaud x 64/66 does not divide; the fraction of a bit is cut.
type laneSpeed struct {
	name   string
	number string
	lane   sim.Rate
}

var speeds = []laneSpeed{
	{"SDR", "2.5", 2e9},
	{"DDR", "5", 4e9},
	{"QDR", "10", 8e9},
	{"FDR10", "10E", 10e9},
	{"FDR", "14", 0}, // see cableRate.data
	{"EDR", "25", 25e9},
	{"HDR", "50", 50e9},
	{"NDR", "100", 100e9},
	{"XDR", "200", 200e9},
}

// fdrSymbols is FDR's lane rate before coding, in symbols a second.
const fdrSymbols = 14_062_500_000

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
	width, speed, ok := strings.Cut(s, "x")
	lanes, err := strconv.Atoi(width)
	if ok && err == nil && (lanes == 1 || lanes == 2 || lanes == 4 || lanes == 8 || lanes == 12) {
		if strings.HasPrefix(speed, "Un") { // "Undefined (n)", "Unknown"
			return cableRate{text: unknownRate}, nil
		}
		for _, k := range speeds {
			if speed == k.name || speed == k.number {
				data := sim.Rate(lanes) * k.lane
				if k.name == "FDR" {
					data = sim.Rate(int64(lanes) * fdrSymbols * 64 / 66)
				}
				return cableRate{text: fmt.Sprintf("%dx%s", lanes, k.name), data: data}, nil
			}
		}
	}
	return cableRate{}, fmt.Errorf("rate %q: want a width of 1x, 2x, 4x, 8x or 12x and a speed of SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR", s)
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
