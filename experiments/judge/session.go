package judge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sim/weft/experiments"
	"github.com/weft-sim/weft/experiments/document"
	"github.com/weft-sim/weft/experiments/engine"
)

// Session is a call of weft reproduce.
type Session struct {
	Context context.Context
	Stdout  io.Writer // shown tables
	Stderr  io.Writer // problems and counts
	Out     string    // folder of results
	Quick   bool
	Options experiments.Options // of the experiments that are run
	Jobs    int                 // entries at once, in a section where they are side by side; 0: one
	// Execute runs an experiment, with its results in a folder; beside tells that others are
	// run at the same time.
	Execute func(file *experiments.File, dir string, beside bool) (*engine.Outcome, error)

	beside bool
}

// Outcome is what a judgement comes to.
type Outcome struct {
	Failed     bool // more differs than may, or nothing was compared
	Unreadable bool // of some data
}

// Judge judges all entries of a reference, writes the tables of verdicts below the folder of
// results and says what came out. Problems of the data are told, and the other entries judged; where there are
// no others, they are the error.
func (s *Session) Judge(r *Reference) (o Outcome, err error) {
	for _, warning := range r.Warnings {
		fmt.Fprintln(s.Stderr, warning)
	}
	if err := r.Check(); err != nil {
		return o, err
	}
	told := r.problems()
	s.tell(told)
	compared := r.Name == "" // of papers, every row is some verdict
	for _, section := range r.Sections {
		if len(section.Entries) == 0 {
			continue
		}
		count, c, err := s.section(r, section)
		if err != nil {
			return o, err
		}
		all := Merged(told, r.problems())
		s.tell(all[len(told):])
		told = all
		text, path := c.Text, s.path(r, section.File)
		if r.Name != "" {
			text = fmt.Sprintf("%s: %s; %s", r.Name, text, path)
		}
		fmt.Fprintln(s.Stderr, text)
		for verdict, n := range count { // in any order
			compared = compared || n > 0 && verdict != NotRun && verdict != Unreadable
		}
		o.Failed, o.Unreadable = o.Failed || c.Failed, o.Unreadable || count[Unreadable] > 0
	}
	if !compared {
		fmt.Fprintf(s.Stderr, "%s: nothing was compared\n", r.Name)
	}
	o.Failed, o.Unreadable = o.Failed || !compared, o.Unreadable || len(told) > 0
	return o, nil
}

// section judges the entries of a section.
func (s *Session) section(r *Reference, section *Section) (count Count, c Conclusion, err error) {
	if section.Prepare != nil {
		if err := section.Prepare(section.Entries); err != nil {
			return nil, c, err
		}
	}
	each, atOnce := *s, 1
	if section.SideBySide && s.Jobs > 1 {
		each.beside, atOnce = true, s.Jobs
	}
	judged := make([][]Row, len(section.Entries))
	failures := make([]bool, len(section.Entries))
	side, going := errgroup.WithContext(context.Background())
	side.SetLimit(atOnce)
	for i, e := range section.Entries {
		side.Go(func() (err error) {
			if going.Err() == nil {
				judged[i], failures[i], err = e.Judge(&each)
			}
			return err
		})
	}
	if err := side.Wait(); err != nil {
		return nil, c, err
	}
	rows, anyFailed := slices.Concat(judged...), slices.Contains(failures, true)
	count = Count{}
	for _, row := range rows {
		count.Add(row.Verdict)
	}
	table := TableOf(section.Columns, rows)
	if err := table.WriteFile(s.path(r, section.File)); err != nil {
		return nil, c, err
	}
	c = Conclusion{Shown: table, Text: count.String(), Failed: anyFailed || count[Differs] > 0}
	if section.Conclude != nil {
		if c, err = section.Conclude(table, count, anyFailed); err != nil {
			return nil, c, err
		}
	}
	if c.File != "" {
		if err := c.Shown.WriteFile(s.path(r, c.File)); err != nil {
			return nil, c, err
		}
	}
	if c.Shown != nil {
		err = c.Shown.WriteAligned(s.Stdout)
	}
	return count, c, err
}

func (s *Session) path(r *Reference, file string) string { return filepath.Join(s.Out, r.Name, file) }

// tell prints problems of data beside which others are judged.
func (s *Session) tell(problems document.Problems) {
	if len(problems) > 0 {
		fmt.Fprintln(s.Stderr, problems)
	}
}

// refused stands before the reason for which weft refuses an experiment.
const refused = "weft refuses it: "

// Refusal is the reason for which [Session.Load] refuses an experiment.
func Refusal(err error) string { return strings.TrimPrefix(err.Error(), refused) }

// Load is an experiment from its text, checked.
func (s *Session) Load(name, text string, canDeadlock bool) (*experiments.File, error) {
	options := s.Options
	options.Quick, options.AllowDeadlock = false, canDeadlock
	file, err := experiments.Load(name, text, options)
	if err == nil {
		_, err = file.Preflight(false)
	}
	var problems document.Problems
	if errors.As(err, &problems) {
		return nil, fmt.Errorf(refused+"%s", strings.TrimSpace(problems[0].Key+" "+problems[0].Message))
	}
	return file, err
}

// Run executes the experiment of an entry.
func (s *Session) Run(entry string, file *experiments.File, dir string) (*engine.Outcome, error) {
	outcome, err := s.Execute(file, dir, s.beside)
	if errors.Is(err, experiments.ErrInterrupted) {
		return nil, fmt.Errorf("interrupted in %s; go on with the same command and --resume", entry)
	}
	return outcome, err
}
