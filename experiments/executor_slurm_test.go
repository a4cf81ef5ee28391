package experiments

import (
	"slices"
	"testing"
)

func TestIndexList(t *testing.T) {
	for _, c := range []struct {
		tasks []int
		text  string
	}{{[]int{0}, "0"}, {[]int{0, 1, 2}, "0-2"}, {[]int{3, 7, 8, 10}, "3,7-8,10"}, {nil, ""}} {
		if got := indexList(c.tasks); got != c.text {
			t.Errorf("%v written %q, want %q", c.tasks, got, c.text)
		}
		if got := parseIndexList(c.text); !slices.Equal(got, c.tasks) {
			t.Errorf("%q read %v, want %v", c.text, got, c.tasks)
		}
	}
	for text, want := range map[string][]int{"2-5%2": {2, 3, 4, 5}, "0-8:4,1": {0, 4, 8, 1}, "x": nil, "0-": nil, "1:0": nil} {
		if got := parseIndexList(text); !slices.Equal(got, want) {
			t.Errorf("%q read %v, want %v", text, got, want)
		}
	}
}

// Entries as Slurm 22.05 and newer versions write them: running tasks, pending
// ones not split off, what is over, other jobs, the last task split off, which
// carries the array's own id.
func TestParseQueue(t *testing.T) {
	for _, text := range []string{
		`{"jobs": [
{"array_job_id": 5, "array_task_id": 1, "job_state": "RUNNING", "array_task_string": ""},
{"array_job_id": 5, "array_task_id": null, "job_state": "PENDING", "array_task_string": "4-5,9%2"},
{"array_job_id": 5, "array_task_id": 2, "job_state": "COMPLETED", "array_task_string": ""},
{"array_job_id": 5, "array_task_id": 3, "job_state": "NODE_FAIL", "array_task_string": ""},
{"array_job_id": 6, "array_task_id": 7, "job_state": "RUNNING", "array_task_string": ""},
{"array_job_id": 0, "array_task_id": null, "job_state": "RUNNING", "array_task_string": ""}]}`,
		`{"jobs": [
{"array_job_id": {"set": true, "number": 5}, "array_task_id": {"set": true, "number": 1}, "job_state": ["RUNNING"], "array_task_string": ""},
{"array_job_id": {"set": true, "number": 5}, "array_task_id": {"set": false, "number": 0}, "job_state": ["PENDING", "REQUEUED"], "array_task_string": "4-5,9"},
{"array_job_id": {"set": true, "number": 5}, "array_task_id": {"set": true, "number": 2}, "job_state": ["CANCELLED"], "array_task_string": ""}]}`,
	} {
		live, err := parseQueue([]byte(text), []string{"5", "8"})
		if err != nil {
			t.Fatal(err)
		}
		for task := range 12 {
			if want := slices.Contains([]int{1, 4, 5, 9}, task); live[task] != want {
				t.Errorf("task %d is alive: %v, want %v", task, live[task], want)
			}
		}
	}
	if _, err := parseQueue([]byte("slurm_load_jobs error"), nil); err == nil {
		t.Error("no error for what is not JSON")
	}
}

func FuzzParseQueue(f *testing.F) {
	f.Add([]byte(`{"jobs": [{"array_job_id": 5, "array_task_id": null, "job_state": "PENDING", "array_task_string": "0-3"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if live, err := parseQueue(text, []string{"5"}); err != nil && live != nil {
			t.Error("tasks in spite of an error")
		}
	})
}
