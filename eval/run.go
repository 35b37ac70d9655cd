package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/problem"
	"github.com/troupe-dev/troupe/model/replay"
	"github.com/troupe-dev/troupe/project"
	"github.com/troupe-dev/troupe/project/converse"
)

// Options say how a suite is run.
type Options struct {
	// Project is the directory of the project, and Open what its options are: its Data and
	// WrapModel are the suite's to set. A model in it takes the place of the variants' own.
	Project string
	Open    project.Options
	// Repeats, where it is set, takes the place of what suite and cases say.
	Repeats int
	// Only are cases to run, by the beginning of their names. Empty means all.
	Only string
	// Record writes what models answer into the suite's recordings, anew.
	Record bool
	// Replay answers from the recordings alone. Without it they are used where nobody has
	// chosen a model.
	Replay bool
	// Begun, where set, is told how many runs there will be, and Done of each that has
	// ended: the n-th of so many.
	Begun func(of int)
	Done  func(run Played, n, of int)
}

// A Played is one run of a case.
type Played struct {
	Case    string `json:"case"`
	Variant string `json:"variant"`
	// Run counts from 1.
	Run int `json:"run"`
	// How is model, replay or rehearsal.
	How    string            `json:"how"`
	Answer string            `json:"answer"`
	Stop   string            `json:"stop"`
	Tools  []string          `json:"tools"`
	Files  map[string]string `json:"files,omitempty"`
	Spent  troupe.Spent      `json:"spent"`
	Time   time.Duration     `json:"-"`
	Millis int64             `json:"time_ms"`
	// Error is why the case could not be carried out, Failures which checks failed and
	// Skipped which were not made, with the reasons.
	Error    string        `json:"error,omitempty"`
	Problem  string        `json:"problem,omitempty"` // what Error is about and what to do, in plain words
	Failures []CheckResult `json:"failures,omitempty"`
	Skipped  []CheckResult `json:"skipped,omitempty"`
	// Judged are the scores of judges.
	Judged []float64 `json:"judged,omitempty"`
}

// A CheckResult is a check, and what is wrong.
type CheckResult struct {
	Check  string `json:"check"`
	Line   int    `json:"line,omitempty"`
	Reason string `json:"reason"`
}

// Passed reports whether the run did all that was asked.
func (p *Played) Passed() bool { return p.Error == "" && len(p.Failures) == 0 }

// Run runs a suite. It fails if nothing could be run; a run that fails is in the report.
func Run(ctx context.Context, s *Suite, o Options) (*Report, error) {
	began := time.Now()
	if o.Record && s.Recordings == "" {
		return nil, fmt.Errorf("%s: recordings says where answers are recorded", s.file)
	}
	if o.Open.Model != "" {
		s.Variants = []Variant{{Name: o.Open.Model, Model: o.Open.Model}}
	}
	var wanted []Played
	for i := range s.Cases {
		c := &s.Cases[i]
		if !strings.HasPrefix(c.Name, o.Only) {
			continue
		}
		for _, v := range s.Variants {
			for n := range cmp.Or(o.Repeats, s.repeats(c)) {
				wanted = append(wanted, Played{Case: c.Name, Variant: v.Name, Run: n + 1})
			}
		}
	}
	if len(wanted) == 0 {
		return nil, fmt.Errorf("%s: no case begins with %q", s.file, o.Only)
	}
	work := &runner{suite: s, options: o}
	room := make(chan struct{}, cmp.Or(max(s.Parallel, 0), 2))
	var all sync.WaitGroup
	var telling sync.Mutex
	done := 0
	if o.Begun != nil {
		o.Begun(len(wanted))
	}
	for i := range wanted {
		room <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-room }()
			work.play(ctx, &wanted[i])
			if o.Done != nil && ctx.Err() == nil { // else nobody knows what would have come of it
				telling.Lock()
				defer telling.Unlock()
				done++
				o.Done(wanted[i], done, len(wanted))
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return s.report(wanted, began), nil
}

// A runner carries out the runs of a suite.
type runner struct {
	suite   *Suite
	options Options
}

func (r *runner) find(p *Played) (c *Case, v Variant) {
	for i := range r.suite.Cases {
		if r.suite.Cases[i].Name == p.Case {
			c = &r.suite.Cases[i]
		}
	}
	for _, one := range r.suite.Variants {
		if one.Name == p.Variant {
			v = one
		}
	}
	return c, v
}

// play runs a case once.
func (r *runner) play(ctx context.Context, p *Played) {
	c, v := r.find(p)
	data, err := os.MkdirTemp("", "troupe-eval-")
	if err == nil {
		defer os.RemoveAll(data)
		err = r.playIn(ctx, p, c, v, filepath.Join(data, "data"))
	}
	if err != nil {
		p.Error, p.Problem = err.Error(), problem.Of(err).Words()
	}
	p.Millis = p.Time.Milliseconds()
}

func (r *runner) playIn(ctx context.Context, p *Played, c *Case, v Variant, data string) (err error) {
	opened, closeModels, err := r.open(p, v, data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close(), closeModels()) }()
	if err := p.talk(ctx, opened, r.suite.agentOf(c), c); err != nil {
		return err
	}
	for i := range c.Checks {
		r.examine(ctx, opened, p, c, &c.Checks[i])
	}
	return nil
}

// examine makes a check.
func (r *runner) examine(ctx context.Context, opened *project.Project, p *Played, c *Case, check *Check) {
	wrong, skipped := "", ""
	if check.Judge != nil {
		var score float64
		if score, wrong, skipped = r.judge(ctx, opened, p, c, check.Judge); skipped == "" {
			p.Judged = append(p.Judged, score)
		}
	} else {
		wrong = check.verdict(p)
	}
	if skipped != "" {
		p.Skipped = append(p.Skipped, CheckResult{check.Kind(), check.line, skipped})
	}
	if wrong != "" {
		p.Failures = append(p.Failures, CheckResult{check.Kind(), check.line, wrong})
	}
}

// open opens a variant's project for one run, with the model, a recording of it or none.
func (r *runner) open(p *Played, v Variant, data string) (opened *project.Project, closeModels func() error, err error) {
	dir := r.options.Project
	if v.Project != "" {
		dir = filepath.Join(r.suite.dir(), v.Project)
	}
	o := r.options.Open
	o.Data, o.Model = data, v.Model
	recording := r.recording(p)
	p.How = "model"
	var closing []func() error
	closeModels = func() error {
		var errs []error
		for _, f := range closing {
			errs = append(errs, f())
		}
		return errors.Join(errs...)
	}
	switch {
	case r.options.Record:
		if err := prepareRecording(recording); err != nil {
			return nil, nil, err
		}
		o.WrapModel = func(_ string, m troupe.Model) (troupe.Model, error) {
			recorder, err := replay.Record(m, recording)
			if err == nil {
				closing = append(closing, recorder.Close)
			}
			return recorder, err
		}
	case r.options.Replay || r.isUnset(dir, o) && exists(recording):
		player, err := replay.Open(recording)
		if err != nil {
			return nil, nil, err
		}
		p.How, o.Model = "replay", "rehearsal"
		o.WrapModel = func(string, troupe.Model) (troupe.Model, error) { return player, nil }
	case r.isUnset(dir, o) || o.Model == "rehearsal":
		p.How = "rehearsal"
	}
	opened, err = project.Open(dir, o)
	return opened, closeModels, err
}

// isUnset reports whether nobody has chosen a model, or there is no key for it.
func (r *runner) isUnset(dir string, o project.Options) bool {
	probe, err := project.Open(dir, o)
	if err != nil {
		return false
	}
	defer probe.Close()
	if _, from := probe.Model(""); from == "" {
		return true
	}
	_, _, err = probe.OpenModel("")
	return err != nil
}

// recording is the file of a run's recorded answers.
func (r *runner) recording(p *Played) string {
	return filepath.Join(r.suite.dir(), r.suite.Recordings, fileName(p.Variant), fmt.Sprintf("%s-%d.jsonl", fileName(p.Case), p.Run))
}

// fileName makes a file's name of any text.
func fileName(text string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' {
			return c
		}
		return '-'
	}, text)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// prepareRecording makes room for a recording, which begins anew.
func prepareRecording(file string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// talk has the conversation of a case, and notes what happens.
func (p *Played) talk(ctx context.Context, opened *project.Project, agent string, c *Case) error {
	conversation, err := converse.Begin(ctx, opened, agent, "")
	if err != nil {
		return err
	}
	spent := map[string]troupe.Spent{} // by run: an answer may go on with one
	began := time.Now()
	p.Tools = []string{}
	for _, message := range c.Messages {
		in := troupe.Input{Text: message}
		for {
			outcome, err := conversation.Say(ctx, in, func(e *troupe.Event) {
				if called, ok := e.Body.(*troupe.ToolCalled); ok {
					p.Tools = append(p.Tools, called.Tool)
				}
			})
			spent[outcome.Run] = outcome.Spent
			p.Answer, p.Stop = outcome.Text, outcome.Stop
			if err != nil {
				p.Time = time.Since(began)
				return err
			}
			if conversation.Question == nil || !conversation.Question.Approval {
				break
			}
			in = troupe.Input{Answer: &troupe.Answer{Approved: !c.Deny, Denied: c.Deny}}
		}
	}
	p.Time = time.Since(began)
	for _, one := range spent {
		p.Spent = p.Spent.Add(one)
	}
	return p.collect(conversation)
}

// collect reads what was saved.
func (p *Played) collect(c *converse.Conversation) error {
	p.Files = map[string]string{}
	for _, saved := range c.Files {
		path := c.HostPath(saved)
		if path == "" {
			p.Files[saved] = ""
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		p.Files[saved] = string(data)
	}
	return nil
}
