package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
)

// progress shows how a delivery comes along: a line for each thing that was done, and on
// a terminal what is being done now, for how long, and what was spent.
type progress struct {
	p *program

	mu    sync.Mutex
	now   string // what is being done
	wait  terminal.Wait
	since time.Time
	step  string // "step 1 of 2", while one is carried out
	label string // the line that is being put together
	parts []string
	round int
	// base is what the checks of the base said, which run while the first phases think;
	// checking is the one that runs, of as many as there are.
	base        []string
	checking    string
	checkedFrom time.Time
	checks      int
	heard       int // characters of the answer that is coming in
	tokens      map[string]int
	cost        map[string]float64
	started     map[string]time.Time
	live        *terminal.Line // nil where lines stay
	over        chan struct{}
	ticking     sync.WaitGroup
}

// quietTime is how long nothing may be shown where there is no terminal to draw on.
const quietTime = 30 * time.Second

func (p *program) newProgress() *progress {
	g := &progress{p: p, tokens: map[string]int{}, cost: map[string]float64{}, started: map[string]time.Time{}, over: make(chan struct{}), since: time.Now(), now: "beginning"}
	if p.isTerminal(p.err) && !p.flags.quiet {
		g.live = &terminal.Line{W: p.err}
	}
	if !p.flags.quiet {
		g.ticking.Go(g.tick)
	}
	return g
}

// tick draws what is being done, once a second, or says it now and then where lines stay.
func (g *progress) tick() {
	each, said := time.NewTicker(time.Second), time.Now()
	defer each.Stop()
	for {
		select {
		case <-g.over:
			return
		case <-each.C:
		}
		g.mu.Lock()
		switch {
		case g.live != nil:
			g.live.Draw(g.status(time.Now()))
		case time.Since(g.since) > quietTime && time.Since(said) > quietTime:
			g.p.tell("%s", g.status(time.Now()))
			said = time.Now()
		}
		g.mu.Unlock()
	}
}

// status is what is being done now.
func (g *progress) status(now time.Time) string {
	parts := []string{}
	if g.step != "" {
		parts = append(parts, g.step)
	}
	if len(g.parts) > 0 {
		parts = append(parts, strings.TrimSpace(g.label)+" "+strings.Join(g.parts, " "))
	}
	if g.checking != "" {
		parts = append(parts, strings.Join(append([]string{"baseline"}, g.base...), " "), "running "+g.checking, now.Sub(g.checkedFrom).Round(time.Second).String())
		if g.now == "" {
			return "  … " + terminal.OneLine(strings.Join(parts, " · "), 160) + g.spent("")
		}
	}
	doing := cmp.Or(g.now, "working")
	if waits, ok := g.wait.For(); ok && strings.HasPrefix(waits, "asking") {
		doing = waits
	} else if g.heard > 0 {
		doing += fmt.Sprintf(" (%s characters so far)", terminal.Count(g.heard))
	}
	parts = append(parts, doing, now.Sub(g.since).Round(time.Second).String())
	return "  … " + terminal.OneLine(strings.Join(parts, " · "), 160) + g.spent("")
}

// spent is what a run has cost, or all of them.
func (g *progress) spent(run string) string {
	tokens, cost := g.tokens[run], g.cost[run]
	if tokens == 0 {
		return ""
	}
	text := "  " + terminal.Count(tokens) + " tokens"
	if cost > 0 {
		text += fmt.Sprintf("  $%.2f", cost)
	}
	return text
}

func (g *progress) close() {
	g.mu.Lock()
	g.flush()
	g.flushBase()
	g.mu.Unlock()
	close(g.over)
	g.ticking.Wait()
	g.clear()
}

// clear takes away what is being done, for a line that stays.
func (g *progress) clear() {
	if g.live != nil {
		g.live.Clear()
	}
}

// line shows something that was done, below what was put together before it.
func (g *progress) line(format string, args ...any) {
	g.flush()
	g.print(fmt.Sprintf(format, args...))
}

func (g *progress) print(text string) {
	g.clear()
	g.p.tell("%s", terminal.Clean(strings.TrimRight(text, " ")))
}

// add puts something into the line of a label, which is shown once it is whole.
func (g *progress) add(label, part string) {
	if label != g.label {
		g.flush()
		g.label = label
	}
	g.parts = append(g.parts, part)
}

// flush shows the line that was put together.
func (g *progress) flush() {
	if len(g.parts) > 0 {
		g.print(fmt.Sprintf("%-15s %s", g.label, strings.Join(g.parts, "  ")))
	}
	g.label, g.parts = "", nil
}

// flushBase shows what the checks of the base said.
func (g *progress) flushBase() {
	if len(g.base) > 0 {
		g.line("%-15s %s", "baseline", strings.Join(g.base, "  "))
	}
	g.base = nil
}

func (g *progress) doing(what string) { g.now, g.since, g.heard = what, time.Now(), 0 }

// note shows an event.
func (g *progress) note(e *troupe.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wait.Note(e)
	switch b := e.Body.(type) {
	case *troupe.RunStarted:
		g.began(e, b)
	case *troupe.TextDelta:
		g.heard += len(b.Text)
	case *troupe.ModelReplied:
		g.count(e.Run, b.Usage, b.Cost)
	case *troupe.ToolCalled:
		g.called(b)
	case *troupe.ToolReturned:
		if b.Class == "" {
			g.returned(e, b)
		}
		if b.Tool == "run_check" && g.checking != "" {
			g.checking = ""
			return
		}
		g.doing("thinking")
	case *troupe.RunFinished:
		g.ended(e, b)
	case *troupe.ModelFailed:
		g.count(e.Run, b.Usage, b.Cost)
		g.warned(e)
	case *troupe.Warned, *troupe.RunResumed, *troupe.LimitReached:
		g.warned(e)
	}
}

// count adds what a model call has used to its run and to those around it.
func (g *progress) count(run string, usage troupe.Usage, cost float64) {
	for ; ; run = above(run) {
		g.tokens[run] += usage.Total()
		g.cost[run] += cost
		if run == "" {
			return
		}
	}
}

// above is the run that a run is nested in, empty for all of them.
func above(run string) string {
	i := strings.LastIndex(run, ":")
	if i < 0 {
		return ""
	}
	return run[:i]
}

func (g *progress) began(e *troupe.Event, b *troupe.RunStarted) {
	g.started[e.Run] = e.Time
	switch depth := strings.Count(e.Run, ":"); {
	case depth == 1 && e.Agent != "implementation":
		g.step = ""
		g.doing(e.Agent + " is thinking")
	case depth == 2 && strings.HasPrefix(e.Agent, "step "):
		var step struct{ ID, Title string }
		var plan struct{ Steps []struct{ ID string } }
		decode(b.Input.Custom["step"], &step)
		decode(b.Input.Custom["plan"], &plan)
		at := 0
		for i, s := range plan.Steps {
			if s.ID == step.ID {
				at = i + 1
			}
		}
		g.step, g.round = fmt.Sprintf("step %d of %d", at, len(plan.Steps)), 0
		g.line("%-15s %s", g.step, step.Title)
		g.doing("the builder is thinking")
	case depth > 1:
		g.doing(strings.TrimSuffix(e.Agent, "-agent") + " is thinking")
	}
}

func decode(value, into any) {
	data, err := json.Marshal(value)
	if err == nil {
		_ = json.Unmarshal(data, into) // what has another form is not shown
	}
}

// acts are what the tools of a delivery do, in words.
var acts = map[string]string{
	"open_worktree": "making a worktree", "run_setup": "setting up:", "run_setup_again": "setting up again:", "run_check": "running", "apply_changes": "applying the changes", "run_format": "formatting",
	"commit_step": "committing", "commit_documents": "committing the documents", "try_finding": "trying the reviewer's test", "show_change": "looking at the change",
	"read_file": "reading", "search_code": "searching", "list_files": "listing", "publish": "checking out the result",
	"read_plan": "looking at the plan", "write_plan": "noting how the plan stands", "query_plan": "looking up the step", "query_knowledge": "looking in the knowledge base", "gather_files": "looking what files there are",
	"read_documents": "reading the documents", "read_document": "reading a document", "write_artifact": "saving", "upload_artifact": "putting into the knowledge base:", "show_files": "looking at files", "show_diff": "looking at the change",
	"check_output": "looking at what a check said", "outline": "looking at what is in", "count_changes": "looking what has changed", "find_checks": "looking for checks", "adopt_checks": "taking over the checks",
	"compare_dependencies": "looking what the project depends on", "keep_attempt": "putting the attempt aside", "gate": "asking",
}

func (g *progress) called(b *troupe.ToolCalled) {
	var in struct{ Check, Command, Path, Pattern string }
	decode(json.RawMessage(b.Arguments), &in)
	act := acts[b.Tool]
	if act == "" {
		act = strings.ReplaceAll(b.Tool, "_", " ")
	}
	g.doing(strings.TrimSpace(act + " " + in.Check + in.Command + in.Path + in.Pattern))
}

// ended shows that a phase has come to its end.
func (g *progress) ended(e *troupe.Event, end *troupe.RunFinished) {
	if strings.Count(e.Run, ":") != 1 || e.Parent == "" {
		return
	}
	status, _ := end.Output.Custom["status"].(string)
	if status == "" {
		return
	}
	g.step = ""
	text := status
	if made := phaseLine(e.Agent, end); made != "" {
		if text = made; status != "success" {
			text = status + ": " + made
		}
	}
	took := ""
	if began, ok := g.started[e.Run]; ok { // else it began in a process that is gone
		took = "  " + terminal.Duration(e.Time.Sub(began))
	}
	g.line("%-15s %-40s %s%s", e.Agent, text, g.spent(e.Run), took)
}
