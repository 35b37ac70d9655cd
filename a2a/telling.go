package a2a

import (
	"slices"
	"strings"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/project/converse"
)

// answerID is the artifact that an agent's answer is.
const answerID sdk.ArtifactID = "answer"

// A telling tells a client how a run goes: the answer as it grows, and in a few words
// what else happens. The latest piece of the answer is held back, so that the last one
// can say that it is.
type telling struct {
	call  *a2asrv.ExecutorContext
	yield func(sdk.Event, error) bool
	stop  func() // ends the run that nobody hears of any more

	isOver  bool
	attempt int
	sent    strings.Builder // of the answer that is being told
	isBegun bool
	held    string
	saved   []string // by this run
}

// say yields an event, and ends the run if nobody takes it.
func (t *telling) say(e sdk.Event) {
	if t.isOver {
		return
	}
	if !t.yield(e, nil) {
		t.isOver = true
		t.stop()
	}
}

func (t *telling) note(e *troupe.Event) {
	switch b := e.Body.(type) {
	case *troupe.TextDelta:
		if e.Parent == "" {
			t.grow(b)
		}
		return
	case *troupe.ModelReplied:
		if e.Parent == "" && len(b.Message.Calls) > 0 {
			t.attempt = 0 // what it said before its calls is not the answer
		}
	case *troupe.ArtifactSaved:
		if !slices.Contains(t.saved, b.Path) {
			t.saved = append(t.saved, b.Path)
		}
	}
	if words := converse.Step(e); words != "" {
		t.say(sdk.NewStatusUpdateEvent(t.call, sdk.TaskStateWorking, sdk.NewMessageForTask(sdk.MessageRoleAgent, t.call, sdk.NewTextPart(words))))
	}
}

// grow tells a piece of the answer. An attempt that begins anew begins the artifact anew.
func (t *telling) grow(d *troupe.TextDelta) {
	if t.attempt != d.Attempt {
		t.attempt, t.held, t.isBegun = d.Attempt, "", false
		t.sent.Reset()
	}
	t.release(false)
	t.held = d.Text
}

// release sends the piece that is held back.
func (t *telling) release(isLast bool) {
	if t.held == "" {
		return
	}
	t.sent.WriteString(t.held)
	t.send(t.held, t.isBegun, isLast)
	t.held, t.isBegun = "", true
}

func (t *telling) send(text string, appends, isLast bool) {
	t.say(&sdk.TaskArtifactUpdateEvent{
		TaskID: t.call.TaskID, ContextID: t.call.ContextID, Append: appends, LastChunk: isLast,
		Artifact: &sdk.Artifact{ID: answerID, Name: "answer", Parts: sdk.ContentParts{textPart(text)}},
	})
}

// textPart is a part of the answer.
func textPart(text string) *sdk.Part {
	part := sdk.NewTextPart(text)
	part.MediaType = "text/markdown"
	return part
}

// end completes the answer: what was told is replaced where the answer is another.
func (t *telling) end(answer string) {
	switch {
	case answer == "":
	case t.sent.String()+t.held == answer && t.held != "":
		t.release(true)
	default:
		t.held = ""
		t.send(answer, false, true)
	}
}
