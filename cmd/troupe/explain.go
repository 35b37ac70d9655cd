package main

import (
	"cmp"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/cmd/troupe/internal/terminal"
	"github.com/troupe-dev/troupe/explain"
	"github.com/troupe-dev/troupe/internal/words"
	"github.com/troupe-dev/troupe/model/problem"
	"github.com/troupe-dev/troupe/project"
)

func (p *program) explainSessionCommand() *cobra.Command {
	var turn int
	var text bool
	c := &cobra.Command{
		Use:   "explain ID",
		Short: "Say what models were sent, where it came from, what it took and cost, and why runs stopped",
		Long: "Lists the model calls of a session and says why its runs stopped. With --turn it shows what one call was sent: each part\n" +
			"with the file and line that it came from, its tokens and cost, and whether it is new since the call before; and what of\n" +
			"that call was not sent any more.",
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if text && turn == 0 {
				return usage("--text needs --turn")
			}
			return p.inProject(func(opened *project.Project) error {
				return p.withLog(c.Context(), opened, args[0], func(info troupe.SessionInfo, events iter.Seq2[troupe.Event, error]) error {
					options := opened.ExplainOptions()
					options.Turn = turn
					session, err := explain.Read(events, options)
					if err != nil {
						return err
					}
					return p.writeExplained(session, info.Status, turn, text)
				})
			})
		},
	}
	c.Flags().IntVar(&turn, "turn", 0, "show what was sent in this turn, counted from 1; -1 is the last")
	c.Flags().BoolVar(&text, "text", false, "with the whole text of each part")
	return c
}

func (p *program) writeExplained(s *explain.Session, status string, turn int, text bool) error {
	switch {
	case p.flags.json:
		return p.writeJSON(s)
	case turn == 0:
		return p.writeTurns(s, status)
	case turn < 0:
		turn = len(s.Turns)
	}
	if len(s.Turns) == 0 {
		p.tell("No model was asked in this session.")
		return nil
	}
	return p.writeTurn(s, &s.Turns[turn-1], text)
}

// writeTurns lists the model calls, each with what led to it, and the ends of runs. The
// last run may have none: the status of the session says why.
func (p *program) writeTurns(s *explain.Session, status string) error {
	table := p.table()
	fmt.Fprintln(table, "TURN\tAGENT\tMODEL\tSENT\tCACHED\tCAME BACK\tCOST\tTIME\tWHAT CAME OF IT")
	// What is said between calls stands in the last column, so that the others line up.
	aside := func(text string) { fmt.Fprintf(table, "%s%s\n", strings.Repeat("\t", 8), text) }
	ends, failed, edits := s.Ends, s.FailedAttempts, s.Edits
	// Attempts that came to nothing stand where they were made.
	wasted := func(before int) {
		for ; len(failed) > 0 && failed[0].AfterTurn < before; failed = failed[1:] {
			one := &failed[0]
			fmt.Fprintf(table, "-\t%s\t%s\t%s\t-\t%s\t%s\t-\tfailed: %s\n", one.Agent, terminal.OneLine(cmp.Or(one.Model, "-"), 40), counted(one.Input),
				counted(one.Output), costOf(one.Cost), terminal.OneLine(whyFailed(one)+" ("+one.Error+")", 240))
		}
	}
	for i := range s.Turns {
		t := &s.Turns[i]
		wasted(t.Turn)
		for _, c := range t.Compacted {
			aside(describeCompaction(&c))
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%v\t%s\n", t.Turn, t.Agent, terminal.OneLine(cmp.Or(t.Model, "-"), 40), terminal.Count(t.Input),
			terminal.Count(t.Cached), terminal.Count(t.Output), costOrUnknown(t), (time.Duration(t.Latency) * time.Millisecond).Round(10*time.Millisecond), outcomeOf(t))
		for len(ends) > 0 && ends[0].AfterTurn <= t.Turn {
			aside("stopped: " + terminal.OneLine(whyEnded(ends[0]), 200))
			ends = ends[1:]
		}
		for ; len(edits) > 0 && edits[0].AfterTurn <= t.Turn; edits = edits[1:] {
			aside(terminal.OneLine(describeEdit(&edits[0]), 200))
		}
	}
	wasted(len(s.Turns) + 1)
	for i := range edits {
		aside(terminal.OneLine(describeEdit(&edits[i]), 200))
	}
	for _, end := range ends {
		aside("stopped: " + terminal.OneLine(whyEnded(end), 200))
	}
	switch status {
	case "interrupted":
		aside("stopped: the process that carried it out has ended; 'troupe sessions resume " + s.Session[:8] + "' goes on")
	case "running":
		aside("it is under way")
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if len(s.Turns) > 0 {
		p.tell("'troupe sessions explain %s --turn %d' shows what the last one was sent.", s.Session[:8], len(s.Turns))
	}
	return nil
}

func describeEdit(e *explain.Edit) string {
	return fmt.Sprintf("edited: what %s is given, by %s; session %.8s has what it was", e.Agent, words.Person(e.User), e.From)
}

func describeCompaction(c *explain.Compaction) string {
	text := fmt.Sprintf("made room: %s messages left out, %s kept, %s tokens became %s", terminal.Count(c.Dropped), terminal.Count(c.Kept), terminal.Count(c.TokensBefore), terminal.Count(c.TokensAfter))
	if c.Summary != "" {
		text += ", summed up"
	}
	if c.ResultCap > 0 {
		text += fmt.Sprintf(", tool results cut at %d bytes", c.ResultCap)
	}
	return text
}

// outcomeOf says in a few words what a call came to.
func outcomeOf(t *explain.Turn) string {
	switch {
	case len(t.Calls) > 0:
		return terminal.OneLine(strings.Join(t.Calls, "; "), 60)
	case t.Purpose == "summary":
		return "summed up what was said, to make room"
	case t.Purpose != "":
		return t.Purpose
	}
	return terminal.OneLine(t.Answer, 60)
}

// counted is a number of tokens, of which none means that nobody said.
func counted(n int) string {
	if n == 0 {
		return "-"
	}
	return terminal.Count(n)
}

// whyFailed says in the catalogue's words why an attempt failed and what was done then.
func whyFailed(a *explain.FailedAttempt) string {
	return problem.OfPast(a.Failed()).String()
}

func costOrUnknown(t *explain.Turn) string {
	if t.Unpriced && t.Cost == 0 {
		return "?" // as troupe models has it
	}
	return costOf(t.Cost)
}

func costOf(cost float64) string {
	if cost == 0 {
		return "-"
	}
	return fmt.Sprintf("$%.4f", cost)
}

// writeTurn shows what one call was sent.
func (p *program) writeTurn(s *explain.Session, t *explain.Turn, text bool) error {
	fmt.Fprintf(p.out, "Turn %d of %d: %s, %s, %s tokens sent (%s from the cache), %s came back, %s\n\n", t.Turn, len(s.Turns), t.Agent, cmp.Or(t.Model, "no model"),
		terminal.Count(t.Input), terminal.Count(t.Cached), terminal.Count(t.Output), costOrUnknown(t))
	if t.Purpose == "summary" {
		fmt.Fprint(p.out, "It is no turn of the conversation: it sums up what was said before, to make room.\n\n")
	}
	for _, c := range t.Compacted {
		fmt.Fprintf(p.out, "Before it, %s.\n\n", describeCompaction(&c))
	}
	for i := range s.FailedAttempts {
		if failed := &s.FailedAttempts[i]; failed.AfterTurn == t.Turn-1 {
			fmt.Fprintf(p.out, "Before it, an attempt failed: %s\n  details: %s\n\n", terminal.OneLine(whyFailed(failed), 300), terminal.OneLine(failed.Error, 300))
		}
	}
	if err := p.writeParts(t.Parts, text); err != nil {
		return err
	}
	if len(t.Dropped) > 0 {
		fmt.Fprint(p.out, "\nNot sent any more:\n")
		if err := p.writeParts(t.Dropped, text); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.out, "\nCame back (%s): %s\n", cmp.Or(t.Finish, "no reason given"), outcomeOf(t))
	for _, end := range s.Ends {
		if end.AfterTurn == t.Turn {
			fmt.Fprintf(p.out, "The run then stopped: %s\n", terminal.OneLine(whyEnded(end), 300))
		}
	}
	return nil
}

func (p *program) writeParts(parts []explain.Part, text bool) error {
	table := p.table()
	for _, part := range parts {
		fresh := ""
		if part.New {
			fresh = "new"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s tokens\t%s\t%s\n", part.Kind, terminal.OneLine(cmp.Or(part.Name, "-"), 40), fresh, terminal.OneLine(placeOf(&part), 70),
			terminal.Count(part.Tokens), costOf(part.Cost), terminal.OneLine(part.Text, 50))
		if text {
			if err := table.Flush(); err != nil {
				return err
			}
			for line := range strings.Lines(part.Text) {
				fmt.Fprintf(p.out, "  │ %s\n", terminal.Clean(strings.TrimRight(line, "\n")))
			}
		}
	}
	return table.Flush()
}

// placeOf says where a part came from.
func placeOf(part *explain.Part) string {
	switch {
	case part.Origin != "" && part.Line > 0:
		return fmt.Sprintf("%s:%d", part.Origin, part.Line)
	case part.Origin != "" && part.Origin != part.Name:
		return part.Origin
	case part.Event > 0 && part.Kind != "instructions":
		return fmt.Sprintf("event %d", part.Event)
	}
	return ""
}

// whyEnded has the words of the catalogue for a failure that it knows, and the failure's
// own behind them.
func whyEnded(end explain.End) string {
	what := problem.OfRecord("", end.Why)
	if !end.IsFailure || !what.IsExplained() {
		return end.Why
	}
	return what.Sentence + " (" + end.Why + ")"
}
