// Package command is the command line of weft. A program of another module that calls [Main] has
// it, with the subcommands, topologies, routings, programs and kinds of the packages that the program
// imports: cmd/weft imports all there are.
package command

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/catalogue"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/engine"
	_ "github.com/weft-sim/weft/experiments/kinds" // the kinds of experiments register themselves
	"github.com/weft-sim/weft/experiments/results"
)

// Exit statuses.
const (
	ExitSuccess = 0
	ExitFailure = 1 // something could not be computed or written, or a target was missed
	ExitUsage   = 2 // the command line, an experiment file or a folder cannot be used; nothing was written
)

// Main is the command in a process of its own: it takes the arguments of the process and ends it.
func Main() {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") { // a subcommand, and not --version or --help
		experiments.ReserveMemory()
	}
	if path := os.Getenv("WEFT_CPU_PROFILE"); path != "" { // see make profile
		if f, err := os.Create(path); err != nil || pprof.StartCPUProfile(f) != nil {
			fmt.Fprintln(os.Stderr, "weft: WEFT_CPU_PROFILE: cannot be written:", path)
			os.Exit(ExitUsage)
		}
	}
	status := process()
	pprof.StopCPUProfile()
	os.Exit(status)
}

// process is the command until Ctrl-C or SIGTERM ends it.
func process() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second Ctrl-C ends the process at once
	}()
	return Run(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

// Run is the command without the process around it. It returns the exit status.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out := &output{w: stdout}
	root := Root(out, stderr)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil || errors.Is(err, out.err) {
		err = out.err
	}
	if err == nil {
		return ExitSuccess
	}
	var quiet *StatusError
	if !errors.As(err, &quiet) || quiet.Err != nil {
		fmt.Fprintln(&messages{w: stderr}, err)
	}
	return status(err)
}

// status maps an error to the exit status.
func status(err error) int {
	var s *StatusError
	if errors.As(err, &s) {
		return s.Status
	}
	for _, mistake := range []any{new(document.Problems), new(*engine.FolderError), new(*UsageError), new(*engine.SlurmError), new(*engine.UnfinishedError)} {
		if errors.As(err, mistake) {
			return ExitUsage
		}
	}
	return ExitFailure
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

// Print writes a text to standard output.
func (a *App) Print(text string) error {
	_, err := io.WriteString(a.Stdout, text)
	return err
}

// printTo writes the file that -o names, or to standard output where it names none.
func (a *App) printTo(out string, content []byte) error {
	if out == "" {
		return a.Print(string(content))
	}
	return writeOutput(out, content)
}

// writeOutput writes the file that -o names.
func writeOutput(out string, content []byte) error {
	err := results.WriteFile(out, content)
	var w *results.WriteError
	if errors.As(err, &w) && w.Before {
		return Usagef("-o %w", err)
	}
	return err
}

// WriteNamed writes a file and, unless quiet, says on standard error where it is.
func (a *App) WriteNamed(out string, content []byte, quiet bool) error {
	err := writeOutput(out, content)
	if err == nil && !quiet {
		_, err = fmt.Fprintln(a.Stderr, out)
	}
	return err
}

// Warned prints warnings, a line each.
func (a *App) Warned(warnings []string) {
	for _, w := range warnings {
		fmt.Fprintf(a.Stderr, "warning: %s\n", w)
	}
}

// StatusError ends the command with a status; a nil err has been reported already.
type StatusError struct {
	Status int
	Err    error
}

func (s *StatusError) Error() string {
	if s.Err == nil {
		return ""
	}
	return s.Err.Error()
}

// messages is standard error for lines of text: each is cut if it is very long, and none steers the
// terminal, whatever the names in it are made of. Several goroutines may write.
type messages struct {
	w       io.Writer
	writing sync.Mutex
}

func (m *messages) Write(p []byte) (int, error) {
	text, line := strings.CutSuffix(string(p), "\n")
	text = document.Legible(text)
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

// App is what all subcommands share.
type App struct {
	Stdout, Stderr io.Writer // Stderr for lines of text
	terminal       io.Writer // standard error as it is
}

// registered make the subcommands of other packages.
var registered []func(*App) *cobra.Command

// Register adds a subcommand to every [Root] that is made later. Packages call it when they are
// initialized: a program has the subcommands of the packages that it imports.
func Register(subcommand func(*App) *cobra.Command) { registered = append(registered, subcommand) }

// help has what --help says of a subcommand of the house: the text, then its examples. What a
// subcommand has as its Long is of the same form.
//
//go:embed help
var help embed.FS

// Root is the command with all its subcommands, which print to the writers. It panics if two
// subcommands have one name.
func Root(stdout, terminal io.Writer) *cobra.Command {
	stderr := &messages{w: terminal}
	a := &App{stdout, stderr, terminal}
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
		Completed(a.runCommand(), true, ExperimentNames), Completed(a.mergeCommand(), true, ExperimentNames),
		Completed(a.checkCommand(), true, ExperimentNames), Completed(a.topologyCommand(), true, ExperimentNames),
		Completed(a.listCommand(), false, listNames), Completed(a.reproduceCommand(), false, paperNames),
		Completed(a.benchCommand(), false, workloadNames),
		Completed(a.explainCommand(), false, func([]string) []string { return catalogue.Words() }), Completed(a.initCommand(), false, kindNames), a.schemaCommand(),
		Completed(a.manCommand(), false, commandNames(root)),
		a.plotCommand(), a.compareCommand(), a.slurmTaskCommand(), a.versionCommand(),
	)
	for _, subcommand := range registered {
		c := subcommand(a)
		if slices.ContainsFunc(root.Commands(), func(other *cobra.Command) bool { return other.Name() == c.Name() }) {
			panic("command: weft " + c.Name() + " is registered twice")
		}
		root.AddCommand(c)
	}
	helpAndCompletion(root)
	for _, c := range root.Commands() {
		text, _ := help.ReadFile("help/" + c.Name() + ".txt")
		long, examples, _ := strings.Cut(c.Long+string(text), "Examples:\n")
		c.Long, c.Example = strings.TrimSpace(long), cmp.Or(c.Example, strings.TrimSuffix(examples, "\n"))
		asUsage(c)
	}
	asUsage(root)
	return root
}

func (a *App) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(a.Stdout, "weft", experiments.Version())
			return err
		},
	}
}

// UsageError is a mistake in the command line.
type UsageError struct{ Err error }

func (u *UsageError) Error() string { return "weft: " + u.Err.Error() }

func Usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// RefusedIf is a mistake in the command line, nil unless the condition holds. Of several, cmp.Or is
// the first.
func RefusedIf(condition bool, format string, args ...any) error {
	if !condition {
		return nil
	}
	return Usagef(format, args...)
}

// Attempt is what work for the user gives, unless it is interrupted; its other errors are
// mistakes of what was asked for.
func Attempt[T any](ctx context.Context, work func() (T, error)) (T, error) {
	return attempted(ctx, work, func(err error) error { return &UsageError{err} })
}

// OfFiles is Attempt for work that reads the files of a network: its errors name the file, and
// stand as they are.
func OfFiles[T any](ctx context.Context, work func() (T, error)) (T, error) {
	return attempted(ctx, work, func(err error) error { return &StatusError{ExitUsage, err} })
}

func attempted[T any](ctx context.Context, work func() (T, error), mistake func(error) error) (T, error) {
	x, err := experiments.Interruptible(ctx, work)
	if err != nil && !errors.Is(err, experiments.ErrInterrupted) {
		err = mistake(err)
	}
	return x, err
}

// asUsage turns a wrong number of arguments into a usage error that names the right ones.
func asUsage(c *cobra.Command) {
	check := c.Args
	if check == nil {
		return
	}
	c.Args = func(c *cobra.Command, args []string) error {
		if err := check(c, args); err == nil {
			return nil
		}
		if c.HasSubCommands() {
			return unknownCommand(c, args[0])
		}
		_, takes, _ := strings.Cut(c.Use, " ")
		takes = cmp.Or(takes, "no arguments")
		got := fmt.Sprint(len(args))
		if len(args) == 0 {
			got = "nothing"
		}
		return Usagef("%s takes %s, and got %s; see %s --help", c.CommandPath(), takes, got, c.CommandPath())
	}
}

// unknownCommand says that a command has no such subcommand.
func unknownCommand(c *cobra.Command, name string) error {
	var known []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
		}
	}
	c.SuggestionsMinimumDistance = 2
	hint := ""
	if near := c.SuggestionsFor(name); len(near) > 0 && !c.HasParent() {
		hint = fmt.Sprintf(" (did you mean %q?)", near[0])
	}
	return Usagef("unknown command %q for %q%s: there are %s", name, c.CommandPath(), hint, strings.Join(known, ", "))
}

// flagProblem words an error of the flag parser.
func flagProblem(c *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return Usagef("%v; see %s --help", err, c.CommandPath())
	}
	want := map[string]string{
		"int": "an integer", "float64": "a number", "bool": "true or false",
		"duration": "a time with its unit, such as 2s", "seed": "an integer from 0 to 9223372036854775807",
	}[bad.GetFlag().Value.Type()]
	if want == "" {
		return Usagef("%v; see %s --help", err, c.CommandPath())
	}
	return Usagef("--%s %s: want %s", bad.GetFlag().Name, bad.GetValue(), want)
}

// refuseEmpty refuses -o "", as scripts have it whose variable is not set: the
// default folder or file is not what they meant; and - as the name of a file.
func refuseEmpty(c *cobra.Command, _ []string) error {
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		if (f.Name == "out" || f.Name == "output") && f.Value.String() == "" {
			err = Usagef("--%s is empty: name a %s, or leave it out", f.Name, map[string]string{"out": "folder", "output": "file"}[f.Name])
		}
		if f.Name == "output" && f.Value.String() == "-" {
			err = Usagef("--output -: name a file, such as /dev/stdout, or leave it out")
		}
	})
	return err
}

// seedFlag is the value of --seed; given is false where the file's own counts.
type seedFlag struct {
	seed  int64
	given bool
}

func (s *seedFlag) String() string {
	if !s.given {
		return ""
	}
	return strconv.FormatInt(s.seed, 10)
}

func (s *seedFlag) Set(text string) error {
	x, err := strconv.ParseUint(text, 10, 63)
	if err == nil {
		s.seed, s.given = int64(x), true
	}
	return err
}

func (s *seedFlag) Type() string { return "seed" }

// helpAndCompletion prepares the two commands that cobra adds: what they do not know is an error.
func helpAndCompletion(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Run = nil
			c.RunE = func(_ *cobra.Command, args []string) error {
				found, rest, err := root.Find(args)
				if err != nil || len(rest) > 0 {
					return unknownCommand(root, args[0])
				}
				found.InitDefaultHelpFlag()
				return found.Help()
			}
		case "completion":
			c.Args = cobra.NoArgs
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
}

// commandLine is the command with its arguments and the options that were given,
// as the manifest keeps it: enough to run it again.
func commandLine(c *cobra.Command, args []string) []string {
	line := append(strings.Fields(c.CommandPath()), args...)
	c.Flags().Visit(func(f *pflag.Flag) {
		if list, several := f.Value.(pflag.SliceValue); several {
			for _, value := range list.GetSlice() {
				line = append(line, "--"+f.Name+"="+value)
			}
			return
		}
		line = append(line, "--"+f.Name+"="+f.Value.String())
	})
	return line
}

// shellWord is a word of a command line as a shell takes it.
func shellWord(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:=@,", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
