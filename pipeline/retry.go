package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/troupe-dev/troupe"
)

// A FailedArtifact is an artifact that was not written, or not uploaded, with all
// that is needed to process it again.
type FailedArtifact struct {
	writeRequest
	// Act is what failed, "write" or "upload", and Reason why.
	Act    string `json:"act"`
	Reason string `json:"reason"`
}

// Failed returns the artifacts of a session that failed and were not processed
// since.
func Failed(events []troupe.Event) []FailedArtifact {
	var list []FailedArtifact
	for _, a := range artifactsIn(events) {
		if a.State == StateFailed {
			list = append(list, FailedArtifact{a.request, a.act, a.Error})
		}
	}
	return list
}

// Retry returns a step that processes artifacts again: those in Custom["artifacts"]
// of its input, as [Failed] returns them. They are data, so that a retry which is
// itself interrupted goes on with the same ones. It is run in the session whose
// artifacts they are; what is in place already is left alone.
func Retry(c Config) (troupe.Step, error) {
	c.Name = cmp.Or(c.Name, "retry")
	if _, err := newWorkshop(&c); err != nil {
		return nil, fmt.Errorf("pipeline: %s: %w", c.Name, err)
	}
	if c.Output == nil {
		return nil, fmt.Errorf("pipeline: %s: it needs an Output", c.Name)
	}
	d := &delivery{Config: c, write: writeTool(c.Output), upload: uploadTool(c.Output, c.knowledgeFor)}
	d.guardCalls()
	return troupe.NewStep(c.Name, d.retry), nil
}

func (d *delivery) retry(ctx context.Context, run *troupe.Run, in troupe.Handoff) (troupe.Handoff, error) {
	var failed []FailedArtifact
	if err := redecode(in.Custom["artifacts"], &failed); err != nil {
		return troupe.Handoff{}, fmt.Errorf("artifacts: %w", err)
	}
	status, done, left := "success", []Saved{}, 0
	for _, f := range failed {
		saved, err := d.keep(ctx, run, f.writeRequest)
		if err != nil {
			return troupe.Handoff{}, err
		}
		if done = append(done, saved); saved.State == StateFailed {
			status, left = "partial", left+1
		}
	}
	return troupe.Handoff{
		Task: in.Task, Summary: fmt.Sprintf("%d artifacts processed again, %d of them failed", len(done), left),
		Outputs: map[string]any{"artifacts": done},
		Meta:    troupe.HandoffMeta{Status: status},
	}, nil
}

// An artifactRecord is what the log says of an artifact.
type artifactRecord struct {
	Saved
	request writeRequest
	act     string // the latest that was tried
}

// artifactsIn returns the artifacts of a session in the order they were first
// written, each as it is by the end of the log.
func artifactsIn(events []troupe.Event) []*artifactRecord {
	type call struct{ run, step string }
	calls := map[call]*troupe.ToolCalled{}
	byPath := map[string]*artifactRecord{}
	var list []*artifactRecord
	for i := range events {
		at := call{events[i].Run, events[i].Step}
		switch b := events[i].Body.(type) {
		case *troupe.ToolCalled:
			if b.Tool == toolWrite || b.Tool == toolUpload {
				calls[at] = b
			}
		case *troupe.ToolReturned:
			called := calls[at]
			if called == nil {
				continue
			}
			var request writeRequest // an upload's has the path, too
			if json.Unmarshal([]byte(called.Arguments), &request) != nil {
				continue
			}
			if clean, err := cleanPath(request.Path); err == nil {
				request.Path = clean
			}
			record := byPath[request.Path]
			if record == nil {
				record = &artifactRecord{}
				byPath[request.Path] = record
				list = append(list, record)
			}
			record.note(request, b)
		}
	}
	return list
}

// note takes the outcome of a call into account.
func (a *artifactRecord) note(request writeRequest, returned *troupe.ToolReturned) {
	a.act = "upload"
	if returned.Tool == toolWrite {
		*a = artifactRecord{Saved: Saved{Path: request.Path, Type: request.Type, State: StateSaved}, request: request, act: "write"}
		var written writeResult
		if returned.Class == "" && json.Unmarshal([]byte(returned.Content), &written) == nil {
			a.SHA256, a.Size, a.Change = written.SHA256, written.Size, written.Change
		}
	}
	switch {
	case returned.Class != "":
		a.State, a.Error = StateFailed, returned.Error
	case returned.Tool == toolUpload:
		a.State, a.Error = StateUploaded, ""
	}
}
