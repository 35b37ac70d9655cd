package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/pipeline"
)

// progress shows how a delivery comes along: a line for each thing that was done, and on
// a terminal what is being done now, and for how long.
type progress struct {
	p     *program
	saves bool

	mu      sync.Mutex
	now     string
	wait    terminal.Wait
	since   time.Time
	tokens  map[string]int // by run
	cost    map[string]float64
	started map[string]time.Time
	live    bool
	over    chan struct{}
	ticking sync.WaitGroup
}

func (p *program) newProgress() *progress {
	g := &progress{p: p, tokens: map[string]int{}, cost: map[string]float64{}, started: map[string]time.Time{}, over: make(chan struct{}), since: time.Now()}
	g.live = p.isTerminal(p.err) && !p.flags.quiet
	if g.live {
		g.ticking.Go(g.tick)
	}
	return g
}

// tick draws what is being done, once a second.
func (g *progress) tick() {
	each := time.NewTicker(time.Second)
	defer each.Stop()
	for {
		select {
		case <-g.over:
			return
		case <-each.C:
			g.mu.Lock()
			if waits, ok := g.wait.For(); ok {
				fmt.Fprintf(g.p.err, "\r\x1b[K  … %s", waits)
			} else if g.now != "" {
				fmt.Fprintf(g.p.err, "\r\x1b[K  … %s, %s", terminal.OneLine(g.now, 70), time.Since(g.since).Round(time.Second))
			}
			g.mu.Unlock()
		}
	}
}

func (g *progress) close() {
	close(g.over)
	g.ticking.Wait()
	if g.live {
		fmt.Fprint(g.p.err, "\r\x1b[K")
	}
}

func (g *progress) line(format string, args ...any) {
	if g.live {
		fmt.Fprint(g.p.err, "\r\x1b[K")
	}
	g.p.tell("%s", terminal.Clean(strings.TrimRight(fmt.Sprintf(format, args...), " ")))
}

func (g *progress) doing(what string) { g.now, g.since = what, time.Now() }

// note shows an event.
func (g *progress) note(e *troupe.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wait.Note(e)
	switch b := e.Body.(type) {
	case *troupe.RunStarted:
		g.began(e, b)
	case *troupe.ModelReplied:
		for run := e.Run; run != ""; run = above(run) {
			g.tokens[run] += b.Usage.Total()
			g.cost[run] += b.Cost
		}
	case *troupe.ToolCalled:
		g.called(e, b)
	case *troupe.ToolReturned:
		if b.Class == "" {
			g.returned(e, b)
		}
	case *troupe.RunFinished:
		g.ended(e)
	case *troupe.ArtifactSaved:
		g.line("  %s", b.Path)
	case *troupe.Warned, *troupe.ModelFailed:
		if text, ok := terminal.Warning(e); ok {
			g.line("  %s", text)
		}
	}
}

// above is the run that a run is nested in.
func above(run string) string {
	i := strings.LastIndex(run, ":")
	if i < 0 {
		return ""
	}
	return run[:i]
}

func (g *progress) began(e *troupe.Event, b *troupe.RunStarted) {
	g.started[e.Run] = e.Time
	depth := strings.Count(e.Run, ":")
	switch {
	case depth == 1 && !isBuilding(e.Agent):
		g.doing(e.Agent)
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
		g.line("%-15s %s", fmt.Sprintf("step %d of %d", at, len(plan.Steps)), step.Title)
		g.doing(e.Agent)
	case depth > 1:
		g.doing(e.Agent + " thinks")
	}
}

func isBuilding(name string) bool { return name == "implementation" }

func decode(value, into any) {
	data, err := json.Marshal(value)
	if err == nil {
		_ = json.Unmarshal(data, into) // what has another form is not shown
	}
}

func (g *progress) called(e *troupe.Event, b *troupe.ToolCalled) {
	var in struct{ Check, Command, Path, Pattern, Label string }
	decode(json.RawMessage(b.Arguments), &in)
	what := strings.TrimSpace(strings.ReplaceAll(b.Tool, "_", " ") + " " + in.Check + in.Command + in.Path + in.Pattern)
	g.doing(what)
}

// returned shows what a tool of the delivery has done.
func (g *progress) returned(e *troupe.Event, b *troupe.ToolReturned) {
	var out struct {
		ID, Branch, Sandbox, Why, Name, Commit, Remedy, File string
		Checks                                               []struct {
			Name, Shell string
			Argv        []string
		}
		Found, OK      bool
		Left, Tests    int
		Took           time.Duration
		Failing, Notes []string
		Problems       []struct{ Path, Message string }
		Files          json.RawMessage
		Cause          string
		ByHand         []string `json:"by_hand"`
	}
	_ = json.Unmarshal([]byte(b.Content), &out) // what has another form is not shown
	switch b.Tool {
	case "open_worktree":
		var names []string
		for _, c := range out.Checks {
			names = append(names, c.Name)
		}
		list := strings.Join(names, ", ")
		if list == "" {
			list = "none"
		} else if out.Found {
			list += " (found)"
		}
		g.line("delivery %s · branch %s · sandbox %s · checks: %s", out.ID, out.Branch, out.Sandbox, list)
		if out.Why != "" {
			g.line("  the sandbox is not full: %s", terminal.OneLine(out.Why, 300))
		}
		if out.Left > 0 {
			g.line("  %s not in this delivery; --include-changes takes them", changedFiles(out.Left))
		}
		if g.saves && out.Found && len(out.Checks) > 0 {
			g.line("pipeline:\n  checks:")
			for _, c := range out.Checks {
				run := c.Shell
				if run == "" {
					run = strings.ReplaceAll(strings.Join(c.Argv, " "), " -json", "")
				}
				g.line("    - {name: %q, run: %q}", c.Name, run)
			}
		}
	case "run_check":
		g.line("  %s", checkLine(b.Content))
	case "apply_changes":
		switch {
		case len(out.Problems) > 0:
			g.line("  does not fit: %s, %s", out.Problems[0].Path, terminal.OneLine(out.Problems[0].Message, 120))
		default:
			g.line("  %s", statsLine(out.Files))
		}
	case "commit_step":
		g.line("  → %s", short(out.Commit))
	case "keep_attempt":
		g.line("  given up; what was tried is kept")
	}
	if len(out.ByHand) > 0 {
		g.line("  changed by hand, and kept: %s", strings.Join(out.ByHand, ", "))
	}
}

func changedFiles(n int) string {
	if n == 1 {
		return "1 changed file is"
	}
	return fmt.Sprintf("%d changed files are", n)
}

func short(commit string) string { return commit[:min(len(commit), 7)] }

// checkLine is the outcome of a check in a line.
func checkLine(content string) string {
	var o struct {
		Name, Cause, Remedy string
		OK                  bool
		Tests               int
		Failing             []string
		Took                time.Duration
	}
	_ = json.Unmarshal([]byte(content), &o)
	mark := "✓"
	if !o.OK {
		mark = "✗"
	}
	text := fmt.Sprintf("%s %s %.1fs", o.Name, mark, o.Took.Seconds())
	if o.Tests > 0 {
		text += fmt.Sprintf(" (%s)", counted(o.Tests, "test"))
	}
	if len(o.Failing) > 0 {
		text += " " + terminal.OneLine(strings.Join(o.Failing, ", "), 100)
	}
	if o.Cause == "environment" {
		text += " could not run: " + terminal.OneLine(o.Remedy, 160)
	}
	return text
}

func statsLine(files json.RawMessage) string {
	var list []struct {
		Path           string
		Added, Removed int
	}
	_ = json.Unmarshal(files, &list)
	var parts []string
	for _, f := range list {
		parts = append(parts, fmt.Sprintf("%s +%d −%d", f.Path, f.Added, f.Removed))
	}
	return terminal.OneLine(strings.Join(parts, ", "), 160)
}

// ended shows that a phase has come to its end.
func (g *progress) ended(e *troupe.Event) {
	if strings.Count(e.Run, ":") != 1 || e.Parent == "" {
		return
	}
	end, _ := e.Body.(*troupe.RunFinished)
	status, _ := end.Output.Custom["status"].(string)
	if status == "" {
		return
	}
	spent := terminal.Count(g.tokens[e.Run]) + " tokens"
	if g.cost[e.Run] > 0 {
		spent += fmt.Sprintf("  $%.2f", g.cost[e.Run])
	}
	g.line("%-15s %-10s %s  %s", e.Agent, status, spent, terminal.Duration(e.Time.Sub(g.started[e.Run])))
}

// writeReport says what a delivery into a repository came to.
func (p *program) writeReport(s *pipeline.Summary) {
	r := s.Report
	for _, o := range r.Checks {
		fmt.Fprintf(p.out, "verified  %s\n", terminal.Clean(o.Mark()))
	}
	for _, c := range r.Criteria {
		fmt.Fprintf(p.out, "%s %s  %s\n", c.ID, strings.ReplaceAll(c.State, "_", " "), terminal.OneLine(c.Text, 100))
	}
	for _, f := range r.Findings {
		if !f.Fell {
			fmt.Fprintf(p.out, "%s %s %s:%d  %s\n", f.ID, f.Severity, f.Path, f.Line, terminal.OneLine(f.Problem, 120))
		}
	}
	for _, c := range r.Claims {
		fmt.Fprintf(p.out, "claim beside fact: %s\n", terminal.OneLine(c, 200))
	}
	added, removed := 0, 0
	for _, f := range r.Files {
		added, removed = added+f.Added, removed+f.Removed
	}
	spent := terminal.Count(s.Tokens) + " tokens"
	if s.Cost > 0 {
		spent += fmt.Sprintf(", $%.2f", s.Cost)
	}
	fmt.Fprintf(p.out, "%s  %s +%d −%d in %s on %s, %s, %s\n", r.Outcome, counted(len(r.Files), "file"), added, removed, counted(len(r.Commits), "commit"), r.Branch, spent, terminal.Duration(time.Duration(s.Duration)))
	for _, reason := range r.Reasons {
		fmt.Fprintf(p.out, "- %s\n", terminal.Clean(reason))
	}
	p.tell("See it: troupe deliveries diff %s    Take it: troupe deliveries apply %s    Drop it: troupe deliveries undo %s", r.ID, r.ID, r.ID)
}
