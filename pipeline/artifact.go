package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/troupe-dev/troupe"
)

// The states of an artifact.
const (
	StateSaved    = "saved"    // written to the output root
	StateUploaded = "uploaded" // written, and in the knowledge base
	StateFailed   = "failed"   // not written, or not uploaded: see [Failed]
)

// Saved is what became of an artifact.
type Saved struct {
	Path   string `json:"path"`
	Type   string `json:"type"`
	State  string `json:"state"`
	SHA256 string `json:"sha256,omitempty"`
	Size   int    `json:"size,omitempty"`
	// Change is "created", "changed" or "unchanged", and Diff how it changed.
	Change string `json:"change,omitempty"`
	Diff   string `json:"diff,omitempty"`
	// Error is why it failed.
	Error string `json:"error,omitempty"`
	// Steps is the number of the last step, of a plan.
	Steps int `json:"steps,omitempty"`
}

// save processes the artifacts of an answer. One that fails is recorded, and the
// others go on.
func (w *work) save(ctx context.Context, artifacts []Artifact) error {
	for i, a := range artifacts {
		if i == 0 && a.Path == "" {
			a.Path = w.phase.Path
		}
		saved, err := w.delivery.keep(ctx, w.run, w.request(a))
		if err != nil {
			return err
		}
		if w.Artifacts = append(w.Artifacts, saved); saved.State == StateFailed {
			w.Warnings = append(w.Warnings, fmt.Sprintf("artifact %s: %s", saved.Path, saved.Error))
		}
	}
	return nil
}

// request makes of an artifact, as an agent describes it, one that can be processed.
func (w *work) request(a Artifact) writeRequest {
	name := cmp.Or(a.Path, path.Join(path.Dir(w.phase.Path), a.Name))
	if strings.HasSuffix(name, "/") && a.Name != "" {
		name += path.Base(a.Name)
	}
	in := writeRequest{Path: w.at.fill(name), Content: a.Content, Type: ArtifactFile, Phase: w.phase.Name}
	if a.Type == ArtifactKnowledge {
		in.Type = ArtifactKnowledge
	}
	in.Description, _ = a.Metadata["description"].(string)
	tags, _ := a.Metadata["tags"].([]any)
	for _, tag := range tags {
		if text, ok := tag.(string); ok {
			in.Tags = append(in.Tags, text)
		}
	}
	return in
}

// keep writes an artifact, and uploads it if it is for the knowledge base.
func (d *delivery) keep(ctx context.Context, run *troupe.Run, in writeRequest) (Saved, error) {
	s := Saved{Path: in.Path, Type: in.Type, State: StateSaved, Steps: lastStep(in.Content)}
	result, err := run.Call(ctx, d.write, in)
	if err != nil {
		return d.failed(ctx, run, s, "write", err)
	}
	var written writeResult
	if err := json.Unmarshal([]byte(result.Content), &written); err != nil {
		return s, fmt.Errorf("%s of %s: %w", toolWrite, in.Path, err)
	}
	s.Path, s.SHA256, s.Size, s.Change, s.Diff = written.Path, written.SHA256, written.Size, written.Change, written.Diff
	if in.Type != ArtifactKnowledge {
		return s, nil
	}
	return d.send(ctx, run, s, in)
}

// send uploads an artifact that was written.
func (d *delivery) send(ctx context.Context, run *troupe.Run, s Saved, in writeRequest) (Saved, error) {
	key := run.Session() + "\n" + s.Path + "\n" + s.SHA256
	if in.Edition > 0 {
		key += "\n" + strconv.Itoa(in.Edition)
	}
	_, err := run.Call(ctx, d.upload, uploadRequest{
		Path: s.Path, SHA256: s.SHA256, Key: hashOf(key),
		Phase: in.Phase, Description: in.Description, Tags: in.Tags,
	})
	if err != nil {
		return d.failed(ctx, run, s, "upload", err)
	}
	s.State = StateUploaded
	return s, nil
}

// failed records that an artifact could not be processed.
func (d *delivery) failed(ctx context.Context, run *troupe.Run, s Saved, act string, err error) (Saved, error) {
	why, err := isToolFailure(err)
	if err != nil {
		return s, err
	}
	s.State, s.Error = StateFailed, act+": "+why
	return s, run.Warn(ctx, "artifact_failed", fmt.Sprintf("%s %s: %s", act, s.Path, why))
}

// lastStep returns the number of a plan's last step, 0 for what is no plan.
func lastStep(content string) int {
	last := 0
	for _, m := range stepMarks(content) {
		last = max(last, m.number)
	}
	return last
}

// stepOf returns the part of a plan that is step n, with headings such as "Step 1.2"
// that are below it, and "" if there is none. What was written at steps that were left out is no part
// of the last one.
func stepOf(content string, n int) string {
	content, _, _ = strings.Cut(content, "\n"+leftHeading+"\n")
	start, end := -1, len(content)
	for _, m := range stepMarks(content) {
		if start < 0 && m.number == n {
			start = m.at
		} else if start >= 0 && m.number != n {
			end = m.at
			break
		}
	}
	if start < 0 {
		return ""
	}
	return strings.TrimSpace(content[start:end])
}
