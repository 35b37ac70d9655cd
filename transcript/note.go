package transcript

import (
	"fmt"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/words"
)

// note puts on the page what an event says.
func (t *transcript) note(e *troupe.Event) {
	switch e.Body.(type) {
	case nil, *troupe.TextDelta, *troupe.ThoughtDelta:
		return
	}
	t.info.Note(e)
	r := t.runOf(e)
	t.section = sectionOf(r)
	switch b := e.Body.(type) {
	case *troupe.RunStarted:
		r.task = b.Input.Task
		if e.Parent != "" && r.task != t.around(e).task {
			t.block("**Task**")
			t.quote(r.task)
		}
		if b.Edited {
			t.block("**Given** what %s has edited", person(b.EditedBy))
			t.fence(b.Input.Prompt())
		}
	case *troupe.ContextLoaded:
		t.block("**Loaded** %s, %s", code(b.Source), size(b.Size))
	case *troupe.UserSaid:
		if !b.Hidden {
			t.user(b)
		}
	case *troupe.ModelReplied:
		t.reply(r, b)
	case *troupe.ToolCalled:
		t.called(e, b)
	case *troupe.ToolReturned:
		t.returned(e, b)
	case *troupe.HandedOff:
		t.block("**Handed off** from %s to %s", code(b.From), code(b.To))
		t.result(r, b.Handoff.Summary)
	case *troupe.InputRequested:
		t.block("**Question**")
		t.say(r, b.Question)
	case *troupe.ArtifactSaved:
		t.files[b.Path] = b
		t.block("**Saved** %s, %s", code(b.Path), size(b.Size))
	case *troupe.ContextCompacted:
		t.block("**Compacted**: %d messages dropped, %d kept, %d tokens before, %d after", b.Dropped, b.Kept, b.TokensBefore, b.TokensAfter)
		t.details("Summary", b.Summary)
	case *troupe.ModelFailed:
		t.total.Usage = t.total.Usage.Add(b.Usage)
		t.total.Cost += b.Cost
		if t.block("**Model failed** attempt %d", b.Attempt); b.RetryIn > 0 {
			t.block("Tried again after %v", rounded(b.RetryIn.Duration()))
		}
		t.fence(b.Error)
	case *troupe.Noted:
		t.block("**Note** %s", code(b.Name))
		t.fence(string(b.Data))
	case *troupe.LimitReached:
		t.block("**Limit reached** %s", code(string(b.Stop)))
		t.quote(b.Message)
	case *troupe.SessionRenamed:
		t.block("**Renamed**")
		t.quote(b.Title)
	case *troupe.SessionForked:
		t.forked(b)
	case *troupe.RunResumed:
		t.block("**Resumed**")
	case *troupe.BranchesStopped:
		t.block("**The other branches were ended**")
	case *troupe.Warned:
		t.block("**Warning** %s", code(b.Code))
		t.quote(b.Message)
	case *troupe.RunFinished, *troupe.RunFailed, *troupe.RunCancelled:
		t.ended(e, r)
	}
}

// forked says where a session comes from, and what a person has changed on the way.
func (t *transcript) forked(b *troupe.SessionForked) {
	t.block("**Forked** from session %s after event %d", code(b.From), b.After)
	if b.Run != "" {
		t.block("**Done again**: %s, and what follows it", code(b.Agent))
	}
	if b.Input != nil && b.Was != nil {
		t.block("**Edited** by %s: what %s is given", person(b.User), code(b.Agent))
		t.block("**Was before**")
		t.fence(b.Was.Prompt())
		t.block("**Is now**")
		t.fence(b.Input.Prompt())
	}
}

// person names somebody, whose name is not to be taken for markup.
func person(name string) string {
	if name == "" {
		return words.Person("")
	}
	return code(name)
}

func (t *transcript) user(b *troupe.UserSaid) {
	t.section = "## User"
	t.quote(b.Text)
	for _, p := range b.Parts {
		held := ""
		if len(p.Data) > 0 {
			held = ", " + size(len(p.Data))
		}
		t.block("**Attached** %s %s%s", code(p.Name+" "+p.URL), code(p.MIME), held)
	}
}

func (t *transcript) reply(r *run, b *troupe.ModelReplied) {
	t.total.Turns++
	t.total.Usage = t.total.Usage.Add(b.Usage)
	t.total.Cost += b.Cost
	if b.Message == nil || b.Purpose != "" {
		return
	}
	t.details("Thought", b.Message.Thought)
	t.say(r, b.Message.Text)
	r.said, r.cut = r.cut+b.Message.Text, ""
	if b.Finish == troupe.FinishLength {
		r.cut = r.said // the next reply goes on with it
	}
	if b.Message.Refusal != "" {
		t.block("**Refused**")
		t.say(r, b.Message.Refusal)
	}
}

func (t *transcript) called(e *troupe.Event, b *troupe.ToolCalled) {
	attempt := ""
	if b.Attempt > 1 {
		attempt = fmt.Sprintf(", attempt %d", b.Attempt)
	}
	t.block("**Call %d** %s%s", t.number(e, b.CallID), code(b.Tool), attempt)
	t.fence(string(b.Arguments))
}

func (t *transcript) returned(e *troupe.Event, b *troupe.ToolReturned) {
	outcome := "returned"
	if b.Class != "" {
		outcome = "failed: " + code(string(b.Class))
	}
	t.block("**Result %d** %s %s, %s, %v", t.number(e, b.CallID), code(b.Tool), outcome, size(b.Size), rounded(b.Duration.Duration()))
	t.fence(b.Content)
	delete(t.calls, e.Run+" "+b.CallID)
}

// number tells calls apart that are under way at the same time.
func (t *transcript) number(e *troupe.Event, call string) int {
	key := e.Run + " " + call
	if t.calls[key] == 0 {
		t.total.ToolCalls++
		t.calls[key] = t.total.ToolCalls
	}
	return t.calls[key]
}

// ended writes how a run ended, and its result where that is more than its latest
// words.
func (t *transcript) ended(e *troupe.Event, r *run) {
	switch b := e.Body.(type) {
	case *troupe.RunFinished:
		t.result(r, b.Output.Summary)
		t.around(e).said = b.Output.Summary
		t.spent(e, r, b.Spent.Add(b.SpentBelow))
		switch b.Stop {
		case "", "answered", "handed_off", "input_requested":
		default:
			t.block("**Stopped** %s", code(string(b.Stop)))
		}
	case *troupe.RunFailed:
		spent := b.Spent.Add(b.SpentBelow)
		t.block("**Failed** after %s, %s and %s", words.Counted(spent.Turns, "turn"), words.Counted(spent.ToolCalls, "tool call"), words.Counted(spent.Usage.Total(), "token"))
		t.fence(b.Error)
		t.partial(b.Partial)
		t.spent(e, r, spent)
	case *troupe.RunCancelled:
		t.block("**Cancelled**")
		t.quote(b.Reason)
		t.partial(b.Partial)
	}
	r.task, r.said, r.cut = "", "", ""
}

func (t *transcript) partial(text string) {
	if text != "" {
		t.block("**Cut off**")
		t.quote(text)
	}
}

// spent takes the engine's word for how long a run took: between the passes over a
// run that was resumed, nothing was done.
func (t *transcript) spent(e *troupe.Event, r *run, s troupe.Spent) {
	if e.Parent == "" {
		r.elapsed = s.Elapsed.Duration()
	}
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
