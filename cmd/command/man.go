package command

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/reference"
)

func (a *app) manCommand() *cobra.Command {
	out := ""
	c := &cobra.Command{
		Use:   "man [COMMAND]",
		Short: "Write the manual pages: of all commands to a folder, or of one to standard output",
		Long: `Write the manual pages. They are made from what the commands say about themselves,
and weft-experiment(5) from the declarations that read experiment files. Without
COMMAND, -o names the folder for all pages.`,
		Example: `  weft man run
  weft man -o share/man`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			pages := manualPages(c.Root())
			if len(args) == 1 {
				for _, name := range []string{"weft-" + args[0] + ".1", args[0] + ".1", "weft-" + args[0] + ".5"} {
					if page, ok := pages[name]; ok {
						if out != "" {
							return writeOutput(out, []byte(page))
						}
						return a.print(page)
					}
				}
				return unknownCommand(c.Root(), args[0])
			}
			if out == "" {
				return usagef("name a command, or a folder for all pages with -o")
			}
			for name, page := range pages {
				folder := filepath.Join(out, "man"+name[len(name)-1:])
				if err := experiments.MakeFolder(folder); err != nil {
					return err
				}
				if err := writeOutput(filepath.Join(folder, name), []byte(page)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "folder `DIR` for all pages, under man1 and man5; with COMMAND the file of its page")
	return c
}

// manualPages makes the pages by the names of their files.
func manualPages(root *cobra.Command) map[string]string {
	pages := map[string]string{"weft.1": manualPage(root), "weft-experiment.5": filePage()}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			pages["weft-"+c.Name()+".1"] = manualPage(c)
		}
	}
	return pages
}

// manualPage is the page of a command in the language of troff, with the macros of
// man(7).
func manualPage(c *cobra.Command) string {
	c.InitDefaultHelpFlag()
	var b strings.Builder
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	title(&b, name, 1)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", name, roff(c.Short))
	for _, use := range synopses(c) {
		fmt.Fprintf(&b, ".PP\n\\fB%s\\fR\n", roff(use))
	}
	b.WriteString(".SH DESCRIPTION\n")
	paragraphs(&b, firstNonEmpty(c.Long, c.Short+"."))
	if c.HasAvailableLocalFlags() {
		b.WriteString(".SH OPTIONS\n")
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			value, usage := pflag.UnquoteUsage(f)
			flag := "--" + f.Name
			if f.Shorthand != "" {
				flag = "-" + f.Shorthand + ", " + flag
			}
			if value != "" {
				flag += " " + value
			}
			if d := f.DefValue; d != "" && d != "[]" && d != "false" && d != "0" && !strings.Contains(usage, "default") {
				usage += " (default " + d + ")"
			}
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", roff(flag), roff(usage))
		})
	}
	if c.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", roff(sub.Name()), roff(sub.Short))
			}
		}
	}
	if c.Example != "" {
		b.WriteString(".SH EXAMPLES\n")
		literal(&b, c.Example)
	}
	if !strings.Contains(c.Long, "Exit status") {
		b.WriteString(".SH EXIT STATUS\n")
		paragraphs(&b, exitStatuses)
	}
	also := "weft(1), weft-experiment(5)"
	if !c.HasParent() {
		also = "weft-experiment(5), weft-run(1), weft-check(1), weft-explain(1)"
	}
	fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", roff(also))
	return b.String()
}

const exitStatuses = `0 success; 1 something could not be computed or written, or a target was missed; 2 the
command line, a file or a folder cannot be used, and nothing was written.`

// synopses are the forms of a command line.
func synopses(c *cobra.Command) []string {
	if !c.HasParent() {
		return []string{"weft COMMAND [OPTION...]"}
	}
	use := c.UseLine()
	if c.HasAvailableSubCommands() && !c.Runnable() {
		use = c.CommandPath() + " COMMAND"
	}
	return []string{use}
}

// filePage is weft-experiment(5): every key of an experiment file.
func filePage() string {
	var b strings.Builder
	title(&b, "weft-experiment", 5)
	b.WriteString(".SH NAME\nweft-experiment \\- experiment files of weft\n.SH DESCRIPTION\n")
	paragraphs(&b, `An experiment file is TOML: keys outside tables, the tables of its kind, [sweep]
with the lists whose combinations are the points, [[plot]] for figures, [quick] for a
small variant. Every key has a default. Times, sizes and rates are strings with their
unit. weft init KIND prints a file to start from, weft explain KEY what a key means.`)
	for _, s := range reference.FileSections() {
		fmt.Fprintf(&b, ".SH %s\n", roff(strings.ToUpper(s.Name)))
		paragraphs(&b, s.Doc)
		for _, p := range s.Params {
			text := p.Doc
			if p.Default != "" && p.Default != `""` {
				text += "; default " + p.Default
			}
			for _, fact := range []string{p.Unit, p.Allowed} {
				if fact != "" {
					text += "; " + fact
				}
			}
			fmt.Fprintf(&b, ".TP\n\\fB%s\\fR\n%s\n", roff(p.Key), roff(text))
		}
	}
	b.WriteString(".SH SEE ALSO\nweft(1), weft\\-list(1), weft\\-explain(1), weft\\-init(1), weft\\-schema(1)\n")
	return b.String()
}

// title begins a page. It has no date: the same version makes the same page.
func title(b *strings.Builder, name string, section int) {
	fmt.Fprintf(b, ".TH %s %d \"\" %q \"weft\"\n", strings.ToUpper(roff(name)), section, "weft "+experiments.Version())
}

// paragraphs writes a text: indented lines as they are, others filled.
func paragraphs(b *strings.Builder, text string) {
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		lines := strings.Split(block, "\n")
		plain := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "  ") })
		if plain < 0 {
			plain = len(lines)
		}
		if plain > 0 {
			b.WriteString(".PP\n")
			for _, line := range lines[:plain] {
				b.WriteString(roff(line) + "\n")
			}
		}
		if plain < len(lines) {
			literal(b, strings.Join(lines[plain:], "\n"))
		}
	}
}

// literal writes lines as they are.
func literal(b *strings.Builder, text string) {
	b.WriteString(".PP\n.RS 2\n.nf\n")
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		b.WriteString(roff(strings.TrimPrefix(line, "  ")) + "\n")
	}
	b.WriteString(".fi\n.RE\n")
}

// roff spells out what troff would take for itself.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}

func firstNonEmpty(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
