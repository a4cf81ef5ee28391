package command

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/catalogue"
)

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
				for _, value := range values {
					found = append(found, prefix+key+"="+value)
				}
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
				if t, err := experiments.ReadTableFile(name); err == nil {
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
		directive := cobra.ShellCompDirectiveNoFileComp
		var fit []string
		for _, value := range values(args, start) {
			if strings.HasPrefix(value, start) {
				fit = append(fit, value)
			}
			if strings.HasSuffix(value, "=") {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
		}
		return fit, directive
	})
	if err != nil {
		panic("weft: " + err.Error())
	}
}

// completed makes the shell complete a command's arguments from a list, and the
// values of --format and --style from their help.
func completed(c *cobra.Command, files bool, names func(before []string) []string) *cobra.Command {
	directive := cobra.ShellCompDirectiveNoFileComp
	if files {
		directive = cobra.ShellCompDirectiveDefault
	}
	c.ValidArgsFunction = func(_ *cobra.Command, before []string, start string) ([]string, cobra.ShellCompDirective) {
		var fit []string
		for _, name := range names(before) {
			if strings.HasPrefix(name, start) && !slices.Contains(fit, name) {
				fit = append(fit, name)
			}
		}
		return fit, directive
	}
	return c
}

// experimentNames are the files that come with weft.
func experimentNames([]string) []string {
	names := experiments.Embedded("")
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, ".toml")
	}
	return names
}

// paperNames are the papers and their artifacts, and what can stand in their place.
func paperNames([]string) []string {
	names := slices.Sorted(maps.Keys(references))
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
			for _, e := range category.Entries {
				names = append(names, e.Name)
			}
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
	var names []string
	for _, w := range experiments.Workloads {
		names = append(names, w.Name)
	}
	return names
}

// choices makes the shell complete the values of a flag.
func choices(c *cobra.Command, flag string, values ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic("weft: " + err.Error())
	}
}

// explainedWords completes weft explain.
func explainedWords([]string) []string { return catalogue.Words() }

// kindNames completes weft init.
func kindNames(before []string) []string {
	if len(before) > 0 {
		return nil
	}
	return experiments.KindNames()
}
