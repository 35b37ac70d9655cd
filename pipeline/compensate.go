package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Proposal is a file that an agent tried to write or upload itself, which agents
// of a delivery cannot. Whether it is performed is Config.Compensate's to say.
type Proposal struct {
	// Act is "write", "upload" or "tool".
	Act     string `json:"act"`
	Path    string `json:"path,omitempty"`
	Content string `json:"content,omitempty"`
	// Evidence is what of the agent's text it was understood from.
	Evidence string `json:"evidence"`
	// Performed says that the file was made an artifact.
	Performed bool `json:"performed,omitempty"`
}

// compensate looks for attempts at I/O in an answer, records each, and makes
// artifacts of those that say what to write if that was asked for. Of an answer that
// breaks off it makes none: what it shows may be half a file.
func (w *work) compensate(ctx context.Context, text string, parsed *Parsed) error {
	proposals := attempts(text)
	proposals = append(proposals, claims(string(parsed.Output.Outputs))...)
	for _, p := range proposals {
		if slices.ContainsFunc(parsed.Output.Artifacts, func(a Artifact) bool { return p.Path != "" && a.Path == p.Path }) {
			continue // the agent did as it should and only says so
		}
		done := "proposed"
		if w.delivery.Compensate && !parsed.isCut && p.Path != "" && p.Content != "" {
			p.Performed, done = true, "performed"
			a := Artifact{Path: p.Path, Content: p.Content, Type: ArtifactFile}
			if p.Act == actUpload {
				a.Type = ArtifactKnowledge
			}
			parsed.Output.Artifacts = append(parsed.Output.Artifacts, a)
		}
		w.Proposals = append(w.Proposals, p)
		if err := w.warn(ctx, "migration", fmt.Sprintf("the agent tried to %s %s by itself (%s): %q", p.Act, cmp.Or(p.Path, "something"), done, p.Evidence)); err != nil {
			return err
		}
	}
	return nil
}

const (
	actWrite  = "write"
	actUpload = "upload"
	actTool   = "tool"

	maxAttempts = 50  // looked for in one answer
	maxEvidence = 160 // bytes of a text that are quoted
)

// attempts finds what an agent tried to do, in its text outside of the answer:
// files shown as blocks with their paths, calls of tools, and claims.
func attempts(text string) []Proposal {
	found, rest := fencedFiles(text)
	calls, rest := toolCalls(rest)
	found = append(found, calls...)
	found = append(found, tagCalls(rest)...)
	found = append(found, claims(rest)...)
	return found[:min(len(found), maxAttempts)]
}

const pathPattern = `[\w@.-]*[\w@/.-]*\w\.\w{1,10}`

var (
	// fenceInfo is the path in the line that opens a block: ```go cmd/main.go,
	// ```ts title="src/a.ts" or ```src/a.ts.
	fenceInfo = regexp.MustCompile("^(?:[\\w+#-]+[ :])?[ ]*(?:(?:title|file|filename|path)=)?[\"'`]?(" + pathPattern + ")[\"'`]?$")
	// fenceTitle is a line that names the file of the block below it.
	fenceTitle = regexp.MustCompile("^(?:#{1,6} |\\*\\*|(?i:file(?:name)?|path): ?)[*`\"]*(" + pathPattern + ")[*`\":]*$")
)

// fencedFiles returns the blocks that have a path, and the text without them.
func fencedFiles(text string) (found []Proposal, rest string) {
	var kept, block strings.Builder
	var fence, name, title string
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		marks := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
		switch {
		case fence != "" && trimmed == fence:
			found = append(found, Proposal{Act: actWrite, Path: name, Content: block.String(), Evidence: evidence(fence + " " + name)})
			fence = ""
			continue
		case fence != "":
			block.WriteString(line)
			continue
		case len(marks) >= 3:
			name, title = title, "" // it names one block, not the next one too
			if m := fenceInfo.FindStringSubmatch(strings.TrimSpace(trimmed[len(marks):])); m != nil {
				name = m[1]
			}
			if name != "" {
				fence = marks
				block.Reset()
				continue
			}
		}
		if trimmed != "" {
			title = ""
		}
		if m := fenceTitle.FindStringSubmatch(trimmed); m != nil {
			title = m[1]
		}
		kept.WriteString(line)
	}
	return found, kept.String()
}

// toolCalls returns the JSON objects that look like calls of tools, and the text
// without any JSON object.
func toolCalls(text string) (found []Proposal, rest string) {
	var kept strings.Builder
	for tries := 0; tries < maxAttempts; tries++ {
		before, after, ok := strings.Cut(text, "{")
		if !ok {
			break
		}
		kept.WriteString(before)
		decoder := json.NewDecoder(strings.NewReader("{" + after))
		var object map[string]any
		if decoder.Decode(&object) != nil {
			text = after
			continue
		}
		if p, ok := callOf(object); ok {
			found = append(found, p)
		}
		text = ("{" + after)[decoder.InputOffset():]
	}
	return found, kept.String() + text
}

// callOf reads an object as a call, as agents write them: {"name", "arguments"},
// {"tool", "input"}, {"function": {"name", "arguments"}} and the like.
func callOf(object map[string]any) (Proposal, bool) {
	if inner, ok := object["function"].(map[string]any); ok {
		object = inner
	}
	name := textIn(object, "tool", "tool_name", "name", "function", "recipient_name")
	var arguments map[string]any
	for _, key := range []string{"arguments", "args", "input", "parameters", "params"} {
		switch value := object[key].(type) {
		case map[string]any:
			arguments = value
		case string:
			_ = json.Unmarshal([]byte(value), &arguments) // text that is not JSON has no arguments
		}
	}
	if name == "" || arguments == nil {
		return Proposal{}, false
	}
	return proposalOf(name, arguments), true
}

var writingTool = regexp.MustCompile(`write|save|create|edit|file`)

// proposalOf understands a call of a tool by its name and its arguments.
func proposalOf(tool string, arguments map[string]any) Proposal {
	p := Proposal{
		Act:     actTool,
		Path:    textIn(arguments, "file_path", "path", "filename", "file"),
		Content: textIn(arguments, "content", "contents", "text", "file_text"),
	}
	lower := strings.ToLower(tool)
	switch {
	case strings.Contains(lower, "upload"):
		p.Act = actUpload
	case p.Path != "" && writingTool.MatchString(lower):
		p.Act = actWrite
	}
	p.Evidence = evidence(tool + "(" + p.Path + ")")
	return p
}

func textIn(object map[string]any, keys ...string) string {
	for _, key := range keys {
		if text, ok := object[key].(string); ok {
			return text
		}
	}
	return ""
}

var (
	tagCall      = regexp.MustCompile(`(?s)<invoke name="([\w.-]+)">(.*?)</invoke>`)
	tagParameter = regexp.MustCompile(`(?s)<parameter name="(\w+)">(.*?)</parameter>`)
)

// tagCalls returns the calls that are written as tags.
func tagCalls(text string) (found []Proposal) {
	for _, m := range tagCall.FindAllStringSubmatch(text, maxAttempts) {
		arguments := map[string]any{}
		for _, parameter := range tagParameter.FindAllStringSubmatch(m[2], maxAttempts) {
			arguments[parameter[1]] = parameter[2]
		}
		found = append(found, proposalOf(m[1], arguments))
	}
	return found
}

var claim = regexp.MustCompile(`(?i)\b(?:I|I've|we|we've|file|plan|document|report|artifact)\b[^.\n]{0,40}?\b(saved|wrote|written|created|stored|uploaded)\b[^\n]{0,80}?(` + pathPattern + `)`)

// claims returns the sentences that say that a file was written.
func claims(text string) (found []Proposal) {
	for _, m := range claim.FindAllStringSubmatch(text, maxAttempts) {
		act := actWrite
		if strings.EqualFold(m[1], "uploaded") {
			act = actUpload
		}
		found = append(found, Proposal{Act: act, Path: m[2], Evidence: evidence(m[0])})
	}
	return found
}

func evidence(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxEvidence)], "")
}
