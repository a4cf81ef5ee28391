// Package command is the command line of weft. A program of another module that calls [Main]
// has all of it, with the topologies, routings, programs and kinds that the program imports.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
	_ "github.com/weft-sim/weft/experiments/kinds" // the kinds of experiments register themselves
)

// Exit statuses.
const (
	exitSuccess = 0
	exitFailure = 1 // something could not be computed or written, or a target was missed
	exitUsage   = 2 // the command line, an experiment file or a folder cannot be used; nothing was written
)

// Main is the command in a process of its own: it takes the arguments of the process and
// ends it.
func Main() {
	experiments.ReserveMemory()
	os.Exit(process())
}

// process is the command until Ctrl-C or SIGTERM ends it.
func process() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second Ctrl-C ends the process at once
	}()
	return run(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

// run is the command without the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out := &output{w: stdout}
	root := newRoot(out, stderr)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil || errors.Is(err, out.err) {
		err = out.err
	}
	if err == nil {
		return exitSuccess
	}
	var quiet *statusError
	if !errors.As(err, &quiet) || quiet.err != nil {
		fmt.Fprintln(&messages{w: stderr}, err)
	}
	return status(err)
}

// status maps an error to the exit status.
func status(err error) int {
	var problems experiments.Problems
	var folder *experiments.FolderError
	var usage *usageError
	var slurm *experiments.SlurmError
	var unfinished *experiments.UnfinishedError
	var s *statusError
	switch {
	case errors.As(err, &s):
		return s.status
	case errors.As(err, &problems), errors.As(err, &folder), errors.As(err, &usage), errors.As(err, &slurm), errors.As(err, &unfinished):
		return exitUsage
	}
	return exitFailure
}

// output is standard output; it keeps the first error, so that no command can
// overlook that what it printed has not arrived.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil {
		o.err = fmt.Errorf("standard output: %w", err)
		return n, o.err
	}
	return n, nil
}

// print writes a text to standard output.
func (a *app) print(text string) error {
	_, err := io.WriteString(a.stdout, text)
	return err
}

// printTo writes the file that -o names, or to standard output where it names none.
func (a *app) printTo(out string, content []byte) error {
	if out == "" {
		return a.print(string(content))
	}
	return writeOutput(out, content)
}

// writeNew writes the file that -o names, which must not be there.
func writeNew(out string, content []byte) error {
	if _, err := os.Lstat(out); err == nil {
		return usagef("-o %s: is there already, and is left alone", out)
	}
	return writeOutput(out, content)
}

// writeOutput writes the file that -o names.
func writeOutput(out string, content []byte) error {
	err := experiments.WriteFile(out, content)
	var w *experiments.WriteError
	if errors.As(err, &w) && w.Before {
		return usagef("-o %w", err)
	}
	return err
}

// writeNamed writes a file and says where it is.
func (a *app) writeNamed(out string, content []byte, quiet bool) error {
	err := writeOutput(out, content)
	if err == nil && !quiet {
		_, err = fmt.Fprintln(a.stderr, out)
	}
	return err
}

// warned prints warnings, a line each.
func (a *app) warned(warnings []string) {
	for _, w := range warnings {
		fmt.Fprintf(a.stderr, "warning: %s\n", w)
	}
}

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

// messages is standard error for lines of text: each is cut if it is very long, and
// none steers the terminal, whatever the names in it are made of.
// Several goroutines may write.
type messages struct {
	w       io.Writer
	writing sync.Mutex
}

func (m *messages) Write(p []byte) (int, error) {
	text, line := strings.CutSuffix(string(p), "\n")
	text = experiments.Legible(text)
	if line {
		text += "\n"
	}
	m.writing.Lock()
	defer m.writing.Unlock()
	if _, err := io.WriteString(m.w, text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// app is what all subcommands share.
type app struct {
	stdout, stderr io.Writer // stderr for lines of text
	terminal       io.Writer // standard error as it is
}

func newRoot(stdout, terminal io.Writer) *cobra.Command {
	stderr := &messages{w: terminal}
	a := &app{stdout, stderr, terminal}
	root := &cobra.Command{
		Use:               "weft",
		Version:           experiments.Version(),
		Short:             "Simulate interconnection networks of HPC systems, from experiment files",
		SilenceUsage:      true,
		SilenceErrors:     true,
		Args:              cobra.NoArgs,
		PersistentPreRunE: refuseEmpty,
		RunE:              func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate("weft {{.Version}}\n")
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(flagProblem)
	root.AddCommand(
		completed(a.runCommand(), true, experimentNames), completed(a.mergeCommand(), true, experimentNames), completed(a.multicastCommand(), true, experimentNames),
		completed(a.checkCommand(), true, experimentNames), completed(a.topologyCommand(), true, experimentNames), a.atlasCommand(),
		completed(a.routesCommand(), true, experimentNames), a.traceCommand(),
		completed(a.listCommand(), false, listNames), completed(a.reproduceCommand(), false, paperNames),
		completed(a.benchCommand(), false, workloadNames),
		completed(a.explainCommand(), false, explainedWords), completed(a.initCommand(), false, kindNames), a.schemaCommand(),
		completed(a.manCommand(), false, commandNames(root)),
		a.plotCommand(), a.reportCommand(), a.compareCommand(), a.slurmTaskCommand(), a.versionCommand(),
	)
	helpAndCompletion(root)
	for _, c := range root.Commands() {
		asUsage(c)
	}
	asUsage(root)
	return root
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
