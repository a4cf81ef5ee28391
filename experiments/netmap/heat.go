package netmap

import (
	"fmt"
	"math"
)

// Colours of what shows no load.
const (
	ink   = "#1b1f24"
	faint = "#57606a"
	pale  = "#f6f8fa"
	paper = "#ffffff"
)

// heat is the colour scale: from pale to dark, so that it survives black and
// white printing, over hues that people with any form of colour blindness can
// tell apart.
var heat = [][3]float64{{0xe4, 0xe8, 0xee}, {0xfe, 0xd9, 0x76}, {0xfd, 0x8d, 0x3c}, {0xd7, 0x30, 0x1f}, {0x67, 0x00, 0x0d}}

// Heat is the colour of a fraction of the scale, #rrggbb.
func Heat(fraction float64) string {
	x := fraction * float64(len(heat)-1)
	i := min(int(x), len(heat)-2)
	var rgb [3]int
	for k := range rgb {
		rgb[k] = int(math.Round(heat[i][k] + (x-float64(i))*(heat[i+1][k]-heat[i][k])))
	}
	return fmt.Sprintf("#%02x%02x%02x", rgb[0], rgb[1], rgb[2])
}

// Fraction is how far up the scale a load is, from 0 to 1.
func (p *Picture) Fraction(load float64) float64 {
	if p.top > 0 {
		return min(max(load/p.top, 0), 1)
	}
	return 0
}

func (p *Picture) colour(load float64) string { return Heat(p.Fraction(load)) }

// keyHeight is the room for the scale, or the legend, above a picture.
const keyHeight = 40

// scale puts the colour scale above the picture.
func (p *Picture) scale() {
	const steps = 24
	length := min(p.Width-20, 240)
	for i := range steps {
		value := p.top * (float64(i) + 0.5) / steps
		p.key = append(p.key, shape{form: box, x: 10 + length*float64(i)/steps, y: 16, width: length/steps + 0.5, height: 10, fill: p.colour(value)})
	}
	p.key = append(p.key,
		shape{form: words, x: 10, y: 12, size: 11, anchor: "start", text: "0", fill: ink},
		shape{form: words, x: 10 + length, y: 12, size: 11, anchor: "end", text: fmt.Sprintf("%.3g flits per cycle", p.top), fill: ink})
}

// finish adds the scale, or what else stands above, and makes room for it.
func (p *Picture) finish(width, height float64, key func()) *Picture {
	p.Width, p.Height = width, height
	if p.plain {
		return p
	}
	p.shift(0, keyHeight)
	p.Height += keyHeight
	key()
	return p
}
