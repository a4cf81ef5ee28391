package figure

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"testing"
)

// TestControlCharactersInLabels: whatever names are made of, an SVG file is XML.
func TestControlCharactersInLabels(t *testing.T) {
	const bad = "a\x01\x1b[31m\x00b"
	f := &Figure{Title: bad, XLabel: bad, YLabel: bad, Style: Bar, Categories: []string{bad},
		Series: []Series{{Name: bad, X: []float64{0}, Y: []float64{1}}, {Name: bad + "2", X: []float64{0}, Y: []float64{2}}}}
	picture, err := f.Render("svg")
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(bytes.NewReader(picture)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if f.Title != bad || f.Categories[0] != bad {
		t.Error("drawing has changed the figure")
	}
}
