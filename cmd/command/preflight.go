package command

import (
	"context"
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
	return ofAll(ctx, len(files), examine, func(i int, report *experiments.Report) { a.warnings(files[i], report.Warnings) })
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
