package multicast

import (
	"time"
)

// Metrics are the figures of a forest.
type Metrics struct {
	Groups int
	Trees  int
	// Colours is the number of MFT entries needed: colours with a tree. Since
	// engines take the lowest free colour, it is the highest MLID but for gaps
	// that leaving groups made.
	Colours int
	// ColourBound is a proven lower bound on Colours for these groups on this
	// network when no two groups share a tree; see [ColourBound].
	ColourBound int
	MaxEFI      int     // most groups over one cable between switches, both directions together
	MeanEFI     float64 // over all such cables
	MaxTFI      int     // most groups on one tree
	MeanTFI     float64 // groups over trees
	MaxHeight   int
	MeanHeight  float64 // over trees
	TreeLinks   int     // cables of all trees
	PerColour   []ColourUse
	Time        time.Duration // of routing all groups
}

// ColourUse tells how much one colour carries.
type ColourUse struct {
	Trees, Groups int
	LargestTree   int // most groups on one tree
}

// Measure computes the metrics of a forest, without Time and ColourBound.
func (f *Forest) Measure() Metrics {
	m := Metrics{Groups: len(f.groups)}
	heights := 0
	for p := range f.Trees {
		m.Trees++
		m.MaxTFI = max(m.MaxTFI, len(p.Groups))
		m.MaxHeight = max(m.MaxHeight, p.Height)
		heights += p.Height
		m.TreeLinks += p.Links()
	}
	if m.Trees > 0 {
		m.MeanTFI = float64(m.Groups) / float64(m.Trees)
		m.MeanHeight = float64(heights) / float64(m.Trees)
	}
	for _, c := range f.colours {
		use := ColourUse{Trees: len(c.trees), Groups: c.groups}
		for _, p := range c.trees {
			use.LargestTree = max(use.LargestTree, len(p.Groups))
		}
		m.PerColour = append(m.PerColour, use)
		if len(c.trees) > 0 {
			m.Colours++
		}
	}
	total, cables := 0, 0
	for p, load := range f.efi {
		if peer := f.env.Graph.Peer[p]; peer > int32(p) {
			m.MaxEFI = max(m.MaxEFI, int(load))
			total += int(load)
			cables++
		}
	}
	if cables > 0 {
		m.MeanEFI = float64(total) / float64(cables)
	}
	return m
}

// EFIHistogram counts the cables between switches by the groups over them
// (len = largest EFI + 1).
func (f *Forest) EFIHistogram() []int {
	var histogram []int
	for p, load := range f.efi {
		if f.env.Graph.Peer[p] > int32(p) {
			for int(load) >= len(histogram) {
				histogram = append(histogram, 0)
			}
			histogram[load]++
		}
	}
	return histogram
}
