package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/weft-sim/weft/experiments"
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
	count := map[string]int{}
	rows, err := experiments.Interruptible(ctx, func() ([]opensmruns.Row, error) {
		folder, err := opensmruns.ReadFolder(data)
		if err != nil {
			return nil, &statusError{exitUsage, err}
		}
		runs, err := folder.Select(names)
		if err != nil {
			return nil, &usageError{err}
		}
		var rows []opensmruns.Row
		for i := range runs {
			row, err := folder.Judge(&runs[i])
			if err != nil {
				return nil, &statusError{exitUsage, err}
			}
			count[row.Verdict]++
			rows = append(rows, row)
		}
		return rows, nil
	})
	if err != nil {
		return err
	}
	table := opensmruns.Table(rows)
	var b bytes.Buffer
	if err := table.Write(&b); err != nil {
		return err
	}
	folder := filepath.Join(out, subnetName)
	file := filepath.Join(folder, "verdicts.csv")
	if err := experiments.MakeFolder(folder); err != nil {
		return err
	}
	if err := experiments.WriteFile(file, b.Bytes()); err != nil {
		return err
	}
	if err := aligned(a.stdout, table); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "%s: %d equal, %d refused as there, %d differ; %s\n", subnetName,
		count[opensmruns.Equal], count[opensmruns.Refused], count[opensmruns.Differs], file)
	if count[opensmruns.Differs] > 0 {
		return &statusError{status: exitFailure}
	}
	return nil
}
