package terminal

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/problem"
)

// errStopped is why a reply ends that the user has stopped.
var errStopped = errors.New("stopped by the user")

// A turn is one message of the user and what comes of it.
type turn struct {
	began    time.Time
	isLast   bool // after it, the chat is over
	cancel   context.CancelCauseFunc
	calls    Calls
	wait     Wait
	text     strings.Builder // the reply in the making
	attempt  int
	pieces   Pieces
	isMusing bool // the model is thinking, and says nothing yet
	stopping bool

	live  string // text as it is shown, laid out at the last tick
	stale bool   // text has changed since
}

func (t *turn) stop() {
	t.stopping = true
	t.cancel(errStopped)
}

// doing says what is waited for, and how long the turn takes where that is long.
func (t *turn) doing() string {
	if t.stopping {
		return "stopping"
	}
	if text, ok := t.wait.For(); ok {
		return text
	}
	text := "waiting"
	switch {
	case t.isMusing:
		text = "thinking"
	case t.live != "":
		text = "writing"
	}
	if took := time.Since(t.began); took >= shownFrom {
		text += ", " + Seconds(took)
	}
	return text
}

// add takes a piece of the reply. One of another attempt begins it anew.
func (t *turn) add(d *troupe.TextDelta) {
	if d.Attempt != t.attempt {
		t.text.Reset()
		t.attempt = d.Attempt
	}
	t.text.WriteString(d.Text)
	t.isMusing, t.stale = false, true
}

// finish forgets the reply in the making: it is complete, or will not be.
func (m *model) finish(t *turn) {
	m.hasShrunk = m.hasShrunk || t.live != ""
	t.text.Reset()
	t.attempt, t.live, t.stale, t.isMusing = 0, "", false, false
}

// note shows an event. What is finished is printed, all else waits for the view.
func (m *model) note(e *troupe.Event) {
	m.meter.Note(e)
	t := m.turn
	if t == nil {
		return // the last words of a turn that is over
	}
	t.wait.Note(e)
	if line, ended := t.calls.Note(e); ended {
		style := m.styles.dim
		if e.Body.(*troupe.ToolReturned).Class != "" {
			style = m.styles.bad
		}
		m.print(style.Render(fold("  "+line, m.width)))
	}
	for _, say := range []func(*troupe.Event) (string, bool){Warning, Hop} {
		if line, ok := say(e); ok && !t.stopping {
			m.print(m.styles.dim.Render(fold("  "+line, m.width)))
		}
	}
	if saved, ok := e.Body.(*troupe.ArtifactSaved); ok {
		m.printSaved(saved.Path)
	}
	if e.Parent != "" {
		return // what a nested agent says is for its caller
	}
	switch b := e.Body.(type) {
	case *troupe.TextDelta:
		t.add(b)
	case *troupe.ThoughtDelta:
		if b.Attempt < 0 && b.Attempt != t.attempt { // what was shown was thought
			t.add(&troupe.TextDelta{Attempt: b.Attempt})
		}
		t.isMusing = true
	case *troupe.ModelReplied:
		m.finish(t)
		m.printReply(t.pieces.Reply(b))
		t.stale = t.pieces.Kept() != ""
	case *troupe.RunFinished:
		m.finish(t)
		m.printReply(t.pieces.Finish(b.Output.Summary))
		if b.Stop != "answered" && b.Stop != "input_requested" {
			m.print(m.styles.dim.Render(fold("  ! not finished: "+Unfinished(b.Stop), m.width)))
		}
	case *troupe.RunFailed:
		m.printReply(cmp.Or(b.Partial, t.pieces.Rest()+t.text.String()))
		m.finish(t)
	case *troupe.RunCancelled:
		m.printReply(cmp.Or(b.Partial, t.pieces.Rest()+t.text.String()))
		m.finish(t)
	}
}

// printSaved says where a file is, the first time that it is saved.
func (m *model) printSaved(name string) {
	if m.config.Where == nil || slices.Contains(m.saved, name) {
		return
	}
	m.saved = append(m.saved, name)
	m.print(m.styles.dim.Render(fold("  saved "+Clean(m.config.Where(name)), m.width)))
}

func (m *model) printReply(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	m.print("", m.markdown.render(text, m.width))
}

// end closes the turn. What stopped it is shown, unless the user did.
func (m *model) end(err error) {
	wasStopped := m.turn.stopping
	m.turn, m.notice = nil, ""
	switch {
	case err == nil:
	case wasStopped:
		m.print(m.styles.dim.Render("  stopped"))
	default:
		m.printFailure(err)
	}
	m.print("")
}

// printFailure says in plain words what went wrong and what to do, where the catalogue
// knows it, and then the error itself.
func (m *model) printFailure(err error) {
	what := problem.Of(err)
	if what.IsExplained() {
		for _, line := range what.Lines() {
			m.print(m.styles.bad.Render(fold("  "+OneLine(line, 2000), m.width)))
		}
		m.print(m.styles.dim.Render(fold("  details: "+OneLine(what.Details, 2000), m.width)))
		return
	}
	m.print(m.styles.bad.Render(fold("  "+OneLine(err.Error(), 2000), m.width)))
}

// choose handles a message that is about the model.
func (m *model) choose(text string) bool {
	if m.config.Choose == nil {
		return false
	}
	now, ok, err := m.config.Choose(m.ctx, text)
	switch {
	case !ok:
		return false
	case err != nil:
		m.print(m.styles.bad.Render(fold("  "+OneLine(err.Error(), 2000), m.width)))
	default:
		m.config.Model, m.meter.Context.Window = now.Model, now.Window
		m.print(m.styles.dim.Render(fold("  "+OneLine(now.Said, 2000), m.width)))
	}
	m.print("")
	return true
}
