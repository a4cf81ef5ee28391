package hardware

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/judge"
	"github.com/weft-sim/weft/mpi/systems"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
)

// systemsFile says of each system which preset it is.
type systemsFile struct {
	System map[string]*system
}

// system is a machine of a folder.
type system struct {
	Preset    string            `toml:"preset"`
	Library   string            `toml:"library"`
	Libraries map[string]string `toml:"libraries"` // by the beginning of the rows' library
	PerLeaf   int               `toml:"nodes_per_leaf"`
	Sockets   int               `toml:"sockets"`
	Cores     int               `toml:"cores"`    // of a socket
	Adapters  int               `toml:"adapters"` // of a node; with one a rank, ranks of a node exchange through them
	Note      string            `toml:"note"`     // why its rows are not judged, without a preset

	name     string
	rows     []*row
	machines map[string]*machine // by library and transport
	outcomes map[string]*outcome // by machine and benchmark
}

// row is a line of rows.csv.
type row struct {
	benchmark
	system, title, library, quality, unit, notes string
	measured                                     float64
	refused                                      string // why it is not simulated
	machine                                      string // of those of its system
	fitted                                       bool

	simulated float64
	verdict   string
	note      string
}

// tests of the rows.
const (
	pingPong    = "ping-pong"
	bandwidth   = "bandwidth"
	messageRate = "message rate"
	collective  = "collective"
)

// benchmark is what a row measures.
type benchmark struct {
	test, operation, algorithm string
	library                    string // of weft's, that chooses an algorithm
	nodes, perNode, ranks      int
	byCore                     int // cores of a socket, if ranks fill it before they take another
	bytes                      int64
	pairs                      bool // of a ping-pong: of all ranks at once
	bothWays                   bool // of streams
	inARow                     bool // of calls: without a barrier between them
	far, cyclic, perftest      bool
}

// kinds of benchmarks by the first word of their name, in small letters, without whose it is and where it runs.
var kinds = map[string]benchmark{
	"latency": {test: pingPong}, "pingpong": {test: pingPong}, "multi_lat": {test: pingPong, pairs: true},
	"bw": {test: bandwidth}, "bandwidth": {test: bandwidth}, "bibw": {test: bandwidth, bothWays: true}, "mbw_mr": {test: messageRate}, "uniband": {test: bandwidth}, "biband": {test: bandwidth, bothWays: true},
	"ib_send_lat_ud": {test: pingPong, perftest: true}, "ib_send_lat": {test: pingPong, perftest: true}, "ib_write_lat": {test: pingPong, perftest: true},
	"ib_send_bw_rate_ud": {test: messageRate, perftest: true}, "ib_write_bw_rate": {test: messageRate, perftest: true}, "ib_send_bw_rate": {test: messageRate, perftest: true},
	"ib_write_bw": {test: bandwidth, perftest: true}, "ib_send_bw": {test: bandwidth, perftest: true}, "ib_send_bw_ud": {test: bandwidth, perftest: true},
	"alltoall": {operation: "alltoall"}, "allreduce": {operation: "allreduce"}, "allgather": {operation: "allgather"}, "bcast": {operation: "broadcast"}, "barrier": {operation: "barrier", inARow: true},
	"alltoallv": {operation: "alltoallv"}, "allgatherv": {operation: "allgatherv"}, "reduce": {operation: "reduce"},
	"sendrecv": {operation: sendRecv, inARow: true}, "pingping": {operation: sendRecv, inARow: true}, "exchange": {operation: exchange, inARow: true},
}

// IMB's exchanges with neighbours on a ring, of which PingPing is the one of two ranks.
const (
	sendRecv = "sendrecv"
	exchange = "exchange"
)

// scale is what a unit is of the unit that weft measures a test in.
var scale = map[string]map[string]float64{
	pingPong: times, collective: times,
	bandwidth:   {"MB/s": 1, "MBps": 1, "Mbytes/s": 1, "GB/s": 1e3, "GBps": 1e3, "MiB/s": 1.048576, "GiB/s": 1073.741824, "Mb/s": 0.125, "Mbps": 0.125, "Mbit/s": 0.125, "Gb/s": 125, "Gbps": 125, "Gbit/s": 125},
	messageRate: {"msg/s": 1, "Msg/sec": 1, "msgs/s": 1, "messages/s": 1, "Messages/s": 1, "Mmsg/s": 1e6, "Mpps": 1e6},
}

var times = map[string]float64{"us": 1, "usec": 1, "µs": 1, "μs": 1, "microseconds": 1, "ns": 1e-3, "ms": 1e3, "msec": 1e3, "s": 1e6}

func scaleOf(test, unit string) float64 {
	return cmp.Or(scale[test][unit], scale[test][strings.Replace(unit, "/sec", "/s", 1)])
}

// read reads rows.csv, pairs.csv where there is one, and systems.toml.
func read(path string) (all []*system, faults document.Problems, err error) {
	folder := os.DirFS(path)
	text, problem := judge.ReadFile(folder, "systems.toml")
	at := path + "/systems.toml"
	if problem != nil {
		return nil, nil, document.Problems{{At: at, Message: "cannot be read: " + problem.Error() + "; it says which preset each system is: see weft reproduce --help"}}
	}
	if _, problem := document.Parse(at, text); problem != nil { // which knows places, and a bound of the depth
		return nil, nil, problem
	}
	var file systemsFile
	meta, problem := toml.Decode(text, &file)
	if problem != nil {
		return nil, nil, document.Problems{{At: at, Message: problem.Error()}}
	}
	for _, key := range meta.Undecoded() {
		faults = append(faults, &document.Problem{At: at, Key: key.String(), Message: "is no key of it: want preset, library, libraries, nodes_per_leaf, sockets, cores, adapters, note"})
	}
	if file.System == nil {
		faults = append(faults, &document.Problem{At: at, Message: "has no table [system.NAME]"})
	}
	for _, name := range slices.Sorted(maps.Keys(file.System)) {
		s := file.System[name]
		s.name = name
		faults = append(faults, s.check(at)...)
		all = append(all, s)
	}
	wrong, there := judge.EachRow(folder, path, "rows.csv", func(t *judge.Table) {
		r := readRow(t)
		if !t.Good() {
			return
		}
		i := slices.IndexFunc(all, func(s *system) bool { return s.name == r.system })
		if i < 0 {
			i = len(all)
			all = append(all, &system{name: r.system, Note: "systems.toml does not name it"})
		}
		all[i].add(r)
	}, "system", "benchmark", "nodes", "ppn", "ranks", "size_bytes", "value", "unit", "library", "quality")
	if !there {
		return nil, nil, document.Problems{{At: path, Message: "holds no rows.csv"}}
	}
	faults = append(faults, wrong...)
	slices.SortFunc(all, func(a, b *system) int { return cmp.Compare(a.name, b.name) })
	pairs, problems := readPairs(folder, path, all)
	faults = append(faults, problems...)
	for _, r := range pairs {
		all[slices.IndexFunc(all, func(s *system) bool { return s.name == r.system })].add(r)
	}
	if all = slices.DeleteFunc(all, func(s *system) bool { return len(s.rows) == 0 }); len(all) == 0 {
		return nil, nil, append(faults, &document.Problem{At: path + "/rows.csv", Message: "holds no row that can be read"})
	}
	return all, faults, nil
}

// check finds names that weft does not know, and leaves them out: rows of other systems are judged.
func (s *system) check(at string) (faults document.Problems) {
	wrong := func(key, value string, known []string) {
		faults = append(faults, &document.Problem{At: at, Key: "system." + s.name + "." + key, Message: fmt.Sprintf("= %q: want one of %s", value, strings.Join(known, ", "))})
	}
	if names := systems.Registry.Names(); s.Preset != "" && !slices.Contains(names, s.Preset) {
		wrong("preset", s.Preset, names)
		s.Preset, s.Note = "", fmt.Sprintf("weft has no preset %q", s.Preset)
	}
	for i, n := range []*int{&s.PerLeaf, &s.Sockets, &s.Cores, &s.Adapters} {
		if *n < 0 || *n > 1<<20 {
			key := []string{"nodes_per_leaf", "sockets", "cores", "adapters"}[i]
			faults = append(faults, &document.Problem{At: at, Key: "system." + s.name + "." + key, Message: fmt.Sprintf("= %d: want a number from 0 to 2^20", *n)})
			*n = 0
		}
	}
	known := systems.Libraries()
	if s.Library != "" && !slices.Contains(known, s.Library) {
		wrong("library", s.Library, known)
		s.Library = ""
	}
	for _, of := range slices.Sorted(maps.Keys(s.Libraries)) {
		if library := s.Libraries[of]; !slices.Contains(known, library) {
			wrong("libraries", library, known)
			delete(s.Libraries, of)
		}
	}
	return faults
}

// unsized is the size of a row that says none.
const unsized = -1

func readRow(t *judge.Table) *row {
	r := &row{system: t.Cell("system"), title: t.Cell("benchmark"), library: t.Cell("library"), quality: t.Cell("quality"), unit: t.Cell("unit"), notes: t.Cell("notes")}
	r.measured = aboveZero(t, "value", 1e18)
	number := func(column string) int {
		if t.Cell(column) == "" {
			return 0
		}
		return min(t.Whole(column, 1<<40), 1<<24)
	}
	nodes, perNode, ranks, bytes := number("nodes"), number("ppn"), number("ranks"), sim.Bytes(unsized)
	if text := t.Cell("size_bytes"); text != "" {
		var err error
		if bytes, err = sim.ParseBytes(text); err != nil || bytes > 1<<40 {
			t.Wrong("size_bytes", "a size from 0 to 2^40 B, as 4096 or 4KiB")
		}
	}
	r.decode(nodes, perNode, ranks, int64(bytes))
	return r
}

// aboveZero is a number of the row that is not 0.
func aboveZero(t *judge.Table, column string, most float64) float64 {
	x := t.Number(column, most)
	if x == 0 && t.Good() {
		t.Wrong(column, "a number above 0")
	}
	return x
}

// Words by which a row is known to be of what weft has not.
var (
	onGPUs  = input.Pattern(`gpu|nccl|rccl|cuda|rocm|gdr|_device`)
	overTCP = input.Pattern(`tcp|ipoib|provider=sockets`)
)

// decode tells what a row measures, or why it cannot be simulated.
func (r *row) decode(nodes, perNode, ranks int, bytes int64) {
	words := strings.Fields(strings.NewReplacer("imb-mpi1 ", "", "imb ", "", "osu ", "").Replace(strings.ToLower(r.title)))
	if len(words) == 0 {
		words = []string{""}
	}
	name, far := strings.CutSuffix(words[0], "_across")
	for _, part := range []string{"osu_", "imb_", "nxn_", "_same_leaf", "_intranode"} {
		name = strings.TrimSuffix(strings.TrimPrefix(name, part), part)
	}
	b, known := kinds[name]
	b.test = cmp.Or(b.test, collective)
	for _, test := range []string{bandwidth, messageRate} { // as which the unit tells
		if (b.test == bandwidth || b.test == messageRate) && scaleOf(test, r.unit) > 0 {
			b.test = test
		}
	}
	b.nodes, b.perNode, b.ranks, b.bytes, b.far = nodes, perNode, ranks, bytes, far
	if b.algorithm = strings.Join(words[1:], " "); b.algorithm == "default" || b.algorithm == "ignore" {
		b.algorithm = ""
	}
	b.cyclic = strings.Contains(r.notes, "placed by node")
	b.ranks = cmp.Or(b.ranks, nodes*perNode)
	if b.ranks == 0 && b.nodes > 0 && (b.test == pingPong || b.test == bandwidth) && !b.pairs {
		b.ranks = 2
	}
	if b.perNode == 0 && b.nodes > 0 && b.ranks%b.nodes == 0 {
		b.perNode = b.ranks / b.nodes
	}
	if b.operation == "barrier" {
		b.bytes = max(0, b.bytes)
	}
	text := strings.ToLower(r.title + " " + r.library)
	if strings.Contains(text, "ucx_tls=ud") {
		r.note = "over unreliable datagrams, whose costs weft has not"
	}
	switch {
	case onGPUs().MatchString(text) || strings.Contains(r.notes, "device buffers"):
		r.refused = "it is of GPUs, which weft has not"
	case strings.Contains(text, "congest") || strings.Contains(text, "incast"):
		r.refused = "it is of one job beside others, whose traffic is not given"
	case strings.Contains(text, "sharp"):
		r.refused = "switches that reduce are not modelled"
	case overTCP().MatchString(text):
		r.refused = "it is over TCP, whose costs weft has not"
	case !known:
		r.refused = fmt.Sprintf("weft has no test %q", words[0])
	case b.nodes == 0 || b.ranks == 0 || b.perNode == 0 && b.test == collective:
		r.refused = "nodes or ranks are not known"
	case b.bytes == unsized || b.bytes == 0 && b.test == bandwidth:
		r.refused = "its size is not given"
	case b.ranks < 2:
		r.refused = "it has fewer than two ranks"
	case b.ranks%2 != 0 && b.test != collective:
		r.refused = fmt.Sprintf("%d ranks are no pairs", b.ranks)
	case b.nodes*max(b.perNode, 1) < b.ranks && b.test == collective:
		r.refused = fmt.Sprintf("%d ranks do not fit on %d nodes of %d", b.ranks, b.nodes, b.perNode)
	case differs(r.notes):
		r.refused = fmt.Sprintf("its runs differ by more than a factor of %d", mostSpread)
	case scaleOf(b.test, r.unit) == 0:
		r.refused = fmt.Sprintf("unit %q of a test of %s is not known", r.unit, b.test)
	}
	r.benchmark = b
}

func (s *system) add(r *row) {
	switch {
	case r.refused != "":
	case s.Preset == "":
		r.refused = cmp.Or(s.Note, "systems.toml gives it no preset")
	case s.Cores > 0 && s.Sockets > 0 && r.perNode > s.Cores*s.Sockets:
		r.refused = fmt.Sprintf("%d ranks a node are more than its %d cores", r.perNode, s.Cores*s.Sockets)
	case r.byLevels():
		r.refused = "Open MPI 5 goes by levels of nodes (coll/han, its default), which weft has not"
	}
	if strings.Contains(r.notes, "placed by") {
		r.byCore = s.Cores
	}
	s.rows = append(s.rows, r)
}

// spread finds the least and the greatest of repeated runs in a note.
var spread = input.Pattern(`of [0-9]+ runs; min ([0-9.]+) max ([0-9.]+)`)

// mostSpread is by how much runs may differ for their median to be judged.
const mostSpread = 2

// differs tells whether the runs behind a row differ by too much.
func differs(notes string) bool {
	found := spread().FindStringSubmatch(notes)
	if found == nil {
		return false
	}
	low, err1 := strconv.ParseFloat(found[1], 64)
	high, err2 := strconv.ParseFloat(found[2], 64)
	return err1 == nil && err2 == nil && low > 0 && high > mostSpread*low
}

// tell adds to the note of a row, unless it says so.
func (r *row) tell(note string) {
	if !strings.Contains(r.note, note) {
		r.note = strings.TrimPrefix(r.note+"; "+note, "; ")
	}
}

// hops is the test that pairs.csv holds: how much later a message between leaf switches is than one
// inside, in us.
const hops = "hops"

// readPairs reads the latencies of pairs of nodes. Of each system whose pairs are in two clear groups, near
// and far, it makes a row: the difference of their medians. Behind its name a system may have a library in
// parentheses.
func readPairs(folder fs.FS, path string, all []*system) (rows []*row, faults document.Problems) {
	latencies := map[string][]float64{}
	faults, _ = judge.EachRow(folder, path, "pairs.csv", func(t *judge.Table) {
		if us := aboveZero(t, "latency_us", 1e9); t.Good() {
			latencies[t.Cell("system")] = append(latencies[t.Cell("system")], us)
		}
	}, "system", "latency_us")
	for _, title := range slices.Sorted(maps.Keys(latencies)) {
		name, library, _ := strings.Cut(title, " (")
		i := slices.IndexFunc(all, func(s *system) bool { return s.name == name })
		difference, clear := farther(latencies[title])
		if i < 0 || !clear {
			continue
		}
		rows = append(rows, &row{
			system: name, title: "pairs far minus near", library: strings.TrimSuffix(library, ")"), quality: "A", unit: "us", measured: difference,
			benchmark: benchmark{test: hops, nodes: 2, perNode: 1, ranks: 2},
		})
	}
	return rows, faults
}

// farther divides values where the gap between them is widest, and tells by how much the medians of the
// parts differ, and whether the gap is wider than either part's middle half, which makes groups of them.
func farther(values []float64) (difference float64, clear bool) {
	slices.Sort(values)
	at, widest := 0, 0.0
	for i := 1; i < len(values); i++ {
		if gap := values[i] - values[i-1]; gap > widest {
			at, widest = i, gap
		}
	}
	if at < 4 || len(values)-at < 4 {
		return 0, false
	}
	low, high := values[:at], values[at:]
	half := func(part []float64) float64 { return part[3*len(part)/4] - part[len(part)/4] }
	return high[len(high)/2] - low[len(low)/2], widest > half(low) && widest > half(high)
}

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
