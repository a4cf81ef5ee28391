package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/reference"
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
		for key, values := range reference.Settings(kind) {
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
