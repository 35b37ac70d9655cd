package rehearsal

import (
	"testing"

	"github.com/troupe-dev/troupe"
)

// FuzzGenerate plays instructions to their end: it never panics, always ends with an end, and asks a bounded number of
// questions and tools.
func FuzzGenerate(f *testing.F) {
	for _, seed := range []string{
		"", requirements, "# A\n\n## Step 1: B\n\n[C] Continue\nfollow ./step-02.md",
		`<step n="1" if="a == b" optional="true"><ask response="a">1. x</ask><goto step="1"/></step>`,
		`<check>If x:</check><action>LOAD: {a}/b.md</action><check>Else</check><goto anchor="z"/><anchor id="z"/>`,
		`<invoke-workflow path="{a}"/><invoke-task>x/tasks/y.md</invoke-task><template-output file="{{q}}.md">a, b</template-output>`,
		"---\nnextStepFile: ./step-1.md\n---\n<ask>",
	} {
		f.Add(seed, seed, "1")
	}
	set, err := troupe.NewToolSet((&stage{}).tools()...)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, instructions, template, said string) {
		if len(instructions)+len(template) > 1<<11 {
			t.Skip("long inputs find nothing that short ones do not")
		}
		loaded := encode(workflow("w", instructions, template, map[string]any{"default_output_file": template, "x": said}))
		file := encode(map[string]any{"success": true, "content": instructions})
		messages := []*troupe.Message{{Role: troupe.RoleSystem, Text: prompt}, {Role: troupe.RoleUser, Text: "*intake"}}
		limit := 200 + 8*len(instructions)
		for turn := range limit {
			message, end := &troupe.Message{Role: troupe.RoleAssistant}, (*troupe.End)(nil)
			for chunk, err := range New().Generate(t.Context(), &troupe.Request{Messages: messages, Tools: set}) {
				if err != nil || end != nil {
					t.Fatalf("%+v, %v", chunk, err)
				}
				message.Text += chunk.Text
				if chunk.Call != nil {
					message.Calls = append(message.Calls, *chunk.Call)
				}
				end = chunk.End
			}
			if end == nil {
				t.Fatal("there is no end")
			}
			messages = append(messages, message)
			_, asked := Question(message.Text)
			switch {
			case len(message.Calls) == 1:
				call := message.Calls[0]
				content := map[string]string{"execute_workflow": loaded, "read_file": file, "save_output": `{"success":true}`}[call.Name]
				messages = append(messages, &troupe.Message{Role: troupe.RoleTool, Tool: call.Name, CallID: call.ID, Text: content})
			case asked && turn < 20:
				messages = append(messages, &troupe.Message{Role: troupe.RoleUser, Text: "answer " + said})
			case asked:
				messages = append(messages, &troupe.Message{Role: troupe.RoleUser, Text: "#yolo"})
			default:
				return
			}
		}
		t.Fatalf("it does not end within %d turns", limit)
	})
}
