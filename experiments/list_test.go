package experiments

import "testing"

// TestListTitles: where a title speaks of points or networks, it is listed as it is in the
// file read in full.
func TestListTitles(t *testing.T) {
	shown := 0
	for _, name := range Embedded("") {
		text, err := embedded.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		listed := EmbeddedTitle(name)
		d, err := parseDocument(name, string(text))
		if title, _ := d.tree["title"].(string); err == nil && !placeholder.MatchString(title) {
			if listed != title {
				t.Errorf("%s is listed as %q, its title is %q", name, listed, title)
			}
			continue
		}
		f, err := Open(name, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if shown++; listed != f.Title {
			t.Errorf("%s is listed as %q, its title is %q", name, listed, f.Title)
		}
	}
	if shown == 0 {
		t.Error("no title speaks of points")
	}
}
