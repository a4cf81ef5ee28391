package command

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// asCommand makes this test binary the weft command.
const asCommand = "WEFT_TEST_AS_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(process())
	}
	os.Exit(withoutCache(m))
}

// withoutCache runs the tests with a cache folder of their own.
func withoutCache(m *testing.M) int {
	dir, err := os.MkdirTemp("", "weft-cache")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv(cacheVariable, dir)
	return m.Run()
}

// commandInPath puts this test binary into the path as weft.
func commandInPath(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "weft")); err != nil {
		t.Skipf("cannot make a link: %v", err)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv(asCommand, "1")
}

// TestScripting runs the blocks of docs/scripting.md, in order and in one
// folder, as they stand: shell, Python and a makefile.
func TestScripting(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "scripting.md"))
	if err != nil {
		t.Fatal(err)
	}
	commandInPath(t)
	t.Chdir(t.TempDir())
	said := map[string]string{}
	for _, part := range strings.Split(string(text), "\n```")[1:] {
		language, code, _ := strings.Cut(part, "\n")
		var command []string
		switch language {
		case "":
			continue // the end of a block
		case "sh":
			command = []string{"sh", "-euc", code}
		case "python":
			command = []string{"python3", "-c", code}
		case "makefile":
			if err := os.WriteFile("Makefile", []byte(code+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			command = []string{"make"}
		default:
			t.Fatalf("block in %q", language)
		}
		if _, err := exec.LookPath(command[0]); err != nil {
			t.Logf("not run: %v", err)
			continue
		}
		out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
		if err != nil {
			t.Errorf("%v in\n%s\n%s", err, code, out)
		}
		said[language] += string(out)
	}
	for _, want := range []string{
		"traffic.pattern,traffic.load,accepted_load\nuniform,0.2,0.", `"traffic.load":0.6,`, "slower\n",
		"traffic.pattern,offered_load\nuniform,0.", "report.html\n",
	} {
		if !strings.Contains(said["sh"], want) {
			t.Errorf("no %q in\n%s", want, said["sh"])
		}
	}
	for _, name := range []string{"report.html", "changes.csv", "results/torus/manifest.json", "torus/results.csv"} {
		if _, err := os.Stat(name); err != nil && !(strings.HasPrefix(name, "results/") && said["makefile"] == "") {
			t.Error(err)
		}
	}
}
