package experiments

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// queuedTasks are the array tasks of some jobs that wait or run. squeue --json
// lists every job whatever is asked for (Slurm 22.05), and pending tasks that
// have not been split off as one entry with a list of indices.
func queuedTasks(ids []string) (map[int]bool, error) {
	out, err := exec.Command("squeue", "--json").Output()
	if err != nil {
		return nil, errors.New(outputOf(err))
	}
	return parseQueue(out, ids)
}

func parseQueue(text []byte, ids []string) (map[int]bool, error) {
	var queue struct {
		Jobs []struct {
			State  json.RawMessage `json:"job_state"`
			Array  json.RawMessage `json:"array_job_id"`
			Task   json.RawMessage `json:"array_task_id"`
			String string          `json:"array_task_string"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal(text, &queue); err != nil {
		return nil, fmt.Errorf("its answer is not JSON: %w", err)
	}
	live := map[int]bool{}
	for _, j := range queue.Jobs {
		array, ok := slurmNumber(j.Array)
		if !ok || !slices.Contains(ids, strconv.Itoa(array)) || slurmOver(j.State) {
			continue
		}
		if task, ok := slurmNumber(j.Task); ok && j.String == "" {
			live[task] = true
			continue
		}
		for _, task := range parseIndexList(j.String) {
			live[task] = true
		}
	}
	return live, nil
}

// slurmNumber reads a number as old and new versions of Slurm write it: plain,
// or {"set": true, "number": 5}; false if it is null or not set.
func slurmNumber(raw json.RawMessage) (int, bool) {
	var plain *int
	if json.Unmarshal(raw, &plain) == nil {
		if plain == nil {
			return 0, false
		}
		return *plain, true
	}
	var wrapped struct {
		Set    bool `json:"set"`
		Number int  `json:"number"`
	}
	if json.Unmarshal(raw, &wrapped) != nil || !wrapped.Set {
		return 0, false
	}
	return wrapped.Number, true
}

// slurmOver tells whether a job in this state, a word or in newer versions a
// list of words, will not go on.
func slurmOver(raw json.RawMessage) bool {
	var states []string
	var one string
	if json.Unmarshal(raw, &one) == nil {
		states = []string{one}
	} else if json.Unmarshal(raw, &states) != nil {
		return false
	}
	for _, state := range states {
		switch state {
		case "PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "REQUEUED", "RESIZING", "SIGNALING", "STAGE_OUT", "STOPPED", "REQUEUE_HOLD", "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT":
			return false
		}
	}
	return true
}

// indexList writes ascending indices as sbatch --array takes them: 0-4,7.
func indexList(tasks []int) string {
	var parts []string
	for i := 0; i < len(tasks); {
		j := i
		for j+1 < len(tasks) && tasks[j+1] == tasks[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, strconv.Itoa(tasks[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", tasks[i], tasks[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// parseIndexList reads what indexList writes, with steps (0-8:4) and a limit of
// tasks at once (%4) as Slurm adds them. What it cannot read it leaves out.
func parseIndexList(text string) []int {
	text, _, _ = strings.Cut(text, "%")
	var tasks []int
	for _, part := range strings.Split(text, ",") {
		part, step, stepped := strings.Cut(part, ":")
		by := 1
		if stepped {
			by, _ = strconv.Atoi(step)
		}
		low, high, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(low)
		last := first
		if isRange && err == nil {
			last, err = strconv.Atoi(high)
		}
		if err != nil || by < 1 || last-first > 1<<22 {
			continue
		}
		for t := first; t <= last; t += by {
			tasks = append(tasks, t)
		}
	}
	return tasks
}

// outputOf is what a program said before it failed.
func outputOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if said := strings.TrimSpace(string(exit.Stderr)); said != "" {
			return said
		}
	}
	return err.Error()
}

// shellQuote writes a word for a POSIX shell.
func shellQuote(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
