package atlas

import (
	"compress/gzip"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/booksim"
)

//go:embed reference
var embedded embed.FS

// Own is the folder that comes with weft.
func Own() fs.FS {
	own, err := fs.Sub(embedded, "reference")
	if err != nil {
		panic("atlas: " + err.Error())
	}
	return own
}

// Reference is a folder that weft is judged by.
type Reference struct {
	folder  fs.FS
	name    string // of the folder, for messages
	Targets []Target
	Curves  []Curve
	seeds   []seedPoint
}

// Target is a row of targets.csv.
type Target struct {
	ID, Topology, Instance, Metric, Value, Kind string
	line                                        int
}

// Read reads a folder: targets.csv, curves.csv, seeds.csv and the folders curves and graphs.
// Any of the tables may be missing, not all. name is what the folder is called in messages. The error
// is of type experiments.Problems and holds everything that is wrong with all files.
func Read(folder fs.FS, name string) (*Reference, error) {
	r := &Reference{folder: folder, name: name}
	var problems experiments.Problems
	there := 0
	for _, t := range []struct {
		file    string
		columns []string
		row     func(line int, cells []string)
	}{
		{"targets.csv", []string{"id", "topology", "instance", "metric", "value", "kind"}, func(line int, c []string) {
			r.Targets = append(r.Targets, Target{c[0], c[1], c[2], c[3], c[4], c[5], line})
		}},
		{"curves.csv", []string{"curve", "graph", "routing", "traffic"}, func(line int, c []string) {
			r.Curves = append(r.Curves, Curve{Curve: booksim.Curve{Name: c[0]}, Graph: c[1], Routing: c[2], Traffic: c[3], line: line})
		}},
		{"seeds.csv", []string{"curve", "load", "latency"}, func(line int, c []string) {
			load, err := strconv.ParseFloat(c[1], 64)
			latency, err2 := strconv.ParseFloat(c[2], 64)
			if err := errors.Join(err, err2); err != nil {
				problems = append(problems, &experiments.Problem{At: fmt.Sprintf("%s:%d", path.Join(name, "seeds.csv"), line), Message: err.Error()})
			}
			r.seeds = append(r.seeds, seedPoint{c[0], load, latency})
		}},
	} {
		err := r.table(t.file, t.columns, t.row)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			problems = append(problems, &experiments.Problem{At: path.Join(name, t.file), Message: err.Error()})
		}
		there++
	}
	if there == 0 {
		problems = append(problems, &experiments.Problem{At: name, Message: "holds neither targets.csv nor curves.csv nor seeds.csv"})
	}
	if len(problems) == 0 && len(r.Curves) > 0 {
		problems = append(problems, r.readCurves()...)
	}
	if len(problems) == 0 {
		r.setNoise()
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return r, nil
}

// table reads the named columns of a CSV table.
func (r *Reference) table(file string, columns []string, row func(line int, cells []string)) error {
	content, err := r.read(file)
	if err != nil {
		return err
	}
	t, err := experiments.ReadTable(file, strings.NewReader(content))
	if err != nil {
		return err
	}
	at := make([]int, len(columns))
	for i, name := range columns {
		if at[i], err = t.Column(name); err != nil {
			return err
		}
	}
	for i, all := range t.Rows {
		cells := make([]string, len(columns))
		for k, column := range at {
			cells[k] = strings.TrimSpace(all[column])
		}
		row(i+2, cells)
	}
	return nil
}

// largestFile bounds what is read of a file, unpacked.
const largestFile = 64 << 20

// read is the text of a file of the folder, unpacked if its name ends in .gz.
func (r *Reference) read(file string) (string, error) {
	f, err := r.folder.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var from io.Reader = f
	if strings.HasSuffix(file, ".gz") {
		if from, err = gzip.NewReader(f); err != nil {
			return "", err
		}
	}
	content, err := io.ReadAll(io.LimitReader(from, largestFile+1))
	if err == nil && len(content) > largestFile {
		err = fmt.Errorf("holds more than %d bytes, the most that is read", largestFile)
	}
	return string(content), err
}
