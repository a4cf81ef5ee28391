package netmap

import (
	"strings"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/font/liberation"

	"github.com/weft-sim/weft/fabric/topology"
)

// faces measures text.
var faces = font.NewCache(liberation.Collection())

// face is the font of all text.
func face(size float64) font.Face {
	f := font.Font{Typeface: "Liberation", Variant: "Sans"}
	return faces.Lookup(f, font.Length(size))
}

// wide is the width of a text.
func wide(text string, size float64) float64 {
	f := face(size)
	return float64(f.Width(text))
}

// longestName is how many letters of a name are shown.
const longestName = 28

// shortName is what stands at a switch: of a generated name the number, of a long
// one its ends.
func shortName(g *topology.Graph, s topology.SwitchID) string {
	name := strings.TrimPrefix(g.SwitchName(s), "switch ")
	if letters := []rune(name); len(letters) > longestName {
		name = string(letters[:longestName/2-2]) + "…" + string(letters[len(letters)-longestName/2:])
	}
	return name
}
