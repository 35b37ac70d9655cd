package rehearsal

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/argcheck"
)

const phaseSchema = `{"type":"object","required":["status","phase","outputs","artifacts","next_phase"],"properties":{
	"status":{"enum":["success","partial","failed"]},"phase":{"const":"planning"},
	"outputs":{"type":"object","required":["risks","steps"],"properties":{
		"risks":{"type":"array","items":{"type":"object","required":["tags"],"properties":{"tags":{"type":"array","items":{"type":"string"}}}}},
		"steps":{"type":"integer","minimum":1}}},
	"artifacts":{"type":"array","items":{"type":"object","required":["path","content","type"]}},
	"next_phase":{"type":"object","required":["ready","blockers"],"properties":{"ready":{"type":"boolean"},"blockers":{"type":"array","items":{"type":"string"}}}}}}`

func ask(t *testing.T, text string) string {
	t.Helper()
	var said strings.Builder
	for chunk, err := range New().Generate(t.Context(), &troupe.Request{Messages: []*troupe.Message{{Role: troupe.RoleUser, Text: text}}}) {
		if err != nil {
			t.Fatal(err)
		}
		said.WriteString(chunk.Text)
	}
	return said.String()
}

func TestAPromptWithASchemaIsAnsweredWithJSONThatFits(t *testing.T) {
	prompt := "INPUT CONTEXT:\n{}\n\nREQUIRED OUTPUT SCHEMA:\n" + phaseSchema +
		"\n\nTASK:\nReturn one artifact of type \"gkchatty\". The artifact's path is \"specs/plan.md\".\n\nReturn ONLY the JSON object."
	answer := ask(t, prompt)
	schema, err := argcheck.Compile(json.RawMessage(phaseSchema))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Check([]byte(answer)); err != nil {
		t.Fatalf("%v: %s", err, answer)
	}
	var got struct {
		Outputs struct {
			Risks []struct{ Tags []string }
		}
		Artifacts []struct{ Path, Content, Type string }
		Next      struct {
			Ready    bool
			Blockers []string
		} `json:"next_phase"`
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Outputs.Risks) != 1 || len(got.Outputs.Risks[0].Tags) != 1 {
		t.Errorf("lists of the outputs are empty: %s", answer)
	}
	if !got.Next.Ready || len(got.Next.Blockers) != 0 {
		t.Errorf("the next phase cannot begin: %s", answer)
	}
	if a := got.Artifacts[0]; a.Path != "specs/plan.md" || a.Type != "gkchatty" || !strings.Contains(a.Content, "\n## Step 1: ") {
		t.Errorf("got the artifact %+v", a)
	}
	if again := ask(t, prompt); again != answer {
		t.Errorf("it is not the same twice")
	}
}

func TestAStepOfAPlanHasAFileOfItsOwn(t *testing.T) {
	answer := ask(t, "{\n  \"plan_step\": {\n    \"step\": 7,\n  }}\nREQUIRED OUTPUT SCHEMA:\n"+phaseSchema+"\n\nTASK:\nBuild.")
	if !strings.Contains(answer, `"path":"rehearsal/step-7.md"`) {
		t.Error(answer)
	}
}

func TestAMessageThatOnlyMentionsASchemaIsTalk(t *testing.T) {
	for _, text := range []string{"What is a REQUIRED OUTPUT SCHEMA:\nfor?", "REQUIRED OUTPUT SCHEMA:\n[1, 2]"} {
		if answer := ask(t, text); strings.HasPrefix(answer, "{") {
			t.Errorf("%q is answered with %s", text, answer)
		}
	}
}
