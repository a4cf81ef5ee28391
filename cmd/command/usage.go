package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-sim/weft/experiments"
)

// usageError is a mistake in the command line.
type usageError struct{ err error }

func (u *usageError) Error() string { return "weft: " + u.err.Error() }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// refusedIf is a mistake in the command line, nil unless the condition holds. Of several, cmp.Or is
// the first.
func refusedIf(condition bool, format string, args ...any) error {
	if !condition {
		return nil
	}
	return usagef(format, args...)
}

// attempt is what work for the user gives, unless it is interrupted; its other errors are
// mistakes of what was asked for.
func attempt[T any](ctx context.Context, work func() (T, error)) (T, error) {
	x, err := experiments.Interruptible(ctx, work)
	if err != nil && !errors.Is(err, experiments.ErrInterrupted) {
		err = &usageError{err}
	}
	return x, err
}

// files is attempt for work that reads the files of a network: its errors name the file, and
// stand as they are.
func files[T any](ctx context.Context, work func() (T, error)) (T, error) {
	x, err := experiments.Interruptible(ctx, work)
	if err != nil && !errors.Is(err, experiments.ErrInterrupted) {
		err = &statusError{exitUsage, err}
	}
	return x, err
}

// asUsage turns a wrong number of arguments into a usage error that names the
// right ones.
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
		if takes == "" {
			takes = "no arguments"
		}
		got := fmt.Sprint(len(args))
		if len(args) == 0 {
			got = "nothing"
		}
		return usagef("%s takes %s, and got %s; see %s --help", c.CommandPath(), takes, got, c.CommandPath())
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
	return usagef("unknown command %q for %q%s: there are %s", name, c.CommandPath(), hint, strings.Join(known, ", "))
}

// flagProblem words an error of the flag parser.
func flagProblem(c *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return usagef("%v; see %s --help", err, c.CommandPath())
	}
	want := map[string]string{
		"int": "an integer", "float64": "a number", "bool": "true or false",
		"duration": "a time with its unit, such as 2s", "seed": "an integer from 0 to 9223372036854775807",
	}[bad.GetFlag().Value.Type()]
	if want == "" {
		return usagef("%v; see %s --help", err, c.CommandPath())
	}
	return usagef("--%s %s: want %s", bad.GetFlag().Name, bad.GetValue(), want)
}

// refuseEmpty refuses -o "", as scripts have it whose variable is not set: the
// default folder or file is not what they meant.
func refuseEmpty(c *cobra.Command, _ []string) error {
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		if (f.Name == "out" || f.Name == "output") && f.Value.String() == "" {
			err = usagef("--%s is empty: name a %s, or leave it out", f.Name, map[string]string{"out": "folder", "output": "file"}[f.Name])
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

// helpAndCompletion prepares the two commands that cobra adds: what they do not
// know is an error.
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
