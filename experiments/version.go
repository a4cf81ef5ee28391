package experiments

import "runtime/debug"

// Version names the build of weft: the module's version, which for a build
// from a checkout holds the commit.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "devel"
}
