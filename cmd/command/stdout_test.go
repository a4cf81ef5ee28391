package command

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestNullOutput: a program that starts weft and wants nothing of what it prints gives it
// /dev/null, which many (Python's subprocess.DEVNULL, service managers) open for reading and
// writing. That is meant: no error, nothing on standard error.
func TestNullOutput(t *testing.T) {
	inFolder(t, map[string]string{"x.toml": small})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []int{os.O_WRONLY, os.O_RDWR} {
		null, err := os.OpenFile(os.DevNull, mode, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer null.Close()
		for _, args := range []string{"list kinds", "version", "--help", "check x.toml", "topology x.toml", "run x.toml --out - --quiet"} {
			c := exec.Command(self, strings.Fields(args)...)
			c.Env = append(os.Environ(), asCommand+"=1")
			var stderr strings.Builder
			c.Stdin, c.Stdout, c.Stderr = null, null, &stderr
			if err := c.Run(); err != nil || stderr.Len() > 0 {
				t.Errorf("weft %s: %v\n%s", args, err, &stderr)
			}
		}
	}
}
