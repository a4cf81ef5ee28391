//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-sim/weft/cmd/command"
	"github.com/weft-sim/weft/sim/simtest"
)

// TestInterruptedInput: every command ends when it is told to, whatever it is waiting for or
// computing. Here that is an input that never comes: the other end of the pipe is opened once the
// command reads, and then nothing is written. It ends with status 1, says so, and leaves nothing.
func TestInterruptedInput(t *testing.T) {
	for _, args := range []string{
		"run pipe", "run pipe --out -", "check pipe", "topology pipe", "multicast pipe", "plot pipe", "compare pipe x.csv", "bench --compare=pipe,x.csv",
		"topology x.toml --set topology.type=ibsim --set topology.path=pipe",
		"check x.toml --set topology.type=file --set topology.path=pipe",
		"run x.toml --set topology.type=ibnetdiscover --set topology.path=pipe",
		"multicast --topology pipe --groups x.csv", "multicast --topology pipe --groups x.csv -o tables",
		"routes x.toml --opensm pipe", "routes x.toml --engine minhop --jobs pipe", "topology x.toml --diff pipe", "topology x.toml --diff x.toml --tables pipe,x.csv",
	} {
		t.Run(args, func(t *testing.T) {
			inFolder(t, map[string]string{"x.toml": strings.Replace(small, "dims = [4, 4]\n", "", 1), "x.csv": "a\n"})
			if err := syscall.Mkfifo("pipe", 0o600); err != nil {
				t.Skip(err)
			}
			before := left(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var stdout, stderr bytes.Buffer
			ended := make(chan int)
			go func() { ended <- command.Run(ctx, strings.Fields(args), &stdout, &stderr) }()
			end, err := os.OpenFile("pipe", os.O_WRONLY, 0) // waits for the reader
			simtest.Check(t, err)
			defer end.Close()
			cancel()
			status := <-ended
			simtest.ErrorIf(t, status != exitFailure || !strings.Contains(stderr.String(), "interrupted") || stdout.Len() > 0,
				"status %d: %s%s", status, &stdout, &stderr)
			simtest.Equal(t, left(t), before, "left")
		})
	}
}

// TestSignals: SIGINT and SIGTERM end the process that waits for its input.
func TestSignals(t *testing.T) {
	self := simtest.Must(os.Executable())(t)
	for _, signal := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		inFolder(t, nil)
		if err := syscall.Mkfifo("pipe", 0o600); err != nil {
			t.Skip(err)
		}
		p := simtest.Must(os.StartProcess(self, []string{"weft", "check", "pipe"}, &os.ProcAttr{Env: append(os.Environ(), asCommand+"=1"), Files: []*os.File{nil, nil, nil}}))(t)
		end := simtest.Must(os.OpenFile("pipe", os.O_WRONLY, 0))(t)
		simtest.Check(t, p.Signal(signal))
		state, err := p.Wait()
		end.Close()
		simtest.ErrorIf(t, err != nil || state.ExitCode() != exitFailure, "%v: %v, %v", signal, state, err)
	}
}

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
	status, stdout, stderr := weft(t, "check", "pipe")
	simtest.ErrorIf(t, status != exitSuccess || !strings.HasPrefix(stdout, "pipe: valid, 2 points"), "status %d: %s%s", status, stdout, stderr)
}
