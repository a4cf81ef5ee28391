package report

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// canvas collects the elements of a picture.
type canvas struct {
	strings.Builder
	top   float64   // value at the hot end of the scale
	plain bool      // without names and scale
	loads []float64 // of the boxes and lines, in their order
}

// heat is the colour scale: from pale to dark, so that it survives black and
// white printing, over hues that people with any form of colour blindness can
// tell apart.
var heat = [][3]float64{{0xe4, 0xe8, 0xee}, {0xfe, 0xd9, 0x76}, {0xfd, 0x8d, 0x3c}, {0xd7, 0x30, 0x1f}, {0x67, 0x00, 0x0d}}

// fraction is how far up the scale a load is, from 0 to 1.
func (c *canvas) fraction(load float64) float64 {
	if c.top > 0 {
		return min(max(load/c.top, 0), 1)
	}
	return 0
}

// colour of a load.
func (c *canvas) colour(load float64) string {
	x := c.fraction(load) * float64(len(heat)-1)
	i := min(int(x), len(heat)-2)
	var rgb [3]int
	for k := range rgb {
		rgb[k] = int(math.Round(heat[i][k] + (x-float64(i))*(heat[i+1][k]-heat[i][k])))
	}
	return fmt.Sprintf("#%02x%02x%02x", rgb[0], rgb[1], rgb[2])
}

// num prints a coordinate.
func num(x float64) string { return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64) }

func (c *canvas) box(x, y, width, height, load float64, title string) {
	fmt.Fprintf(c, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s">%s</rect>`+"\n",
		num(x), num(y), num(width), num(height), c.colour(load), c.named(title, load))
}

func (c *canvas) line(x1, y1, x2, y2, thickness, load float64, title string) {
	fmt.Fprintf(c, `<line x1="%s" y1="%s" x2="%s" y2="%s" stroke="%s" stroke-width="%s">%s</line>`+"\n",
		num(x1), num(y1), num(x2), num(y2), c.colour(load), num(thickness), c.named(title, load))
}

// named counts a box or a line and returns its title.
func (c *canvas) named(title string, load float64) string {
	c.loads = append(c.loads, load)
	if c.plain {
		return ""
	}
	return fmt.Sprintf("<title>%s: %.3f</title>", template.HTMLEscapeString(title), load)
}

// text writes beside x as anchor (start, middle, end) says.
func (c *canvas) text(x, y float64, anchor, text string) {
	fmt.Fprintf(c, `<text x="%s" y="%s" font-size="11" text-anchor="%s" fill="#1b1f24">%s</text>`+"\n",
		num(x), num(y), anchor, template.HTMLEscapeString(text))
}

const scaleHeight = 40

// finish frames the elements, drawn in width by height, with the scale above.
func (c *canvas) finish(width, height float64) template.HTML {
	if c.plain {
		return template.HTML(fmt.Sprintf(`<svg role="img" aria-label="load of the links" viewBox="0 0 %s %s" xmlns="http://www.w3.org/2000/svg">`+"\n%s</svg>", num(width), num(height), c.String()))
	}
	const steps = 24
	var page canvas
	page.top = c.top
	fmt.Fprintf(&page, `<svg role="img" aria-label="load of the links" viewBox="0 0 %s %s" xmlns="http://www.w3.org/2000/svg">`+"\n",
		num(width), num(height+scaleHeight))
	length := min(width-20, 240)
	for i := range steps {
		value := c.top * (float64(i) + 0.5) / steps
		page.box(10+length*float64(i)/steps, 16, length/steps+0.5, 10, value, "scale")
	}
	page.text(10, 12, "start", "0")
	page.text(10+length, 12, "end", fmt.Sprintf("%.3g flits per cycle", c.top))
	fmt.Fprintf(&page, `<g transform="translate(0,%d)">`+"\n%s</g>\n</svg>", scaleHeight, c.String())
	return template.HTML(page.String())
}
