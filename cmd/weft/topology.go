package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
)

func (a *app) topologyCommand() *cobra.Command {
	var flags fileFlags
	var format, out string
	c := &cobra.Command{
		Use:   "topology FILE.toml",
		Short: "Describe the network of an experiment file, or write it in another form",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := flags.open(args)
			if err != nil {
				return err
			}
			f := files[0]
			if format == "" {
				return a.describeTopology(f)
			}
			var b bytes.Buffer
			if err := f.WriteTopology(&b, format); err != nil {
				return &usageError{err}
			}
			if out != "" {
				return experiments.WriteFile(out, b.Bytes())
			}
			_, err = a.stdout.Write(b.Bytes())
			return err
		},
	}
	flags.register(c)
	c.Flags().StringVar(&format, "format", "", strings.Join(experiments.TopologyFormats(), ", ")+" (default: a summary)")
	c.Flags().StringVarP(&out, "output", "o", "", "`FILE` to write to (default: standard output)")
	return c
}

// describeTopology prints what there is, beside the closed forms of the
// family.
func (a *app) describeTopology(f *experiments.File) error {
	built, err := f.Topology()
	if err != nil {
		return &usageError{err}
	}
	g, facts := built.Graph(), built.Facts()
	known := func(n int) string {
		if n < 0 {
			return "no closed form"
		}
		return fmt.Sprint(n)
	}
	ports := make(map[string]int)
	for p := range g.NumPorts() {
		ports[g.Classes[g.PortClass[p]].Name]++
	}
	fmt.Fprintf(a.stdout, "switches   %d\nterminals  %d\nlinks      %d between switches\ndiameter   %s\nbisection  %s\n",
		g.Switches(), g.Terminals(), g.SwitchLinks(), known(facts.Diameter), known(facts.Bisection))
	for _, class := range g.Classes {
		fmt.Fprintf(a.stdout, "class      %s: %d switch ports, %d cycles\n", class.Name, ports[class.Name], class.Latency)
	}
	return nil
}
