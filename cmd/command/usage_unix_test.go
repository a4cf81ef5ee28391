//go:build unix

package command

import (
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestCheckReadsOnce: an experiment may come through a pipe.
func TestCheckReadsOnce(t *testing.T) {
	inFolder(t, nil)
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Skip(err)
	}
	go func() {
		if end, err := os.OpenFile("pipe", os.O_WRONLY, 0); err == nil {
			io.WriteString(end, small+"[quick]\n\"measure.window\" = 100\n")
			end.Close()
		}
	}()
	if status, stdout, stderr := weft(t, "check", "pipe"); status != exitSuccess || !strings.HasPrefix(stdout, "pipe: valid, 2 points") {
		t.Errorf("status %d: %s%s", status, stdout, stderr)
	}
}
