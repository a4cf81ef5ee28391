package command

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/sim/simtest"
)

// TestRegister: a registered subcommand is one of the command's, prints where it prints, and refuses
// arguments as they do; two of one name are a mistake of the program.
func TestRegister(t *testing.T) {
	before := registered
	t.Cleanup(func() { registered = before })
	greet := func(a *App) *cobra.Command {
		return &cobra.Command{Use: "greet", Short: "Greet", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error { return a.Print("hello\n") }}
	}
	Register(greet)
	for args, want := range map[string]struct {
		status      int
		out, errors string
	}{
		"greet":   {ExitSuccess, "hello\n", ""},
		"greet x": {ExitUsage, "", "weft: weft greet takes no arguments, and got 1; see weft greet --help\n"},
		"gret":    {ExitUsage, "", `weft: unknown command "gret" for "weft" (did you mean "greet"?)`},
	} {
		var out, errors bytes.Buffer
		status := Run(t.Context(), strings.Fields(args), &out, &errors)
		simtest.ErrorIf(t, status != want.status || out.String() != want.out || !strings.HasPrefix(errors.String(), want.errors),
			"weft %s: status %d: %s%s", args, status, &out, &errors)
	}
	Register(greet)
	defer func() {
		simtest.ErrorIf(t, recover() == nil, "two subcommands have one name")
	}()
	Root(&bytes.Buffer{}, &bytes.Buffer{})
}
