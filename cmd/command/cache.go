package command

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/weft-sim/weft/experiments"
)

// cacheVariable is the environment variable that names the cache folder.
const cacheVariable = "WEFT_CACHE"

// cacheFlags say where certificates and channel loads are kept for later runs.
type cacheFlags struct {
	dir     string
	off     bool
	command *cobra.Command // whose standard error hears of what is wrong; nil: nothing is kept
}

func (f *cacheFlags) register(c *cobra.Command) {
	f.command = c
	c.Flags().StringVar(&f.dir, "cache", "", "folder `DIR` in which certificates and channel loads are kept for later runs (default $"+cacheVariable+", or weft in the user's cache folder)")
	c.Flags().BoolVar(&f.off, "no-cache", false, "keep nothing for later runs, and use nothing that earlier ones have kept")
}

// open is the cache to use; nil: none.
func (f *cacheFlags) open() *experiments.Cache {
	if f.command == nil || f.off {
		return nil
	}
	dir := f.dir
	if dir == "" {
		dir = os.Getenv(cacheVariable)
	}
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil // a user without a home keeps nothing
		}
		dir = filepath.Join(user, "weft")
	}
	return &experiments.Cache{
		Dir: dir, Limit: experiments.DefaultCacheLimit, Least: experiments.DefaultCacheLeast,
		Warn: func(message string) { fmt.Fprintln(f.command.ErrOrStderr(), "warning: cache:", message) },
	}
}
