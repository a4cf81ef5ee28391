// Command weft simulates interconnects: it runs experiment files, checks and
// plots them, and reproduces the experiments of papers.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
)

// Exit statuses.
const (
	exitSuccess = 0
	exitFailure = 1 // something could not be computed or written, or a target was missed
	exitUsage   = 2 // the command line, an experiment file or a folder cannot be used; nothing was written
)

func main() {
	experiments.ReserveMemory()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second Ctrl-C ends the process at once
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the command without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot(stdout, stderr)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitSuccess
	}
	var quiet *statusError
	if !errors.As(err, &quiet) || quiet.err != nil {
		fmt.Fprintln(stderr, err)
	}
	return status(err)
}

// status maps an error to the exit status.
func status(err error) int {
	var faults experiments.Faults
	var folder *experiments.FolderError
	var usage *usageError
	var slurm *experiments.SlurmError
	var s *statusError
	switch {
	case errors.As(err, &s):
		return s.status
	case errors.As(err, &faults), errors.As(err, &folder), errors.As(err, &usage), errors.As(err, &slurm):
		return exitUsage
	}
	return exitFailure
}

// usageError is a mistake in the command line.
type usageError struct{ err error }

func (u *usageError) Error() string { return "weft: " + u.err.Error() }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// statusError ends the command with a status; a nil err has been reported
// already.
type statusError struct {
	status int
	err    error
}

func (s *statusError) Error() string {
	if s.err == nil {
		return ""
	}
	return s.err.Error()
}

// app is what all subcommands share.
type app struct{ stdout, stderr io.Writer }

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	a := &app{stdout, stderr}
	root := &cobra.Command{
		Use:           "weft",
		Short:         "Simulate interconnection networks of HPC systems, from experiment files",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%v; see %s --help", err, c.CommandPath())
	})
	root.AddCommand(a.runCommand(), a.multicastCommand(), a.checkCommand(), a.plotCommand(), a.listCommand(), a.topologyCommand(), a.reproduceCommand(), a.reportCommand(), a.compareCommand(), a.slurmTaskCommand(), a.benchCommand(), a.versionCommand())
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		asUsage(c)
	}
	asUsage(root)
	return root
}

// asUsage turns a wrong number of arguments into a usage error.
func asUsage(c *cobra.Command) {
	check := c.Args
	if check == nil {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if err := check(c, args); err != nil {
			return usagef("%v; see %s --help", err, c.CommandPath())
		}
		return nil
	}
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(a.stdout, "weft", experiments.Version())
			return err
		},
	}
}
