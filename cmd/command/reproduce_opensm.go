package command

import (
	"context"
	"fmt"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/experiments/opensmruns"
)

// subnetName is what stands in the place of a paper for tables of OpenSM.
const subnetName = "opensm"

// namesSubnet tells whether reproduce is asked for tables of OpenSM rather than
// papers.
func namesSubnet(names []string, data string) (bool, error) {
	runs := 0
	for _, name := range names {
		if name == subnetName || strings.HasPrefix(name, subnetName+"/") {
			runs++
		}
	}
	switch {
	case runs > 0 && runs < len(names):
		return false, usagef("%s has verdicts of its own: name it alone", subnetName)
	case runs > 0 && data == "":
		return false, usagef("%s needs --data DIR, a folder of tables that OpenSM computed; see weft reproduce --help", subnetName)
	}
	return runs > 0, nil
}

// reproduceSubnet holds weft's engines against tables that OpenSM computed.
func (a *app) reproduceSubnet(ctx context.Context, names []string, data, out string) error {
	var runs []opensmruns.Run
	rows, err := experiments.Interruptible(ctx, func() (rows []opensmruns.Row, err error) {
		folder, err := opensmruns.ReadFolder(data)
		if err != nil {
			return nil, err
		}
		if runs, err = folder.Select(names); err != nil {
			return nil, &usageError{err}
		}
		if faults := opensmruns.FaultsOf(runs); !opensmruns.Readable(runs) {
			return nil, faults
		}
		for i := range runs {
			rows = append(rows, folder.Judge(&runs[i]))
		}
		return rows, nil
	})
	if err != nil {
		return err
	}
	table, file := opensmruns.Table(rows), verdictsFile(out, subnetName)
	if err := writeTable(file, table); err != nil {
		return err
	}
	if err := aligned(a.stdout, table); err != nil {
		return err
	}
	a.sayFaults(opensmruns.FaultsOf(runs))
	count := judge.Count{}
	for _, r := range rows {
		count.Add(r.Verdict)
	}
	fmt.Fprintf(a.stderr, "%s: %s; %s\n", subnetName, count, file)
	return judgement(count[judge.Differs] > 0, count[judge.Unreadable] > 0)
}
