package booksim

import (
	"embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/sim/input"
)

//go:embed curves
var embedded embed.FS

// Own is the folder of curves that comes with weft.
func Own() fs.FS {
	own, err := fs.Sub(embedded, "curves")
	if err != nil {
		panic("booksim: " + err.Error())
	}
	return own
}

// Curve is what one file holds of a curve, with the configuration that it was
// measured with.
type Curve struct {
	Name   string // of the configuration, without .cfg
	File   string // that the points are in
	Config *Config
	Points []Point // in the file's order
}

// Point is one measurement.
type Point struct {
	Load      float64 // offered, in flits per terminal and cycle
	Seed      string  // empty where the file has no such column
	Saturated bool
	// Overloaded says that queues still grew though BookSim2 took the point for stable.
	Overloaded bool
	Latency    float64 // mean of packets, from birth, in cycles; NaN where none is given, of saturated points only
	Accepted   float64 // in flits per terminal and cycle
	line       int
}

// Columns of a table of curves. "curve" and "seed" may be missing: the file's name
// is then the curve's.
const (
	curveColumn    = "curve"
	seedColumn     = "seed"
	statusColumn   = "status"
	loadColumn     = "offered_flits_per_node_cycle"
	latencyColumn  = "avg_packet_latency_cycles"
	acceptedColumn = "accepted_flits_per_node_cycle"
)

var wanted = []string{loadColumn, statusColumn, latencyColumn, acceptedColumn}

// largestFile bounds what is read of a file.
const largestFile = 64 << 20

// ReadFolder reads all tables of curves in a folder and the configurations beside
// them. Tables without any of the columns of a curve are left aside, and named in
// ignored. name is what the folder is called in messages. The error is of type
// experiments.Problems and holds everything that is wrong with all files.
func ReadFolder(folder fs.FS, name string) (curves []Curve, ignored []string, err error) {
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return nil, nil, experiments.Problems{{At: name, Message: "cannot be read: " + reason(err)}}
	}
	r := &reader{folder: folder, name: name, configs: map[string]*Config{}}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".csv") {
			continue
		}
		found, any := r.table(entry.Name())
		if !any {
			ignored = append(ignored, path.Join(name, entry.Name()))
		}
		curves = append(curves, found...)
	}
	if len(curves) == 0 && len(r.problems) == 0 {
		r.problem(name, "", "holds no curves; want CSV tables with the columns %s, and NAME.cfg for the curve NAME", strings.Join(wanted, ", "))
	}
	if len(r.problems) > 0 {
		return nil, nil, r.problems
	}
	slices.SortStableFunc(curves, func(a, b Curve) int { return strings.Compare(a.Name, b.Name) })
	return curves, ignored, nil
}

// reader reads a folder and collects what is wrong with it.
type reader struct {
	folder   fs.FS
	name     string
	configs  map[string]*Config // by curve; nil: has problems
	problems experiments.Problems
}

func (r *reader) problem(at, key, format string, args ...any) {
	r.problems = append(r.problems, &experiments.Problem{At: at, Key: key, Message: fmt.Sprintf(format, args...)})
}

// read is the text of a file of the folder.
func (r *reader) read(file string) (text string, ok bool) {
	at := path.Join(r.name, file)
	info, err := fs.Stat(r.folder, file)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err == nil && info.Size() > largestFile {
		err = fmt.Errorf("it has %d bytes; want at most %d", info.Size(), largestFile)
	}
	var content []byte
	if err == nil {
		content, err = fs.ReadFile(r.folder, file)
	}
	if err != nil {
		r.problem(at, "", "cannot be read: %s", reason(err))
	}
	return string(content), err == nil
}

// reason is an error without the path, which the message names already.
func reason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// curveName is a name that can be one of a file and of a folder.
var curveName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.+-]{0,199}$`)

// table reads a table of curves; any is false if the file is something else.
func (r *reader) table(file string) (curves []Curve, any bool) {
	content, ok := r.read(file)
	if !ok {
		return nil, true
	}
	at := path.Join(r.name, file)
	c := csv.NewReader(input.Text(strings.NewReader(content)))
	c.ReuseRecord = true
	header, err := c.Read()
	if errors.Is(err, io.EOF) {
		return nil, false
	}
	if err != nil {
		r.problem(at, "", "not a CSV table: %v", err)
		return nil, true
	}
	columns := map[string]int{}
	for i, name := range header {
		columns[strings.TrimSpace(name)] = i
	}
	var missing []string
	for _, name := range wanted {
		if _, there := columns[name]; !there {
			missing = append(missing, name)
		}
	}
	if len(missing) == len(wanted) {
		return nil, false
	}
	if len(missing) > 0 {
		r.problem(place(at, 1), "", "has no column %s; a curve has %s", strings.Join(missing, ", "), strings.Join(wanted, ", "))
		return nil, true
	}
	of := map[string]int{} // curves by name
	for {
		row, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			r.problem(at, "", "not a CSV table: %v", err)
			return nil, true
		}
		line, _ := c.FieldPos(0)
		name := strings.TrimSuffix(file, ".csv")
		if i, there := columns[curveColumn]; there {
			name = row[i]
		}
		if !curveName.MatchString(name) {
			r.problem(place(at, line), "", "%s = %s: want a name of letters, digits and . _ + -", curveColumn, shown(name))
			continue
		}
		p, ok := r.point(place(at, line), row, columns)
		p.line = line
		i, there := of[name]
		if !there {
			i = len(curves)
			of[name] = i
			curves = append(curves, Curve{Name: name, File: file, Config: r.config(name, place(at, line))})
		}
		if !ok {
			continue
		}
		for _, q := range curves[i].Points {
			if q.Load == p.Load && q.Seed == p.Seed {
				r.problem(place(at, line), "", "repeats the load and the seed of line %d", q.line)
			}
		}
		curves[i].Points = append(curves[i].Points, p)
	}
	if len(curves) == 0 {
		r.problem(at, "", "holds no point")
	}
	return curves, true
}

// point reads a row.
func (r *reader) point(at string, row []string, columns map[string]int) (p Point, ok bool) {
	before := len(r.problems)
	cell := func(name string) string { return strings.TrimSpace(row[columns[name]]) }
	number := func(name string, most float64, want string) float64 {
		x, err := strconv.ParseFloat(cell(name), 64)
		if err != nil || !(x >= 0 && x <= most) {
			r.problem(at, "", "%s = %s: want %s", name, shown(cell(name)), want)
		}
		return x
	}
	switch status := cell(statusColumn); status {
	case "stable":
	case "saturated":
		p.Saturated = true
	case "overloaded":
		p.Overloaded = true
	default:
		r.problem(at, "", "%s = %s: want stable, overloaded or saturated", statusColumn, shown(status))
	}
	if p.Load = number(loadColumn, 1, "a load above 0, at most 1"); p.Load == 0 && len(r.problems) == before {
		r.problem(at, "", "%s = %s: want a load above 0, at most 1", loadColumn, shown(cell(loadColumn)))
	}
	p.Accepted = number(acceptedColumn, 1.5, "a load from 0 on, in flits per node and cycle")
	if p.Latency = noLatency; !p.Saturated || !slices.Contains([]string{"", "nan", "-nan", "inf"}, strings.ToLower(cell(latencyColumn))) {
		p.Latency = number(latencyColumn, 1e12, "cycles, at least 0")
	}
	if _, there := columns[seedColumn]; there {
		p.Seed = cell(seedColumn)
	}
	return p, len(r.problems) == before
}

// config reads the configuration of a curve, once.
func (r *reader) config(name, at string) *Config {
	if c, there := r.configs[name]; there {
		return c
	}
	r.configs[name] = nil
	file := name + ".cfg"
	if _, err := fs.Stat(r.folder, file); errors.Is(err, fs.ErrNotExist) {
		r.problem(at, "", "is of curve %s, and there is no %s beside it", name, path.Join(r.name, file))
		return nil
	}
	text, ok := r.read(file)
	if !ok {
		return nil
	}
	c, err := ParseConfig(path.Join(r.name, file), text)
	var problems experiments.Problems
	if errors.As(err, &problems) {
		r.problems = append(r.problems, problems...)
	}
	r.configs[name] = c
	return c
}
