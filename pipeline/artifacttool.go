package pipeline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/knowledge"
	"github.com/troupe-dev/troupe/workspace"
)

// The names of the tools that process artifacts, as they are on record.
const (
	toolWrite  = "write_artifact"
	toolUpload = "upload_artifact"
)

// OutputRoot is the root that artifacts go to: see [Config.Output].
const OutputRoot = "output"

// uploadTime bounds an upload, its verification included.
const uploadTime = time.Minute

// The ways a file can be after it was written.
const (
	changeCreated   = "created"
	changeChanged   = "changed"
	changeUnchanged = "unchanged"
)

// A writeRequest is all that is known of an artifact, so that one that could not be
// processed can be processed later from the record alone.
type writeRequest struct {
	Path        string   `json:"path" jsonschema:"where, relative to the output root"`
	Content     string   `json:"content"`
	Type        string   `json:"type" jsonschema:"file, or gkchatty for what is also uploaded"`
	Phase       string   `json:"phase,omitempty"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	// Edition tells documents apart that are uploaded again as they once were.
	Edition int `json:"edition,omitempty"`
}

type writeResult struct {
	Path   string `json:"path"`
	Change string `json:"change" jsonschema:"created, changed or unchanged"`
	SHA256 string `json:"sha256"`
	Size   int    `json:"size"`
	Diff   string `json:"diff,omitempty" jsonschema:"how a changed file changed"`
}

// writeTool returns the tool write_artifact. It can be called again with the same
// arguments: a file that has the content already is left alone.
func writeTool(output func(session string) (*workspace.Workspace, error)) troupe.Tool {
	return troupe.NewToolWithCall(toolWrite, "Writes an artifact of a phase into the output root.",
		func(ctx context.Context, call *troupe.Invocation, in writeRequest) (writeResult, error) {
			ws, loc, err := locate(output, call.Run.Session(), in.Path)
			if err != nil {
				return writeResult{}, err
			}
			out := writeResult{Path: loc.Name(), Change: changeCreated, SHA256: hashOf(in.Content), Size: len(in.Content)}
			old, err := ws.ReadFile(loc)
			switch {
			case err == nil && old == in.Content:
				out.Change = changeUnchanged
			case err == nil:
				out.Change, out.Diff = changeChanged, unifiedDiff(out.Path, old, in.Content)
			case !errors.Is(err, workspace.ErrNotFound): // what cannot be compared may still be replaced
				out.Change = changeChanged
			}
			if out.Change != changeUnchanged {
				if err := ws.Write(loc, []byte(in.Content)); err != nil {
					return writeResult{}, refusal(err)
				}
			}
			// The file is there, so it goes on record even if the run was stopped meanwhile.
			return out, call.Run.Emit(context.WithoutCancel(ctx), &troupe.ArtifactSaved{
				Path: loc.String(), Size: int64(out.Size), SHA256: out.SHA256, Type: in.Type,
				Description: cmp.Or(in.Description, path.Base(out.Path)),
			})
		}, troupe.RepeatSafe())
}

type uploadRequest struct {
	Path        string   `json:"path"`
	SHA256      string   `json:"sha256" jsonschema:"of the content that is meant"`
	Key         string   `json:"key" jsonschema:"the same for the same upload, so that two are as good as one"`
	Phase       string   `json:"phase,omitempty"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
}

type uploadResult struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	State  string `json:"state"`
}

// uploadTool returns the tool upload_artifact, which hands to the knowledge base
// the bytes of a file in the output root, and nothing that is not the content meant.
func uploadTool(output func(session string) (*workspace.Workspace, error), knowledgeFor func(user string) Knowledge) troupe.Tool {
	return troupe.NewToolWithCall(toolUpload, "Uploads an artifact from the output root to the knowledge base.",
		func(ctx context.Context, call *troupe.Invocation, in uploadRequest) (uploadResult, error) {
			base := knowledgeFor(call.User)
			if base == nil {
				return uploadResult{}, errors.New("there is no knowledge base")
			}
			ws, loc, err := locate(output, call.Run.Session(), in.Path)
			if err != nil {
				return uploadResult{}, err
			}
			content, err := ws.ReadFile(loc)
			if err != nil {
				return uploadResult{}, refusal(err)
			}
			if hashOf(content) != in.SHA256 {
				return uploadResult{}, fmt.Errorf("%s is not what the phase wrote: it has changed since", in.Path)
			}
			err = base.Upload(ctx, knowledge.Document{
				Name: path.Base(in.Path), Content: content, Description: in.Description, Tags: in.Tags, Key: in.Key,
			})
			return uploadResult{in.Path, in.SHA256, StateUploaded}, err
		}, troupe.RepeatSafe(), troupe.Timeout(uploadTime))
}

// locate returns the place in the output root that an artifact's path means.
func locate(output func(string) (*workspace.Workspace, error), session, name string) (*workspace.Workspace, workspace.Location, error) {
	name, err := cleanPath(name)
	if err != nil {
		return nil, workspace.Location{}, &troupe.ToolError{Class: "invalid_arguments", Err: err}
	}
	ws, err := output(session)
	if err != nil {
		return nil, workspace.Location{}, fmt.Errorf("open output root: %w", err)
	}
	loc, err := ws.Resolve("{" + OutputRoot + "}/" + name)
	if err != nil {
		return nil, workspace.Location{}, refusal(err)
	}
	return ws, loc, nil
}

// cleanPath refuses a path that is not plainly one below the output root.
func cleanPath(name string) (string, error) {
	clean := norm.NFC.String(path.Clean(name))
	elements := strings.Split(name, "/")
	switch {
	case name == "" || clean == ".":
		return "", errors.New("the artifact has no path")
	case path.IsAbs(name):
		return "", fmt.Errorf("path %.200q is absolute", name)
	case slices.Contains(elements, ".."):
		return "", fmt.Errorf("path %.200q leads upwards", name)
	case strings.HasSuffix(name, "/"):
		return "", fmt.Errorf("path %.200q is that of a directory", name)
	}
	for element := range strings.SplitSeq(clean, "/") {
		if err := workspace.CheckElement(element); err != nil {
			return "", fmt.Errorf("path %.200q: %w", name, err)
		}
	}
	return clean, nil
}

// refusal gives what a workspace refuses its class.
func refusal(err error) error {
	if errors.Is(err, workspace.ErrDenied) {
		return &troupe.ToolError{Class: "unauthorized", Err: err}
	}
	return err
}

func hashOf(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}
