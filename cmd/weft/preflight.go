package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-sim/weft/experiments"
)

// warn prints what the kinds have to say about the files.
func (a *app) warn(files []*experiments.File) {
	for _, f := range files {
		a.warnings(f, f.Warnings)
	}
}

func (a *app) warnings(f *experiments.File, list []experiments.Warning) {
	for _, w := range list {
		fmt.Fprintf(a.stderr, "%s: warning: %s %s\n", f.Place(w.Key), w.Key, w.Message)
	}
}

// preflight examines all files before any of them runs and prints the
// warnings; what forbids a run is returned together, for all files.
func (a *app) preflight(ctx context.Context, files []*experiments.File, examine func(i int) (*experiments.Report, error)) ([]*experiments.Report, error) {
	var reports []*experiments.Report
	var problems experiments.Problems
	for i, f := range files {
		report, err := experiments.Interruptible(ctx, func() (*experiments.Report, error) { return examine(i) })
		var bad experiments.Problems
		switch {
		case errors.As(err, &bad):
			problems = append(problems, bad...)
		case err != nil:
			return nil, err
		default:
			a.warnings(f, report.Warnings)
			reports = append(reports, report)
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return reports, nil
}

// preflightRun is preflight before a run, of points that are not finished.
func (a *app) preflightRun(ctx context.Context, files []*experiments.File, folders []string, resume bool) error {
	_, err := a.preflight(ctx, files, func(i int) (*experiments.Report, error) {
		if resume {
			return files[i].PreflightRest(folders[i])
		}
		return files[i].Preflight(false)
	})
	return err
}
