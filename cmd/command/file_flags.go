package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
)

// fileFlags are the options that change how an experiment file is read.
type fileFlags struct {
	set   []string
	seed  seedFlag
	quick bool
	both  bool // find the problems of the quick variant too
	// allowDeadlock is an option of the commands that certify.
	allowDeadlock bool
	cache         cacheFlags
}

func (f *fileFlags) register(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.set, "set", nil, "set a key of the file, `KEY=VALUE` with dotted KEY; may be repeated")
	completeSettings(c)
	c.Flags().Var(&f.seed, "seed", "seed of the random streams in place of the file's")
	c.Flags().BoolVar(&f.quick, "quick", false, "apply the file's [quick] table: smaller and shorter")
}

func (f *fileFlags) registerAllowDeadlock(c *cobra.Command) {
	c.Flags().BoolVar(&f.allowDeadlock, "allow-deadlock", false, "accept networks that can deadlock: too few virtual channels, or a cycle of channels that wait for each other")
}

func (f *fileFlags) options() experiments.Options {
	set := f.set
	if f.seed.given {
		set = append(set[:len(set):len(set)], "seed="+f.seed.String())
	}
	return experiments.Options{Set: set, Quick: f.quick, CheckQuick: f.both, AllowDeadlock: f.allowDeadlock, Cache: f.cache.open()}
}

// open reads all files; problems of all of them are reported together.
func (f *fileFlags) open(ctx context.Context, names []string) ([]*experiments.File, error) {
	return ofAll(ctx, len(names), func(i int) (*experiments.File, error) { return experiments.Open(names[i], f.options()) }, func(int, *experiments.File) {})
}

// ofAll is what read gives for each of n files, done being told of it at once; problems
// of all of them are reported together.
func ofAll[T any](ctx context.Context, n int, read func(i int) (T, error), done func(i int, x T)) ([]T, error) {
	var all []T
	var problems experiments.Problems
	for i := range n {
		x, err := experiments.Interruptible(ctx, func() (T, error) { return read(i) })
		var bad experiments.Problems
		switch {
		case errors.As(err, &bad):
			problems = append(problems, bad...)
		case err != nil:
			return nil, err
		default:
			done(i, x)
			all = append(all, x)
		}
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return all, nil
}
