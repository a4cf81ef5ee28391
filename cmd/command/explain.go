package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/reference"
)

func (a *app) explainCommand() *cobra.Command {
	page := false
	c := &cobra.Command{
		Use:   "explain KEY|COLUMN|VERDICT",
		Short: "Say what a key, a column, a verdict or a name means, its unit and bounds, and where it is used",
		Long: `Say what a word of experiment files and results means: a key, alone or with its
table, a table, the name of a routing or another thing that files can name, a column
of a table of results, a verdict or its reason, a term of the field.`,
		Example: `  weft explain traffic.load
  weft explain latency_p99_ns
  weft explain saturated
  weft explain val
  weft explain --html > reference.html`,
		Args: func(c *cobra.Command, args []string) error {
			if page {
				return cobra.NoArgs(c, args)
			}
			return cobra.MinimumNArgs(1)(c, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if page {
				return experiments.Reference(a.stdout)
			}
			word := strings.Join(args, " ") // backlog grows
			var text strings.Builder
			if err := reference.Explain(&text, word); err != nil {
				return &usageError{err}
			}
			return a.print(text.String())
		},
	}
	c.Flags().BoolVar(&page, "html", false, "print all there is as a page of HTML")
	return c
}

func (a *app) initCommand() *cobra.Command {
	out := ""
	c := &cobra.Command{
		Use:   "init KIND",
		Short: "Print a commented experiment of a kind to start from",
		Long: `Print an experiment of a kind to start from: a question, a network, a sweep, a
figure, and every other setting as a comment, with its default and meaning. It is
valid and runs as it is. weft list kinds shows the kinds.`,
		Example: `  weft init traffic -o my.toml
  weft check my.toml`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := reference.Start(args[0])
			if err != nil {
				return &usageError{err}
			}
			if out == "" {
				return a.print(text)
			}
			return writeNew(out, []byte(text))
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "`FILE` to write; one that exists is left alone")
	return c
}

func (a *app) schemaCommand() *cobra.Command {
	out := ""
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of experiment files, for editors of TOML",
		Long: `Print the JSON Schema (draft 7) of experiment files. Editors that know it complete
keys, show what they mean and mark mistakes while a file is written. A first line of
a file names the schema for the editors that use Taplo (Even Better TOML in VS Code
among them):

  #:schema ./weft.schema.json`,
		Example: `  weft schema -o weft.schema.json`,
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := reference.Schema()
			if err != nil {
				return err
			}
			if out == "" {
				return a.print(string(text))
			}
			return writeOutput(out, text)
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "`FILE` to write")
	return c
}

// explainedWords completes weft explain.
func explainedWords([]string) []string { return reference.Words() }

// kindNames completes weft init.
func kindNames(before []string) []string {
	if len(before) > 0 {
		return nil
	}
	return experiments.KindNames()
}
