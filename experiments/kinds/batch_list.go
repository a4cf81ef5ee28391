package kinds

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sim/weft/sim/input"
)

// batchJob is a job of a batch list. Times are in seconds of the list.
type batchJob struct {
	name, program string // program "": that of the settings
	line          int
	submit        float64 // after the first job
	nodes         int
	duration      float64
	limit         float64 // what its user has asked for; +Inf: none
}

// batchList is a list as it was read.
type batchList struct {
	jobs         []batchJob // by the time of their submission, then as they stand in the file
	steps, never int        // lines left out: steps of jobs, and jobs that never ran
}

const (
	mostBatchJobs = 60_000
	mostSeconds   = 1e9 // thirty years
	mostNodes     = 1 << 24
)

// batchForm is a form of lists: its columns, in the order of a job's fields.
type batchForm struct {
	separator                                     string
	submit, nodes, duration, name, program, limit string
	seconds                                       func(string) (float64, bool) // of durations and limits
	time                                          func(string) (float64, bool) // of submissions
	wantSeconds, wantTime                         string
	others                                        bool // there may be other columns
}

var batchForms = map[bool]batchForm{
	false: {",", "arrival_s", "nodes", "duration_s", "job", "program", "limit_s", plainSeconds, plainSeconds, "seconds, 0 to 1e9", "seconds, 0 to 1e9", false},
	true:  {"|", "Submit", "NNodes", "Elapsed", "JobID", "JobName", "Timelimit", slurmSeconds, slurmTime, "[DAYS-]HOURS:MINUTES:SECONDS", "YEAR-MONTH-DAYTHOURS:MINUTES:SECONDS", true},
}

func (f *batchForm) columns() []string {
	return []string{f.submit, f.nodes, f.duration, f.name, f.program, f.limit}
}

// readBatch reads a batch list: columns with commas between, or what Slurm's sacct --parsable2
// prints. The error is that of all lines that are wrong. programs are those that a job may name; in
// Slurm's form a job with another name has none.
func readBatch(name string, in io.Reader, programs []string) (*batchList, error) {
	lines := input.NewLines(in, name)
	list, seen := &batchList{}, map[string]int{}
	var form batchForm
	var header []string
	for lines.Next() {
		if lines.Text == "" || lines.Text[0] == '#' {
			continue
		}
		if header == nil {
			form = batchForms[strings.Contains(lines.Text, "|")]
			if header = form.header(lines); header == nil {
				return nil, lines.Finish()
			}
			continue
		}
		cells := strings.Split(lines.Text, form.separator)
		if len(cells) != len(header) {
			lines.Problem("%d columns: want %d, as in the first line", len(cells), len(header))
			continue
		}
		wrong := false
		cell := func(column string) string {
			if at := slices.Index(header, column); at >= 0 {
				return strings.TrimSpace(cells[at])
			}
			return ""
		}
		number := func(column string, parse func(string) (float64, bool), want string) float64 {
			x, ok := parse(cell(column))
			if !ok {
				lines.Problem("%s = %s: want %s", column, input.Quote(cell(column)), want)
				wrong = true
			}
			return x
		}
		job := batchJob{name: cell(form.name), program: cell(form.program), line: lines.Number, limit: math.Inf(1)}
		if form.others && strings.Contains(job.name, ".") {
			list.steps++
			continue
		}
		job.duration = number(form.duration, form.seconds, form.wantSeconds)
		if job.duration == 0 && !wrong {
			list.never++
			continue
		}
		job.submit = number(form.submit, form.time, form.wantTime)
		job.nodes = int(number(form.nodes, wholeNodes, "a whole number, 1 to 16777216"))
		if text := cell(form.limit); text != "" && !(form.others && slices.Contains([]string{"UNLIMITED", "Partition_Limit"}, text)) {
			job.limit = number(form.limit, form.seconds, form.wantSeconds)
		}
		if job.program != "" && !slices.Contains(programs, job.program) {
			if !form.others {
				lines.Problem("program = %s: want one of the tables [job.NAME]: %s", input.Quote(job.program), strings.Join(programs, ", "))
				wrong = true
			}
			job.program = ""
		}
		if job.name == "" {
			job.name = fmt.Sprintf("line-%d", lines.Number)
		}
		if first, twice := seen[job.name]; twice {
			lines.Problem("%s = %s: want every job once; it is in line %d, too", form.name, input.Quote(job.name), first)
			wrong = true
		}
		seen[job.name] = lines.Number
		if len(list.jobs) == mostBatchJobs {
			lines.Problem("want at most %d jobs", mostBatchJobs)
			break
		}
		if !wrong {
			list.jobs = append(list.jobs, job)
		}
	}
	if err := lines.Finish(); err != nil {
		return nil, err
	}
	if len(list.jobs) == 0 {
		own, slurm := batchForms[false], batchForms[true]
		return nil, fmt.Errorf("%s:%d: no job that ran: want a line of columns, %s or, of sacct --parsable2, %s, and a line for each job",
			name, lines.Number, strings.Join(own.columns(), own.separator), strings.Join(slurm.columns(), slurm.separator))
	}
	slices.SortStableFunc(list.jobs, func(a, b batchJob) int { return cmp.Compare(a.submit, b.submit) })
	first := list.jobs[0].submit
	for i := range list.jobs {
		list.jobs[i].submit -= first
	}
	return list, nil
}

// header is the columns of the first line; nil if they are not those of the form.
func (f *batchForm) header(lines *input.Lines) []string {
	header, known := strings.Split(lines.Text, f.separator), f.columns()
	for i := range header {
		if header[i] = strings.TrimSpace(header[i]); !f.others && !slices.Contains(known, header[i]) {
			lines.Problem("column %s: want some of %s", input.Quote(header[i]), strings.Join(known, f.separator))
		}
	}
	for i, column := range known[:4] {
		if !slices.Contains(header, column) && (i < 3 || f.others) {
			lines.Problem("no column %s: want %s, and perhaps %s", column, strings.Join(known[:3], f.separator), strings.Join(known[3:], f.separator))
		}
	}
	if lines.Any() {
		return nil
	}
	return header
}

func wholeNodes(text string) (float64, bool) {
	n, err := strconv.Atoi(text)
	return float64(n), err == nil && n >= 1 && n <= mostNodes
}

func plainSeconds(text string) (float64, bool) {
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil && x >= 0 && x <= mostSeconds
}

// slurmSeconds reads [DAYS-]HOURS:MINUTES:SECONDS, or MINUTES:SECONDS, with a fraction or without.
func slurmSeconds(text string) (float64, bool) {
	seconds, rest := 0.0, text
	if days, hours, ok := strings.Cut(text, "-"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 0 || n > int(mostSeconds)/86400 {
			return 0, false
		}
		seconds, rest = float64(n)*24, hours
	}
	parts := strings.Split(rest, ":")
	if len(parts) < 2 || len(parts) > 3 || rest != text && len(parts) != 3 {
		return 0, false
	}
	for i, part := range parts {
		x, err := strconv.ParseFloat(part, 64)
		if err != nil || !(x >= 0 && x < 1e6) || i > 0 && x >= 60 {
			return 0, false
		}
		if i == 0 {
			seconds += x
		} else {
			seconds = seconds*60 + x
		}
	}
	return seconds, seconds <= mostSeconds
}

// slurmTime is a date without a zone, or with SLURM_TIME_FORMAT=%s the seconds since 1970.
func slurmTime(text string) (float64, bool) {
	if t, err := time.Parse("2006-01-02T15:04:05", text); err == nil {
		return float64(t.Unix()), true
	}
	n, err := strconv.ParseInt(text, 10, 40)
	return float64(n), err == nil && n >= 0
}
