package catalogue

import (
	"fmt"
	"text/tabwriter"

	"github.com/weft-sim/weft/mpi/systems"
)

// systemsCategory is the category of presets of machines, of which there is more to say than their settings.
const systemsCategory = "systems"

// listErrors says how far a preset is from measurements, and what of it is not known.
func listErrors(t *tabwriter.Writer, name string) {
	p, err := systems.Registry.New(name, struct{}{})
	if err != nil {
		return
	}
	for _, e := range p.Errors() {
		fmt.Fprintf(t, "  \t  %s, %s: median of errors %s %%, nine in ten within %s %%, %s rows\n", e.Class, e.Sizes, e.Median, e.P90, e.Rows)
	}
	if len(p.Errors()) == 0 {
		fmt.Fprintf(t, "  \t  held against no row\n")
	}
	if p.Unknown != "" {
		fmt.Fprintf(t, "  \t  not known: %s\n", p.Unknown)
	}
}

// sources are the values of a preset with where they come from.
func sources(name string) (facts []string) {
	p, err := systems.Registry.New(name, struct{}{})
	if err != nil {
		return nil
	}
	for _, v := range p.Value {
		facts = append(facts, fmt.Sprintf("%s %s; %s", v.Key, v.Value, v.Source))
	}
	for _, f := range p.Fitted {
		facts = append(facts, fmt.Sprintf("fitted %s", f))
	}
	return facts
}
