package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/internal/checks"
	"github.com/troupe-dev/troupe/internal/edit"
	"github.com/troupe-dev/troupe/internal/words"
	"github.com/troupe-dev/troupe/pipeline"
	"github.com/troupe-dev/troupe/project"
)

// A foundCheck is a check as a delivery found it.
type foundCheck struct {
	Name, Shell, Dir, Shown string
	Argv                    []string
}

// returned shows what a tool of the delivery has done.
func (g *progress) returned(e *troupe.Event, b *troupe.ToolReturned) {
	var out struct {
		ID, Branch, Sandbox, Why, Commit string
		Checks                           []foundCheck
		Found                            bool
		Left                             int
		Problems                         []edit.Problem
		Files                            json.RawMessage
		ByHand                           []string `json:"by_hand"`
	}
	_ = json.Unmarshal([]byte(b.Content), &out) // what has another form is not shown
	switch b.Tool {
	case "open_worktree":
		g.opened(out.ID, out.Branch, out.Sandbox, out.Why, out.Checks, out.Found, out.Left)
	case "run_check":
		g.checked(b.Content)
	case "apply_changes":
		g.round++
		g.flush()
		if len(out.Problems) > 0 {
			g.add(g.roundLabel(), "does not fit: "+terminal.OneLine(out.Problems[0].ForPeople(), 160))
			g.flush()
		} else if stats := statsLine(out.Files); stats != "" {
			g.add(g.roundLabel(), stats+" ·")
		} else {
			g.add(g.roundLabel(), "changes nothing")
		}
	case "commit_step":
		g.add(g.label, "→ "+short(out.Commit))
		g.flush()
	case "keep_attempt":
		g.line("  taken back; the attempt is kept")
	case "try_finding":
		var t struct{ Proven, Fell bool }
		_ = json.Unmarshal([]byte(b.Content), &t)
		switch {
		case t.Proven:
			g.line("  a finding is proven by its test")
		case t.Fell:
			g.line("  a finding falls: its own test passes")
		}
	}
	if len(out.ByHand) > 0 {
		g.line("  changed by hand, and kept: %s", strings.Join(out.ByHand, ", "))
	}
}

func (g *progress) roundLabel() string { return fmt.Sprintf("  round %d", max(g.round, 1)) }

// opened is the first line of a delivery.
func (g *progress) opened(id, branch, sandbox, why string, checks []foundCheck, found bool, left int) {
	var names []string
	for _, c := range checks {
		names = append(names, c.Name)
	}
	list := strings.Join(names, ", ")
	if list == "" {
		list = "none"
	} else if found {
		list += " (found)"
	}
	g.checks = len(checks)
	g.line("delivery %s · branch %s · sandbox %s · checks: %s", id, branch, sandbox, list)
	if why != "" {
		g.line("  the sandbox is not full: %s", terminal.OneLine(why, 300))
	}
	if left > 0 {
		g.line("  %s not in this delivery; --include-changes takes them", changedFiles(left))
	}
}

func changedFiles(n int) string {
	if n == 1 {
		return "1 changed file is"
	}
	return fmt.Sprintf("%d changed files are", n)
}

func short(commit string) string { return commit[:min(len(commit), 7)] }

// checked puts the outcome of a check into the line that it belongs to.
func (g *progress) checked(content string) {
	var o checks.Outcome
	_ = json.Unmarshal([]byte(content), &o)
	label, isBase := g.label, strings.HasPrefix(o.File, "checks/baseline")
	switch {
	case strings.HasPrefix(o.File, "checks/verify"):
		label = "verify"
	case label == "":
		label = g.roundLabel()
	}
	mark := "✓"
	if !o.OK {
		mark = "✗"
	}
	text := fmt.Sprintf("%s %s %.1fs", o.Name, mark, o.Took.Seconds())
	if o.Tests > 0 {
		text += fmt.Sprintf(" (%s)", words.Counted(o.Tests, "test"))
	}
	if len(o.Failing) > 0 {
		text += " " + terminal.OneLine(strings.Join(o.ShortFailing(), ", "), 100)
	}
	if len(o.Flaky) > 0 {
		text += " flaky: " + terminal.OneLine(strings.Join(o.ShortFlaky(), ", "), 100)
	}
	if o.Cause == checks.CauseEnvironment {
		text += " could not run: " + terminal.OneLine(o.Remedy, 160)
	}
	if isBase {
		if g.base = append(g.base, text); len(g.base) >= g.checks {
			g.flushBase()
		}
		return
	}
	g.add(label, text)
	if !o.OK {
		g.flush()
	}
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

// findingLine is what a finding is about, with its place where it names one.
func findingLine(id, severity, path string, line int) string {
	text := id + " " + (&pipeline.Finding{Severity: severity}).Standing()
	if path == "" {
		return text + ": "
	}
	if line > 0 {
		path += fmt.Sprintf(":%d", line)
	}
	return text + ", " + path + ": "
}

// phaseLine is what a phase came to, in a few words.
func phaseLine(phase string, end *troupe.RunFinished) string {
	var r struct {
		Outputs map[string]json.RawMessage
		Review  *struct {
			Verdict  string
			Findings []struct {
				ID, Severity, Path, Problem string
				Line                        int
				Fell, Proven                bool
			}
			Criteria []struct{ ID, State string }
		}
		Steps    []struct{ State string }
		Warnings []string
	}
	decode(end.Output.Outputs["result"], &r)
	number := func(key string) int {
		var list pipeline.Items
		_ = list.UnmarshalJSON(r.Outputs[key]) // one that stands without a list around it is one
		return len(list)
	}
	switch {
	case r.Review != nil:
		return reviewLine(r.Review.Verdict, len(r.Review.Findings), func(i int) (string, bool) {
			f := r.Review.Findings[i]
			text := findingLine(f.ID, f.Severity, f.Path, f.Line) + f.Problem
			if f.Proven {
				text += " (proven by a test)"
			}
			return text, !f.Fell && f.Severity != "minor"
		})
	case phase == "requirements":
		return oneOrMany(number("user_stories"), "story", "stories") + ", " + oneOrMany(number("acceptance_criteria"), "criterion", "criteria")
	case phase == "discovery":
		missing := 0
		for _, w := range r.Warnings {
			if strings.HasPrefix(w, "file_missing:") {
				missing++
			}
		}
		return words.Counted(max(number("relevant_files")-missing, 0), "file")
	case phase == "planning" && number("steps") > 0:
		return words.Counted(number("steps"), "step")
	case phase == "implementation":
		done := 0
		for _, s := range r.Steps {
			if s.State == "done" {
				done++
			}
		}
		return fmt.Sprintf("%d of %s done", done, words.Counted(len(r.Steps), "step"))
	}
	return ""
}

func oneOrMany(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// reviewLine says what a review came to, with its first finding that is to be put right.
func reviewLine(verdict string, n int, finding func(int) (text string, blocks bool)) string {
	var open []string
	for i := range n {
		if text, blocks := finding(i); blocks {
			open = append(open, text)
		}
	}
	switch {
	case len(open) == 0 && verdict == "accept":
		return "accepted"
	case len(open) == 0:
		return strings.ReplaceAll(verdict, "_", " ")
	case len(open) == 1:
		return "changes required: " + terminal.OneLine(open[0], 120)
	}
	return fmt.Sprintf("changes required: %s, and %d more", terminal.OneLine(open[0], 120), len(open)-1)
}

// warned shows a warning in words for the person who waits, not for the agent.
func (g *progress) warned(e *troupe.Event) {
	b, ok := e.Body.(*troupe.Warned)
	if !ok {
		if text, ok := terminal.Warning(e); ok {
			g.line("  %s", text)
		}
		return
	}
	switch {
	case b.Code == "json_correction":
		g.line("  ! %s", terminal.OneLine(b.Message, 200))
	case b.Code == "reply_cut":
		g.line("  ! its answer was cut off at the model's output limit; it is asked for the rest, or for less")
	case strings.HasPrefix(b.Code, "json_") || strings.HasPrefix(b.Code, "contract"):
		return // how an answer was read, field by field: the log has it, the result says what it came to
	default:
		if text, ok := terminal.Warning(e); ok {
			g.line("  %s", text)
		}
	}
}

// writeReport says what a delivery into a repository came to.
func (p *program) writeReport(s *pipeline.Summary, taken project.Taken) {
	r := s.Report
	for _, o := range r.Checks {
		fmt.Fprintf(p.out, "verified  %s\n", terminal.Clean(o.Mark()))
	}
	for _, c := range r.Criteria {
		fmt.Fprintf(p.out, "%s %s  %s\n", c.ID, strings.ReplaceAll(c.State, "_", " "), terminal.OneLine(c.Text, 100))
	}
	for _, f := range r.Findings {
		if !f.Fell {
			fmt.Fprintln(p.out, terminal.OneLine(findingLine(f.ID, f.Severity, f.Path, f.Line)+f.Problem, 240))
		}
	}
	for _, c := range r.Claims {
		fmt.Fprintf(p.out, "claim beside fact: %s\n", terminal.OneLine(c, 200))
	}
	for _, n := range r.Notes {
		fmt.Fprintf(p.out, "note: %s\n", terminal.OneLine(n, 300))
	}
	added, removed := 0, 0
	for _, f := range r.Files {
		added, removed = added+f.Added, removed+f.Removed
	}
	spent := terminal.Count(s.Tokens) + " tokens"
	if s.Cost > 0 {
		spent += fmt.Sprintf(", $%.2f", s.Cost)
	}
	fmt.Fprintf(p.out, "%s  %s +%d −%d in %s on %s, %s, %s\n", r.Outcome, words.Counted(len(r.Files), "file"), added, removed, words.Counted(r.CommitCount(), "commit"), r.Branch, spent, terminal.Duration(time.Duration(s.Duration)))
	for _, reason := range r.Reasons {
		fmt.Fprintf(p.out, "- %s\n", terminal.Clean(reason))
	}
	for _, step := range s.Ledger {
		if detail := strings.TrimSpace(terminal.Clean(step.Detail)); detail != "" && step.State == pipeline.StepFailed {
			fmt.Fprintf(p.out, "  %s\n", strings.ReplaceAll(detail, "\n", "\n  "))
		}
	}
	if r.Advice != "" {
		fmt.Fprintln(p.out, r.Advice)
	}
	var next []string
	here := p.deliveriesHere()
	if len(r.Files) > 0 {
		next = append(next, "See it: "+here+" diff "+r.ID)
	}
	if len(r.Commits) > 0 && (!taken.Any || taken.More) {
		next = append(next, "Take it: "+here+" apply "+r.ID)
	}
	if r.Outcome != pipeline.OutcomeDelivered {
		next = append(next, "Go on: "+here+" resume "+r.ID)
	}
	switch {
	case taken.Any:
		next = append(next, "Take it back: "+here+" undo "+r.ID)
	case len(taken.Elsewhere) == 0: // else it is taken back there first
		next = append(next, "Drop it: "+here+" drop "+r.ID)
	}
	p.tell("%s", strings.Join(next, "    "))
}
