package topology

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
	{"FDR", "14", 0}, // see ParseLink
	{"EDR", "25", 25e9},
	{"HDR", "50", 50e9},
	{"NDR", "100", 100e9},
	{"XDR", "200", 200e9},
}

// fdrSymbols is FDR's lane rate before coding, in symbols a second.
const fdrSymbols = 14_062_500_000

// ParseLink reads the width and speed of an InfiniBand link, "4xHDR", or with
// ibdiagnet's number for the speed, "4x50". It returns the name in the first form and
// the data rate, line coding taken off.
func ParseLink(s string) (name string, rate sim.Rate, err error) {
	width, speed, ok := strings.Cut(s, "x")
	lanes, err := strconv.Atoi(width)
	if ok && err == nil && (lanes == 1 || lanes == 2 || lanes == 4 || lanes == 8 || lanes == 12) {
		for _, k := range speeds {
			if speed == k.name || speed == k.number {
				rate = sim.Rate(lanes) * k.lane
				if k.name == "FDR" {
					rate = sim.Rate(int64(lanes) * fdrSymbols * 64 / 66)
				}
				return fmt.Sprintf("%dx%s", lanes, k.name), rate, nil
			}
		}
	}
	return "", 0, fmt.Errorf("%q: want a width of 1x, 2x, 4x, 8x or 12x and a speed of SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR", s)
}
