package report

import (
	"fmt"
	"html/template"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// browse opens a page in a browser and returns its document as it is then.
func browse(t *testing.T, page string) string {
	t.Helper()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("needs chromium (Debian package chromium)")
	}
	name := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(name, []byte(page), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+name).Output()
	if err != nil {
		t.Skipf("chromium does not run here: %v", err)
	}
	return string(out)
}

// TestWidths: in a browser, the page is no wider than a phone or a desktop
// window; wide tables scroll inside.
func TestWidths(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	dir := t.TempDir()
	resultFolder(t, dir, strings.Replace(ring, "links = true", "links = true\nblame = true\nseries = 5", 1))
	page, err := Make([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	for _, width := range []int{360, 768, 1280} {
		wrapper := fmt.Sprintf(`<!DOCTYPE html><title>?</title><iframe style="border:0;width:%dpx;height:800px" srcdoc="%s" `+
			`onload="document.title='width '+this.contentDocument.documentElement.scrollWidth"></iframe>`, width, template.HTMLEscapeString(string(page)))
		out := browse(t, wrapper)
		if want := fmt.Sprintf("<title>width %d</title>", width); !strings.Contains(out, want) {
			title, _, _ := strings.Cut(out, "</title>")
			t.Errorf("in a window of %d: %s", width, title[max(0, len(title)-100):])
		}
	}
}
