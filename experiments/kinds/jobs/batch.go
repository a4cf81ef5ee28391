package jobs

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sim/weft/collectives"
	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/fabric/core"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// batchJob is a job of a batch list. Times are in seconds of the list.
type batchJob struct {
	name, program string // program "": the one that batch.program names
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
	seconds, time                                 batchNumber // of durations and limits, and of submissions
	others                                        bool        // there may be other columns
}

// batchNumber reads a cell that holds a number.
type batchNumber struct {
	read func(string) (float64, bool)
	want string // what is allowed, for messages
}

var ofSeconds = batchNumber{plainSeconds, "seconds, 0 to 1e9"}

var batchForms = map[bool]batchForm{
	false: {",", "arrival_s", "nodes", "duration_s", "job", "program", "limit_s", ofSeconds, ofSeconds, false},
	true: {"|", "Submit", "NNodes", "Elapsed", "JobID", "JobName", "Timelimit",
		batchNumber{slurmSeconds, "[DAYS-]HOURS:MINUTES:SECONDS"}, batchNumber{slurmTime, "YEAR-MONTH-DAYTHOURS:MINUTES:SECONDS"}, true},
}

func (f *batchForm) columns() []string {
	return []string{f.submit, f.nodes, f.duration, f.name, f.program, f.limit}
}

func (f *batchForm) cells(line string) []string {
	if f.separator == "" {
		return strings.Fields(line)
	}
	cells := strings.Split(line, f.separator)
	for i, cell := range cells {
		cells[i] = strings.Trim(strings.TrimSpace(cell), `"`)
	}
	return cells
}

// batchReader reads a list.
type batchReader struct {
	*input.Lines
	programs []string // that jobs may name
	form     batchForm
	header   []string // columns; nil: not known yet
	workload standardWorkload
	list     batchList
	seen     map[string]int // lines, by name
}

// readBatch reads a batch list: columns with commas, semicolons or tabs between, what Slurm's sacct --parsable2
// prints, also with such a --delimiter, or the Standard Workload Format. The error lists all lines that are wrong. A job may name one of programs; in
// Slurm's form a job with another name has none.
func readBatch(name string, in io.Reader, programs []string) (*batchList, error) {
	r := &batchReader{Lines: input.NewLines(in, name), programs: programs, seen: map[string]int{}}
	list := &r.list
	for r.Next() {
		if r.Text == "" || r.Text[0] == '#' && !strings.HasPrefix(r.Text, "#SBATCH") || r.workload.comment(r.Text) {
			continue
		}
		fields := strings.Fields(r.Text)
		isText := func(cell string) bool { _, err := strconv.ParseFloat(cell, 64); return err != nil }
		if r.header == nil && (r.workload.found || len(fields) == len(standardColumns) && !slices.ContainsFunc(fields, isText)) {
			r.form, r.header = standardForm, standardColumns
		}
		if r.header == nil {
			r.form = batchForms[strings.Contains(r.Text, "|") || strings.Contains(r.Text, "Submit")]
			for _, separator := range []string{",", ";", "\t", "|"} { // the last counts
				if strings.Contains(r.Text, separator) {
					r.form.separator = separator
				}
			}
			if r.header = r.form.header(r.Lines); r.header == nil {
				return nil, r.Finish()
			}
		} else if job, ok := r.job(); ok && len(list.jobs) == mostBatchJobs {
			r.Problem("want at most %d jobs", mostBatchJobs)
			break
		} else if ok {
			list.jobs = append(list.jobs, job)
		}
	}
	if err := r.Finish(); err != nil {
		return nil, err
	}
	if len(list.jobs) == 0 {
		own, slurm := batchForms[false], batchForms[true]
		return nil, fmt.Errorf("%s:%d: no job that ran: want a line of columns, %s or, of sacct --parsable2, %s, and a line for each job",
			name, max(1, r.Number), strings.Join(own.columns(), own.separator), strings.Join(slurm.columns(), slurm.separator))
	}
	slices.SortStableFunc(list.jobs, func(a, b batchJob) int { return cmp.Compare(a.submit, b.submit) })
	first := list.jobs[0].submit
	for i := range list.jobs {
		list.jobs[i].submit -= first
	}
	return list, nil
}

// job reads the line of a job; not ok if it is wrong, or left out.
func (r *batchReader) job() (job batchJob, ok bool) {
	form := &r.form
	cells := form.cells(r.Text)
	if form.separator == "\t" { // the last cells are empty
		cells = append(cells, make([]string, max(0, len(r.header)-len(cells)))...)
	}
	if len(cells) != len(r.header) {
		r.Problem("%d columns: want %d, as in the first line", len(cells), len(r.header))
		return job, false
	}
	ok = true
	wrong := func(format string, args ...any) {
		r.Problem(format, args...)
		ok = false
	}
	cell := func(column string) string {
		if at := slices.Index(r.header, column); at >= 0 {
			return cells[at]
		}
		return ""
	}
	number := func(column string, n batchNumber) float64 {
		if raw, is := rawColumns[column]; is {
			n = raw
		}
		x, reads := n.read(cell(column))
		if !reads {
			wrong("%s = %s: want %s", column, input.Quote(cell(column)), n.want)
		}
		return x
	}
	job = batchJob{name: cell(form.name), program: cell(form.program), line: r.Number, limit: math.Inf(1)}
	if form.others && strings.Contains(job.name, ".") || form.separator == "" && !r.workload.read(cells) {
		r.list.steps++
		return job, false
	}
	if job.duration = number(form.duration, form.seconds); job.duration == 0 && ok {
		r.list.never++
		return job, false
	}
	job.submit = number(form.submit, form.time)
	job.nodes = int(number(form.nodes, batchNumber{wholeNodes, "a whole number, 1 to 16777216"}))
	if text := cell(form.limit); text != "" && !(form.others && slices.Contains([]string{"UNLIMITED", "Partition_Limit"}, text)) {
		job.limit = number(form.limit, form.seconds)
	}
	if job.program != "" && !slices.Contains(r.programs, job.program) {
		if !form.others {
			wrong("program = %s: want one of the tables [job.NAME]: %s", input.Quote(job.program), strings.Join(r.programs, ", "))
		}
		job.program = ""
	}
	job.name = cmp.Or(job.name, fmt.Sprintf("line-%d", r.Number))
	if first, twice := r.seen[job.name]; twice {
		wrong("%s = %s: want every job once; it is in line %d, too", form.name, input.Quote(job.name), first)
	}
	r.seen[job.name] = r.Number
	return job, ok
}

// header is the columns of the first line; nil if the form does not have them.
func (f *batchForm) header(lines *input.Lines) []string {
	if first := strings.Fields(lines.Text)[0]; first[0] == '{' || first == "#SBATCH" || strings.EqualFold(first, "JobID") && !strings.ContainsAny(lines.Text, ",;|\t") {
		lines.Problem("a table or JSON of sacct, what squeue prints, or a script: want what sacct --parsable2 --format=JobID,Submit,NNodes,Elapsed prints")
		return nil
	}
	header := f.cells(lines.Text)
	f.substitute(header)
	known, as := f.columns(), ""
	if f.others {
		as = ", as sacct --parsable2 prints them"
	}
	for i := range header {
		if slices.Contains(header[:i], header[i]) && slices.Contains(known, header[i]) {
			lines.Problem("column %s: want it once", input.Quote(header[i]))
		}
		if !f.others && !slices.Contains(known, header[i]) {
			lines.Problem("column %s: want some of %s", input.Quote(header[i]), strings.Join(known, f.separator))
		}
	}
	for i, column := range known[:4] {
		if !slices.Contains(header, column) && (i < 3 || f.others) {
			lines.Problem("no column %s: want %s, and perhaps %s%s", column, strings.Join(known[:3], f.separator), strings.Join(known[3:], f.separator), as)
		}
	}
	if lines.Any() {
		return nil
	}
	return header
}

// wholeNodes reads a count, also as sacct prints those that 1,024 divides: 2K.
func wholeNodes(text string) (float64, bool) {
	text, thousands := strings.CutSuffix(text, "K")
	n, err := strconv.Atoi(text)
	if thousands && n <= mostNodes {
		n *= 1024
	}
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

// slurmTime is a date, with SLURM_TIME_FORMAT=%FT%T%z with a zone, or with %s the seconds since 1970.
func slurmTime(text string) (float64, bool) {
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04:05-0700", time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil {
			return float64(t.Unix()), true
		}
	}
	n, err := strconv.ParseInt(text, 10, 40)
	return float64(n), err == nil && n >= 0
}

// batchPolicies are the ways to choose which waiting jobs begin.
var batchPolicies = param.NewRegistry[struct{}, *batchPolicy]("batch policy")

// batchPolicy is a policy with the list that it works on.
type batchPolicy struct {
	batchConfig
	reserves bool // for the first job that has to wait
}

type batchConfig struct {
	File    string   `toml:"file" file:"read" doc:"list of jobs: CSV with columns arrival_s, nodes, duration_s and perhaps job, program, limit_s; or what Slurm's sacct --parsable2 prints, with Submit, NNodes (AllocNodes, ReqNodes), Elapsed (ElapsedRaw), JobID (JobIDRaw) and perhaps JobName, Timelimit (TimelimitRaw); or the Standard Workload Format, whose processors are hosts, but where its header has MaxNodes and MaxProcs"`
	Program string   `toml:"program" doc:"table [job.NAME] whose program jobs have that name none; empty: the first"`
	Second  sim.Time `toml:"second" doc:"simulated time that stands for a second of the list" min:"1ps"`
}

// noBatch is the policy of a file without a list.
const noBatch = "none"

func init() {
	param.Register(batchPolicies, noBatch, "the tables [job.NAME] are the jobs", struct{}{}, func(struct{}, struct{}) (*batchPolicy, error) { return nil, nil })
	for _, p := range []struct {
		name, doc string
		reserves  bool
	}{
		{"first-fit", "in the order of arrival, each waiting job that finds hosts enough begins", false},
		{"backfill", "in the order of arrival; the first job that has to wait is given the time at which it finds hosts by the limits of those that run, and later jobs begin before it only if they do not delay that (EASY: Lifka 1995; Mu'alem and Feitelson, TPDS 2001)", true},
	} {
		param.Register(batchPolicies, p.name, p.doc, batchConfig{Second: sim.Microsecond}, func(c batchConfig, _ struct{}) (*batchPolicy, error) {
			if c.File == "" {
				return nil, &param.ParamError{Key: "file", Value: `""`, Want: "the path of a list of jobs"}
			}
			return &batchPolicy{c, p.reserves}, nil
		})
	}
}

// batchedJob is a job with the time at which it begins, in seconds of the list, and its hosts.
type batchedJob struct {
	batchJob
	start float64
	hosts []int32
}

func (j *batchedJob) end() float64 { return j.start + j.duration }

// schedule begins the jobs of a list on free hosts, which place chooses. Every job ends after its
// duration, whatever its limit. Cost: the number of jobs, times those that wait or run at a time.
func (p *batchPolicy) schedule(list []batchJob, hosts int, place func(free []bool, need int) []int32) ([]batchedJob, error) {
	free := slices.Repeat([]bool{true}, hosts)
	left, next := hosts, 0
	jobs := make([]batchedJob, len(list))
	var waiting, running []int // numbers of jobs
	for next < len(list) || len(waiting) > 0 {
		now := math.Inf(1)
		if next < len(list) {
			now = list[next].submit
		}
		for _, i := range running {
			now = min(now, jobs[i].end())
		}
		running = slices.DeleteFunc(running, func(i int) bool {
			if jobs[i].end() > now {
				return false
			}
			for _, h := range jobs[i].hosts {
				free[h] = true
			}
			left += len(jobs[i].hosts)
			return true
		})
		for ; next < len(list) && list[next].submit <= now; next++ {
			jobs[next].batchJob = list[next]
			waiting = append(waiting, next)
		}
		shadow, spare := math.Inf(1), left // when the first that waits begins at the latest, and hosts that it leaves
		blocked := false
		waiting = slices.DeleteFunc(waiting, func(i int) bool {
			job := &jobs[i]
			late := now+job.limit > shadow
			if job.nodes > left || late && job.nodes > spare {
				if p.reserves && !blocked {
					shadow, spare = reserve(jobs, running, job.nodes, left, now)
				}
				blocked = true
				return false
			}
			if job.hosts = place(free, job.nodes); len(job.hosts) < job.nodes {
				return false // the placement has no use for the hosts that are free
			}
			for _, h := range job.hosts {
				free[h] = false
			}
			left -= job.nodes
			if blocked && late {
				spare -= job.nodes
			}
			job.start = now
			running = append(running, i)
			return true
		})
		if len(running) == 0 && len(waiting) > 0 {
			job := &jobs[waiting[0]]
			return nil, fmt.Errorf("%s:%d: nodes = %d: want at most what batch.placement finds among the %d hosts of the topology", p.File, job.line, job.nodes, hosts)
		}
	}
	return jobs, nil
}

// reserve is when a job that needs so many hosts finds them at the latest, by the limits of the
// jobs that run, and how many are left over then.
func reserve(jobs []batchedJob, running []int, need, left int, now float64) (shadow float64, spare int) {
	byLimit := func(i int) float64 { return max(now, jobs[i].start+jobs[i].limit) }
	order := slices.Clone(running)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(byLimit(a), byLimit(b)) })
	shadow = math.Inf(1)
	for _, i := range order {
		if left >= need && byLimit(i) > shadow {
			break
		}
		left += jobs[i].nodes
		shadow = byLimit(i)
	}
	return shadow, left - need
}

type batchTable struct {
	Policy    experiments.Choice[struct{}, *batchPolicy] `toml:"policy" doc:"runs the jobs of a list, each while the list says so, whose programs are those of the tables [job.NAME] on as many hosts as the list gives it, again and again: which of those that wait begin"`
	Placement experiments.Choice[placeEnv, placer]       `toml:"placement" doc:"which free hosts a job gets"`
}

// mostRuns is how often the program of a batch job may run: its end is what ends it.
const mostRuns = 1 << 20

// planBatch places the jobs of a list over time.
func (c *jobsConfig) planBatch(p *jobPlan, policy *batchPolicy, env placeEnv, costs mpi.Costs, seed uint64) error {
	names := c.names()
	fallback := cmp.Or(policy.Program, names[0])
	if !slices.Contains(names, fallback) {
		return &param.ParamError{Key: "batch.program", Value: fallback, Want: "one of the tables [job.NAME]: " + strings.Join(names, ", ")}
	}
	if c.Batch.Placement.Name() == "listed" {
		return &param.ParamError{Key: "batch.placement", Value: "listed", Want: "a placement that chooses among the hosts that are free"}
	}
	in, err := input.OpenInput(policy.File, input.MaxInput)
	if err != nil {
		return &param.ParamError{Key: "batch.file", Value: policy.File, Want: "a file that can be read: " + err.Error()}
	}
	defer in.Close()
	list, err := readBatch(policy.File, in, names)
	if err != nil {
		return err
	}
	if list.steps > 0 || list.never > 0 {
		p.warnings = append(p.warnings, experiments.Warning{Key: "batch.file", Message: fmt.Sprintf("%d steps of jobs and %d jobs that never ran are left out", list.steps, list.never)})
	}
	stream := sim.NewStream(seed, "jobs.batch", 0)
	env.stream = &stream
	placer, err := c.Batch.Placement.Build(env)
	if err != nil {
		return err
	}
	p.batch, err = policy.schedule(list.jobs, len(env.hosts), func(free []bool, need int) []int32 { return placer(env, free, need) })
	if err != nil {
		return err
	}
	problems, single := input.Problems{Name: policy.File}, 0
	for i := range p.batch {
		b := &p.batch[i]
		table := c.Job[cmp.Or(b.program, fallback)]
		table.Ranks, table.Placement, table.Repeat = b.nodes*table.PerNode, c.Batch.Placement, mostRuns
		if last := core.Last(c.Fabric.Clock); b.end()*float64(policy.Second) > float64(last) {
			return &param.ParamError{Key: "batch.second", Value: policy.Second, Want: fmt.Sprintf("less: the list ends after %g s, and with this fabric.clock %.4g s can be simulated", b.end(), last.Seconds())}
		}
		table.Start, table.Until = sim.Time(b.start*float64(policy.Second)), max(1, sim.Time(b.end()*float64(policy.Second)))
		if b.nodes == 1 {
			single++
			holds := collectives.Work(table.Ranks, table.Until-table.Start) // what its ranks send stays inside the host
			alone := mpi.Job{Name: b.name, Ranks: table.Ranks, Start: table.Start, Repeat: 1, Until: table.Until, Program: func() mpi.Workload { return mpi.RunSchedule(holds, costs, sim.Picosecond) }}
			p.add(alone, table.Program.Fingerprint(), table, b.hosts)
			continue
		}
		job, program, err := table.job(b.name, costs, sim.Picosecond)
		if err == nil && (job.Ranks+table.PerNode-1)/table.PerNode != b.nodes {
			err = fmt.Errorf("want as many as the %d ranks of its program take", job.Ranks)
		}
		if err != nil {
			problems.ProblemAt(b.line, "nodes = %d, program %s: %v", b.nodes, cmp.Or(b.program, fallback), err)
			continue
		}
		p.add(job, program, table, b.hosts)
	}
	if single > 0 {
		p.warnings = append(p.warnings, experiments.Warning{Key: "batch.file", Message: fmt.Sprintf("%d jobs of one node hold it, and send nothing", single)})
	}
	return problems.Err()
}
