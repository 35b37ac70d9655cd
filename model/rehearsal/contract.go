package rehearsal

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"

	"github.com/troupe-dev/troupe"
)

// schemaMark stands before the JSON schema that a phase of a pipeline asks its agent to answer with, and taskMark
// between that and the task.
const (
	schemaMark = "REQUIRED OUTPUT SCHEMA:\n"
	taskMark   = "\nTASK:\n"
)

var (
	artifactPath = regexp.MustCompile(`path is "([^"\n]+)"`)
	artifactType = regexp.MustCompile(`of type "(\w+)"`)
	planStep     = regexp.MustCompile(`"plan_step":\s*\{\s*"step":\s*(\d+)`)
)

// contractReply answers a request whose latest message carries a schema with the smallest JSON that fits it, opens the
// next phase and names one artifact: a pipeline is rehearsed from its first phase to its last. The second result is
// false for any other request.
func contractReply(req *troupe.Request) (string, bool) {
	prompt := ""
	for _, m := range req.Messages {
		if m.Role == troupe.RoleUser && !isNotice(m.Text) {
			prompt = m.Text
		}
	}
	at := strings.LastIndex(prompt, schemaMark)
	if at < 0 {
		return "", false
	}
	before, rest := prompt[:at], prompt[at+len(schemaMark):]
	var schema map[string]any
	decoder := json.NewDecoder(strings.NewReader(rest))
	if decoder.Decode(&schema) != nil {
		return "", false
	}
	_, task, _ := strings.Cut(rest[decoder.InputOffset():], taskMark)
	properties, _ := schema["properties"].(map[string]any)
	fillLists(properties["outputs"])
	d := draft{root: schema}
	answer, ok := d.value(schema, "value", maxNesting).(map[string]any)
	if !ok {
		return "", false
	}
	if next, ok := answer["next_phase"].(map[string]any); ok {
		next["ready"] = true
	}
	acceptReview(answer)
	if properties["artifacts"] != nil {
		answer["artifacts"] = []any{rehearsedArtifact(before, task)}
	}
	return encode(answer), true
}

// acceptReview has a rehearsed review find nothing: what is rehearsed comes to its end.
func acceptReview(answer map[string]any) {
	outputs, ok := answer["outputs"].(map[string]any)
	if !ok || answer["phase"] != "qa" {
		return
	}
	for _, list := range []string{"security_issues", "performance_concerns", "findings"} {
		outputs[list] = []any{}
	}
	outputs["tests_passed"], outputs["verdict"] = true, "accept"
}

// fillLists has every list of a schema hold at least one value: an empty one is as good as none.
func fillLists(schema any) {
	s, ok := schema.(map[string]any)
	if !ok {
		return
	}
	if s["items"] != nil && s["minItems"] == nil {
		s["minItems"] = 1.0
	}
	fillLists(s["items"])
	properties, _ := s["properties"].(map[string]any)
	for _, property := range properties {
		fillLists(property)
	}
}

// rehearsedArtifact is the document that a task asks for, at the path and of the type that the task names.
func rehearsedArtifact(context, task string) map[string]any {
	kind, name := "file", "rehearsal/notes.md"
	if m := planStep.FindStringSubmatch(context); m != nil {
		name = "rehearsal/step-" + m[1] + ".md"
	}
	if m := artifactPath.FindStringSubmatch(task); m != nil {
		name = m[1]
	}
	if m := artifactType.FindStringSubmatch(task); m != nil {
		kind = m[1]
	}
	content := "# " + words(strings.TrimSuffix(path.Base(name), path.Ext(name))) + "\n\n" + banner +
		"\n\n## Step 1: " + standInFor("first step") + "\n\n## Step 2: " + standInFor("second step") + "\n"
	if path.Ext(name) == ".json" {
		content = encode(map[string]any{"rehearsal": banner}) + "\n"
	}
	return map[string]any{"name": path.Base(name), "path": name, "content": content, "type": kind}
}
