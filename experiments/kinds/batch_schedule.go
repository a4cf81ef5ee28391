package kinds

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/mpi"
	"github.com/weft-sim/weft/sim"
	"github.com/weft-sim/weft/sim/input"
	"github.com/weft-sim/weft/sim/param"
)

// batchPolicies are the ways to choose which waiting jobs begin.
var batchPolicies = param.NewRegistry[struct{}, *batchPolicy]("batch policy")

// batchPolicy is a policy with the list that it works on.
type batchPolicy struct {
	batchConfig
	reserves bool // for the first job that has to wait
}

type batchConfig struct {
	File    string   `toml:"file" file:"read" doc:"list of jobs: CSV with columns arrival_s, nodes, duration_s and perhaps job, program, limit_s; or what Slurm's sacct --parsable2 prints, with Submit, NNodes, Elapsed, JobID and perhaps JobName, Timelimit"`
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
	free := make([]bool, hosts)
	for i := range free {
		free[i] = true
	}
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

// batchTable is the [batch] table.
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
	p.batch, err = policy.schedule(list.jobs, len(env.hosts), func(free []bool, need int) []int32 { return placer.place(env, free, need) })
	if err != nil {
		return err
	}
	problems := input.Problems{Name: policy.File}
	for i := range p.batch {
		b := &p.batch[i]
		table := c.Job[cmp.Or(b.program, fallback)]
		table.Ranks, table.Placement, table.Repeat = b.nodes*table.PerNode, c.Batch.Placement, mostRuns
		if b.end()*float64(policy.Second) > float64(sim.MaxTime/4) {
			return &param.ParamError{Key: "batch.second", Value: policy.Second, Want: fmt.Sprintf("less: the list ends after %g s", b.end())}
		}
		table.Start, table.Until = sim.Time(b.start*float64(policy.Second)), max(1, sim.Time(b.end()*float64(policy.Second)))
		job, err := table.job(b.name, costs, sim.Picosecond)
		if err == nil && (job.Ranks+table.PerNode-1)/table.PerNode != b.nodes {
			err = fmt.Errorf("want as many as the %d ranks of its program take", job.Ranks)
		}
		if err != nil {
			problems.ProblemAt(b.line, "nodes = %d, program %s: %w", b.nodes, cmp.Or(b.program, fallback), err)
			continue
		}
		p.add(job, table, b.hosts)
	}
	return problems.Err()
}

// writeBatch writes when and where each job of a list ran.
func (r *jobsRun) writeBatch(sums []jobSums) {
	t := r.run.Table("batch", "job", "program", "nodes", "submit_s", "wait_s", "start_s", "end_s", "hosts", "slowdown")
	for i := range r.plan.batch {
		b := &r.plan.batch[i]
		t.Add(b.name, r.plan.tables[i].Program.Name(), b.nodes, b.submit, b.start-b.submit, b.start, b.end(), ranges(b.hosts), average(&sums[i].slowdown))
	}
}

// ranges lists numbers as Slurm does: 0-3,7.
func ranges(numbers []int32) string {
	sorted := slices.Sorted(slices.Values(numbers))
	var parts []string
	for i := 0; i < len(sorted); {
		first := i
		for i++; i < len(sorted) && sorted[i] == sorted[i-1]+1; i++ {
		}
		part := strconv.Itoa(int(sorted[first]))
		if i > first+1 {
			part += "-" + strconv.Itoa(int(sorted[i-1]))
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}
