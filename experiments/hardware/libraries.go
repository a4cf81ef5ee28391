package hardware

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/weft-sim/weft/mpi/systems"
	"github.com/weft-sim/weft/sim/input"
)

// rules is whose rules a library's collectives go by.
type rules struct {
	begins string // of the name, in small letters without blanks and hyphens
	of     string // weft's library
	why    string // what a row is told whose own rules are others
}

// known are libraries for which systems.toml need not say whose they are.
var known = []rules{
	{"openmpi", "open-mpi", ""}, {"ompi", "open-mpi", ""}, {"mpich", "mpich", ""},
	{"hpcx", "open-mpi", ""}, // see hcoll
	{"spectrum", "open-mpi", "those of Spectrum MPI are not public"},
	{"intel", "intel-mpi", "those of Intel MPI are not public"}, {"impi", "intel-mpi", "those of Intel MPI are not public"},
	{"craympich", "mpich", "those of Cray MPICH are not public"},
	{"mvapich", "mvapich", ""}, // see libraryOf
}

// hcoll is why the rules of Open MPI are not all that HPC-X goes by.
const hcoll = "those of hcoll, which HPC-X prefers, are not public"

// libraryOf is weft's library for that of a row, the transport that the row names, and why the rules of its
// collectives may be others; "": they are the same.
func (s *system) libraryOf(name string) (library, transport, why string) {
	library, why = cmp.Or(s.Library, "open-mpi"), "whose the library is is not known"
	small := strings.ToLower(name)
	plain := strings.NewReplacer(" ", "", "-", "", "(r)", "").Replace(small)
	for _, r := range known {
		if strings.HasPrefix(plain, r.begins) {
			library, why = r.of, r.why
		}
	}
	for _, begins := range slices.Sorted(maps.Keys(s.Libraries)) {
		if strings.HasPrefix(name, begins) && library != s.Libraries[begins] {
			library, why = s.Libraries[begins], ""
		}
	}
	for _, t := range []string{"verbs", "linkx", "cxi", "efa", "ucx"} {
		if strings.Contains(plain, t) {
			transport = t
			break
		}
	}
	version := versionOf(small)
	switch {
	case library == "open-mpi" && (strings.Contains(plain, "hpcx") || strings.Contains(plain, "hcoll")):
		why = hcoll
	case library == "mvapich" && !strings.HasPrefix(version, "1."):
		library, why = "mpich", "the tables of MVAPICH2 by architecture weft has not" // nearer than those of 1.2rc1
	}
	return systems.LibraryFor(library, version), transport, why
}

// Versions in names of libraries, in small letters: of Open MPI, of HPC-X, of any.
var (
	openMPI = input.Pattern(`open ?mpi[ /v-]*([0-9]+(?:\.[0-9]+)+)`)
	hpcX    = input.Pattern(`hpc-?x[ /v-]*(1|2\.[0-7])\b`)
	version = input.Pattern(`[0-9]+(\.[0-9]+)+`)
)

// versionOf is the version in the name of a library. HPC-X has Open MPI 4.0 up to 2.7, then 4.1. Where there is
// none, of Open MPI the rules since 4.1 are taken: an allreduce of a log without a version slows down, and is
// fast again, where they change the algorithm.
func versionOf(small string) string {
	head, _, _ := strings.Cut(small, ",")
	found := openMPI().FindStringSubmatch(small)
	switch {
	case found != nil:
		return found[1]
	case hpcX().MatchString(small):
		return "4.0"
	case strings.Contains(small, "hpc-x") || strings.Contains(small, "hpcx"):
		return "4.1"
	}
	return version().FindString(head)
}

// byRules tells whether a row is of a collective whose algorithm its library chooses.
func (b *benchmark) byRules() bool {
	return b.test == collective && b.algorithm == "" && b.operation != sendRecv && b.operation != exchange
}

// byLevels tells whether a row is of a collective that Open MPI has in coll/han, which comes before
// coll/tuned since version 5 where nodes have several ranks.
func (r *row) byLevels() bool {
	return strings.HasPrefix(versionOf(strings.ToLower(r.library)), "5.") && r.byRules() && openMPI().MatchString(strings.ToLower(r.library)) && r.nodes > 1 && r.perNode > 1 &&
		slices.Contains([]string{"allgather", "allgatherv", "allreduce", "barrier", "broadcast", "reduce"}, r.operation)
}
