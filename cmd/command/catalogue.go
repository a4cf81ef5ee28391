package command

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/catalogue"
	"github.com/weft-sim/weft/experiments/engine"
	"github.com/weft-sim/weft/experiments/results"
	"github.com/weft-sim/weft/sim/lists"
	"github.com/weft-sim/weft/sim/param"
)

func (a *App) listCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list [CATEGORY [NAME]]",
		Short: "List topologies, routings, patterns, kinds and experiments, with their settings, units and defaults",
		Args:  cobra.MaximumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := catalogue.List(a.Stdout, args...); err != nil {
				return &UsageError{err}
			}
			return nil
		},
	}
}

func (a *App) explainCommand() *cobra.Command {
	page := false
	c := &cobra.Command{
		Use:   "explain KEY|COLUMN|VERDICT",
		Short: "Say what a key, a column, a verdict or a name means, its unit and bounds, and where it is used",
		Args: func(c *cobra.Command, args []string) error {
			if page {
				return cobra.NoArgs(c, args)
			}
			return cobra.MinimumNArgs(1)(c, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if page {
				return catalogue.Page(a.Stdout)
			}
			word := strings.Join(args, " ") // backlog grows
			var text strings.Builder
			if err := catalogue.Explain(&text, word); err != nil {
				return &UsageError{err}
			}
			return a.Print(text.String())
		},
	}
	c.Flags().BoolVar(&page, "html", false, "print all there is as a page of HTML")
	return c
}

func (a *App) initCommand() *cobra.Command {
	out := ""
	c := &cobra.Command{
		Use:   "init KIND",
		Short: "Print a commented experiment of a kind to start from",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := catalogue.Start(args[0])
			if err != nil {
				return &UsageError{err}
			}
			if out == "" {
				return a.Print(text)
			}
			if _, err := os.Lstat(out); err == nil {
				return Usagef("-o %s: is there already, and is left alone", out)
			}
			return writeOutput(out, []byte(text))
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "`FILE` to write; one that exists is left alone")
	return c
}

func (a *App) schemaCommand() *cobra.Command {
	out := ""
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of experiment files, for editors of TOML",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := catalogue.Schema()
			if err != nil {
				return err
			}
			return a.printTo(out, text)
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "`FILE` to write")
	return c
}

func (a *App) manCommand() *cobra.Command {
	out := ""
	c := &cobra.Command{
		Use:   "man [COMMAND]",
		Short: "Write the manual pages: of all commands to a folder, or of one to standard output",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			pages := map[string][]byte{"weft-experiment.5": filePage()}
			if err := manualPages(c.Root(), pages); err != nil {
				return err
			}
			if len(args) == 1 {
				for _, name := range []string{"weft-" + args[0] + ".1", args[0] + ".1", "weft-" + args[0] + ".5"} {
					if page, ok := pages[name]; ok {
						return a.printTo(out, page)
					}
				}
				return unknownCommand(c.Root(), args[0])
			}
			if out == "" {
				return Usagef("name a command, or a folder for all pages with -o")
			}
			for name, page := range pages {
				folder := filepath.Join(out, "man"+name[len(name)-1:])
				if err := engine.MakeFolder(folder); err != nil {
					return err
				}
				if err := writeOutput(filepath.Join(folder, name), page); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "folder `DIR` for all pages, under man1 and man5; with COMMAND the file of its page")
	return c
}

// manualPages makes the pages of a command and those below it, by the names of their
// files. They have no date: the same version makes the same pages.
func manualPages(c *cobra.Command, pages map[string][]byte) error {
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() && below.Name() != "help" {
			if err := manualPages(below, pages); err != nil {
				return err
			}
		}
	}
	c.Long = cmp.Or(c.Long, c.Short+".")
	c.Long = strings.ReplaceAll(c.Long, "\n  ", "\n      ") // Markdown's code
	if !strings.Contains(c.Long, "Exit status") {
		c.Long += exitStatuses
	}
	c.DisableAutoGenTag = true
	var page bytes.Buffer
	if err := doc.GenMan(c, &doc.GenManHeader{Source: "weft " + experiments.Version(), Manual: "weft", Date: &time.Time{}}, &page); err != nil {
		return err
	}
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	pages[name+".1"] = bytes.Replace(page.Bytes(), []byte(time.Time{}.Format("Jan 2006")), nil, 1)
	return nil
}

const exitStatuses = `

# EXIT STATUS
0 success; 1 something could not be computed or written, or a target was missed; 2 the
command line, a file or a folder cannot be used, and nothing was written.`

// filePage is weft-experiment(5): every key of an experiment file.
func filePage() []byte {
	head := `% "WEFT-EXPERIMENT" "5" "" "weft ` + experiments.Version() + `" "weft"` + "\n"
	return md2man.Render([]byte(head + catalogue.Manual()))
}

// completeSettings makes the shell complete --set: the keys of the kind of the file
// that the command line names, and the names and choices that a key can have.
func completeSettings(c *cobra.Command) {
	complete(c, "set", func(args []string, start string) []string {
		kind := "traffic"
		for _, name := range args {
			if k := experiments.KindOf(name); k != "" {
				kind = k
				break
			}
		}
		prefix := ""
		if rest, swept := strings.CutPrefix(start, "sweep."); swept {
			prefix, start = "sweep.", rest
		}
		var found []string
		for key, values := range catalogue.Completions(kind) {
			if before, _, given := strings.Cut(start, "="); given && before == key {
				found = append(found, lists.Map(values, func(value string) string { return prefix + key + "=" + value })...)
				continue
			}
			found = append(found, prefix+key+"=")
		}
		slices.Sort(found)
		return found
	})
}

// completeColumns makes the shell complete flags by the columns of the table that the
// command line names.
func completeColumns(c *cobra.Command, flags ...string) {
	for _, flag := range flags {
		complete(c, flag, func(args []string, _ string) []string {
			for _, name := range args {
				if t, err := results.ReadTableFile(name); err == nil {
					return t.Columns
				}
			}
			return nil
		})
	}
}

// complete makes the shell complete the values of a flag that begin with what is
// written; it puts no space behind a key that still wants a value.
func complete(c *cobra.Command, flag string, values func(args []string, start string) []string) {
	err := c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
		directive, all := cobra.ShellCompDirectiveNoFileComp, values(args, start)
		if slices.ContainsFunc(all, func(value string) bool { return strings.HasSuffix(value, "=") }) {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return beginning(all, start), directive
	})
	if err != nil {
		panic("weft: " + err.Error())
	}
}

// Completed makes the shell complete a command's arguments from a list, and by files too where these can
// be named.
func Completed(c *cobra.Command, files bool, names func(before []string) []string) *cobra.Command {
	directive := cobra.ShellCompDirectiveNoFileComp
	if files {
		directive = cobra.ShellCompDirectiveDefault
	}
	c.ValidArgsFunction = func(_ *cobra.Command, before []string, start string) ([]string, cobra.ShellCompDirective) {
		return beginning(names(before), start), directive
	}
	return c
}

// beginning are the words that begin with what is written, each once.
func beginning(all []string, start string) (fit []string) {
	for _, x := range all {
		if strings.HasPrefix(x, start) {
			fit = results.AddNew(fit, x)
		}
	}
	return fit
}

// ExperimentNames are the files that come with weft.
func ExperimentNames([]string) []string {
	return lists.Map(experiments.Embedded(""), func(name string) string { return strings.TrimSuffix(name, ".toml") })
}

// paperNames are the papers and their artifacts, and what can stand in their place.
func paperNames([]string) []string {
	names := sourceNames()
	for _, file := range experiments.Embedded("papers") {
		name := paperName(file)
		paper, _, _ := strings.Cut(name, "/")
		names = append(names, paper, name)
	}
	return names
}

// listNames are the categories, and the entries of the one that is named.
func listNames(before []string) []string {
	var names []string
	for _, category := range catalogue.Categories() {
		switch {
		case len(before) == 0:
			names = append(names, category.Name)
		case len(before) == 1 && before[0] == category.Name:
			return lists.Map(category.Entries, func(e param.Description) string { return e.Name })
		}
	}
	return names
}

// commandNames completes weft man.
func commandNames(root *cobra.Command) func([]string) []string {
	return func(before []string) []string {
		names := []string{"weft", "experiment"}
		for _, c := range root.Commands() {
			if c.IsAvailableCommand() && c.Name() != "help" && len(before) == 0 {
				names = append(names, c.Name())
			}
		}
		return names
	}
}

func workloadNames([]string) []string {
	return lists.Map(experiments.Workloads, func(w experiments.Workload) string { return w.Name })
}

// Choice is a flag with some values, which the shell completes.
func Choice(c *cobra.Command, to *string, flag, value, usage string, values ...string) {
	c.Flags().StringVar(to, flag, value, usage)
	Choices(c, flag, values...)
}

// Choices makes the shell complete the values of a flag.
func Choices(c *cobra.Command, flag string, values ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic("weft: " + err.Error())
	}
}

// kindNames completes weft init.
func kindNames(before []string) []string {
	if len(before) > 0 {
		return nil
	}
	return experiments.KindNames()
}
