package rehearsal

import (
	"slices"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
)

// TestEveryTag plays instructions with the answers given and looks at all that was said, tool calls aside.
func TestEveryTag(t *testing.T) {
	for name, c := range map[string]struct {
		instructions string
		answers      []string
		want, lack   []string
	}{
		"step, action, critical, output": {
			instructions: `<critical>Be kind</critical><step n="1a" goal="Begin"><action>Greet the user</action><output>Hi {{user_name}}, {{other}}</output></step><step title="Later"/>`,
			want:         []string{"Be kind", "**Step 1a: Begin**", "- Greet the user", "Hi Robin, {{other}}", "**Step: Later**"},
		},
		"one question per turn": {
			instructions: `<step n="1" goal="Ask"><ask>First?</ask><ask>Second?</ask></step>`,
			answers:      []string{"one", "two"},
			want:         []string{"Noted: one", "Noted: two"},
		},
		"optional step left out": {
			instructions: `<step n="1" goal="Extra" optional="true"><ask>Deep?</ask></step><step n="2" goal="End"/>`,
			answers:      []string{"no"},
			want:         []string{"Step 1 is optional: Extra. Do it? (yes/no)", "Left out Step 1.", "Step 2: End"},
			lack:         []string{"Deep?"},
		},
		"optional step done": {
			instructions: `<step n="1" goal="Extra" optional="true"><ask>Deep?</ask></step>`,
			answers:      []string{"yes", "very"},
			want:         []string{"Noted: very"},
		},
		"optional question skipped": {
			instructions: `<step n="1"><ask optional="true" response="x">Deep?</ask><action if="x == 'skip'">never</action></step>`,
			answers:      []string{"skip"},
			want:         []string{`answer "skip"`},
			lack:         []string{"never", "Noted"},
		},
		"condition on a step": {
			instructions: `<step n="1"><ask response="mode">Mode? 
1. **Interactive Mode** - slow
2. YOLO</ask></step><step n="2" goal="Talk" if="mode == 'interactive'"/><step n="3" goal="Rush" if="mode == 'yolo'"/><step n="4" goal="One" if="mode==1"/>`,
			answers: []string{"1"},
			want:    []string{"Noted: Interactive Mode", "Step 2: Talk", "Step 4: One"},
			lack:    []string{"Step 3"},
		},
		"check as a block": {
			instructions: `<step n="1"><ask>Go on? (y/n)</ask><check if="y"><action>went on</action></check><check if="n"><action>stopped</action></check></step>`,
			answers:      []string{"Yes, please"},
			want:         []string{"went on"},
			lack:         []string{"stopped"},
		},
		"check governs what follows": {
			instructions: "<step n=\"1\"><ask>Go on?</ask>\n<check>If yes:</check>\n<action>went on</action>\n<check>Else:</check>\n<action>stopped</action>\nProse.\n<action>always</action></step>",
			answers:      []string{"no"},
			want:         []string{"stopped", "always"},
			lack:         []string{"went on"},
		},
		"else after a check that holds": {
			instructions: "<step n=\"1\"><check>If data was passed:</check><action>data</action><check>Else (no data):</check><action>nothing</action><template-output>x</template-output></step>",
			want:         []string{"- data", "Saved"},
			lack:         []string{"- nothing"},
		},
		"check with an arrow": {
			instructions: `<step n="1"><check>If tests fail → STOP and <goto step="3">stop</goto></check><check>If all is well → <goto step="3">on</goto></check></step><step n="2" goal="Two"/><step n="3" goal="Three"/>`,
			want:         []string{"Going to 3.", "Step 3: Three"},
			lack:         []string{"Step 2"},
		},
		"check that is an errand": {
			instructions: `<step n="1"><check>Look for the file</check><action>next</action></step>`,
			want:         []string{"- Check: Look for the file", "- next"},
		},
		"if by attribute": {
			instructions: `<step n="1"><ask response="selection">1. A
2. B</ask><if selection="1"><action>took a</action></if><if selection="2"><action>took b</action></if></step>`,
			answers: []string{"2"},
			want:    []string{"took b"},
			lack:    []string{"took a"},
		},
		"goto and anchor": {
			instructions: `<step n="1"><goto anchor="end"/><action>skipped</action></step><step n="2" goal="Middle"/><anchor id="end"/><step n="3" goal="End"><goto>nowhere</goto></step>`,
			want:         []string{"Going to #end.", "Step 3: End", "no step or anchor"},
			lack:         []string{"skipped", "Middle"},
		},
		"goto by its text": {
			instructions: `<step n="1"><goto>there</goto><action>skipped</action></step><anchor id="there"/><step n="2" goal="End"/>`,
			want:         []string{"Step 2: End"},
			lack:         []string{"skipped"},
		},
		"an endless loop": {
			instructions: `<step n="1" goal="Again"><action>round</action><goto step="1">back</goto></step><step n="2" goal="Out"/>`,
			want:         []string{"Going to 1 again is left out: it was done 3 times", "Step 2: Out"},
		},
		"an endless question": {
			instructions: `<step n="1"><ask>More?</ask><goto step="1" if="user says yes"/></step><step n="2" goal="Out"/>`,
			answers:      []string{"yes", "yes", "yes", "yes"},
			want:         []string{"Step 2: Out"},
		},
		"repeat, for-each, loop": {
			instructions: `<step n="1" goal="All" repeat="until-done"/><step n="2" for-each="item"/><for-each item="i"><action>item</action></for-each><loop max="5"><action>turn</action><break/></loop><step n="3" goal="Out"/>`,
			want:         []string{"Repeated (until-done)", "Repeated (item)", "- item", "- turn", "done once here", "Step 3: Out"},
		},
		"elicit-required": {
			instructions: `<step n="1"><elicit-required/><action>after</action></step>`,
			answers:      []string{"c"},
			want:         []string{"Elicitation", "- after"},
		},
		"protocols": {
			instructions: `<step n="1"><invoke-protocol name="discover_inputs"/><WebSearch>news</WebSearch></step>`,
			want:         []string{"run invoke-protocol discover_inputs", "run websearch"},
		},
		"halt": {
			instructions: `<step n="1"><ask>Exit?</ask><check if="yes"><action>Exit workflow</action></check></step><step n="2" goal="Never"/>`,
			answers:      []string{"yes"},
			want:         []string{"The workflow ends here."},
			lack:         []string{"Never"},
		},
		"variables that actions set": {
			instructions: `<step n="1"><action>Set fast = true</action><ask>Where?</ask><action>Store the place as {{place}}</action><output>At {{place}}.</output><action if="fast == true">ran</action><action if="fast != true">walked</action></step>`,
			answers:      []string{"Rome"},
			want:         []string{"At Rome.", "- ran"},
			lack:         []string{"walked"},
		},
		"yolo": {
			instructions: `<step n="1"><ask>First?</ask><ask>Pick:
1. a
2. b</ask></step>`,
			answers: []string{"enough #yolo"},
			want:    []string{"Noted: enough", "(#yolo) 1", "Noted: a"},
		},
		"asides and examples": {
			instructions: "<step n=\"1\"><example><ask>Not me?</ask></example><note>x</note>\n```\n<ask>Nor me?</ask>\n```\n</step>",
			lack:         []string{"me?"},
		},
		"unclosed tags": {
			instructions: "<step n=\"1\">\n<ask>What is it?\n\nAnd more.\n<action>Go\n</step>\n<step n=\"2\" goal=\"Out\">",
			answers:      []string{"it"},
			want:         []string{"What is it?", "Noted: it", "Step 2: Out"},
		},
		"a date of the prompt": {
			instructions: `<output>Today is {{date}}.</output><step n="1"/>`,
			want:         []string{"Today is 2025-03-04."},
		},
		"headings": {
			instructions: "# Set up\n\n## Overview\n\n## Step 1: Look\n\n```\n## Step 9: code\n```\n\n### 2. Write\n\nDisplay: \"[A] Elicit [C] Continue\"\n",
			answers:      []string{"c"},
			want:         []string{"**Step 1: Look**", "**2. Write**", "[C] Continue"},
			lack:         []string{"Step 9", "Overview"},
		},
		"headings without numbers": {
			instructions: "# Set up\n\n## Look\n\n### Detail\n",
			want:         []string{"**Set up**", "**Look**"},
			lack:         []string{"Detail"},
		},
		"nothing at all": {},
	} {
		t.Run(name, func(t *testing.T) {
			s := stageOf(c.instructions, "", map[string]any{"user_name": "Robin", "date": "system-generated"})
			d := open(t, prompt+"\nIt is 2025-03-04 today.", s.tools()...)
			said := d.spoken("*intake")
			for i, a := range c.answers {
				if question, asked := Question(said[len(said)-1]); !asked {
					t.Fatalf("answer %d: it does not ask but says %q (question %q)", i, said[len(said)-1], question)
				}
				said = append(said, d.spoken(a)...)
			}
			all := strings.Join(said, "\n")
			end := "[rehearsal] intake is complete"
			if strings.Contains(all, "The workflow ends here.") {
				end = "[rehearsal] intake ended early, 1 steps before its end: Exit workflow"
			}
			mustContain(t, all, append(c.want, end)...)
			mustLack(t, all, c.lack...)
		})
	}
}

// spoken sends one message and returns all that the model says on the way to its answer.
func (d *dialogue) spoken(text string) []string {
	d.t.Helper()
	var said []string
	for event, err := range d.engine.Run(d.t.Context(), d.agent, troupe.Input{Session: d.session, Text: text, Limits: d.limits}) {
		if err != nil {
			d.t.Fatal(err)
		}
		d.session = event.Session
		if body, ok := event.Body.(*troupe.ModelReplied); ok {
			said = append(said, body.Message.Text)
		}
	}
	return said
}

const innerPath = "{bundle-root}/workflows/inner/workflow.yaml"

func TestInvokedFilesArePlayedOnce(t *testing.T) {
	s := stageOf(`
<step n="1" goal="Outer">
<invoke-workflow path="{inner}">Runs it</invoke-workflow>
<invoke-workflow>`+innerPath+`</invoke-workflow>
<invoke-workflow>somewhere</invoke-workflow>
<invoke-task halt="true">Check against {bundle-root}/checklist.md using {bundle-root}/tasks/validate.xml</invoke-task>
<invoke-task>{bundle-root}/tasks/validate.xml</invoke-task>
<action>LOAD: {bundle-root}/instructions-more.md</action>
</step>
<step n="2" goal="After"/>`, "", map[string]any{"inner": "{bundle-root}/workflows/inner"})
	s.workflows[innerPath] = workflow("inner", `<step n="1"><ask>Inside?</ask><invoke-workflow>`+innerPath+`</invoke-workflow></step>`, "", nil)
	s.files = map[string]string{
		"{bundle-root}/tasks/validate.xml":   `<task id="v"><flow><step n="1" title="Validate"><ask>Valid?</ask></step></flow></task>`,
		"{bundle-root}/instructions-more.md": `<step n="7" goal="More"><ask>Quorum?</ask></step>`,
	}
	d := open(t, prompt, s.tools()...)
	all := strings.Join(append(append(append(d.spoken("*intake"), d.spoken("a")...), d.spoken("b")...), d.spoken("c")...), "\n")
	mustContain(t, all, "Inside?", "[rehearsal] inner is complete", "Back in intake.", "**Step 1: Validate**", "Valid?", "**Step 7: More**",
		"Quorum?", "**Step 2: After**", "was played already", "does not say which file", "[rehearsal] intake is complete")
	want := []string{
		"execute_workflow " + intakePath, "execute_workflow " + innerPath, "save_output {session-folder}/inner.md",
		"read_file {bundle-root}/tasks/validate.xml", "read_file {bundle-root}/instructions-more.md", "save_output {session-folder}/intake.md",
	}
	if !slices.Equal(s.calls, want) {
		t.Errorf("calls: %s\nwant: %s", strings.Join(s.calls, "\n"), strings.Join(want, "\n"))
	}
	mustContain(t, s.saved["{session-folder}/inner.md"], "Inside?", "\na\n")
}

func TestWorkflowsThatInvokeEachOtherEnd(t *testing.T) {
	s := stageOf("", "", nil)
	for i := range 10 {
		name := strings.Repeat("i", i+1)
		s.workflows["{x}/"+name+"/workflow.yaml"] = workflow(name, `<step n="1"><invoke-workflow>{x}/`+name+`i/workflow.yaml</invoke-workflow></step>`, "", nil)
	}
	d := open(t, "*go - Go\n  Workflow: {x}/i/workflow.yaml\n", s.tools()...)
	mustContain(t, d.say("*go"), "[rehearsal] i is complete")
	if n := count(s.calls, "execute_workflow"); n != maxDepth {
		t.Errorf("%d workflows were loaded, want %d", n, maxDepth)
	}
}

func TestStepFilesAreFollowed(t *testing.T) {
	s := &stage{files: map[string]string{
		"{b}/w/workflow.md":           "---\nname: w\nnextStep: './steps/step-01-init.md'\n---\n# W\n\nRead fully and follow: `{nextStep}`\n",
		"{b}/w/steps/step-01-init.md": "---\nnextStepFile: './step-02-ask.md'\noutputFile: '{session-folder}/w.md'\n---\n# Step 1: Init\n\n[C] Continue\n",
		"{b}/w/steps/step-02-ask.md":  "# Step 2: Ask\n\nIF A: read and follow {b}/w/steps/step-09-other.md\nIF C: read fully and follow: `../steps/step-03-end.md`\n",
		"{b}/w/steps/step-03-end.md":  "# Step 3: End\n\nTo start over load `step-01-init.md`.\n",
	}}
	d := open(t, "*w - Play\n  Exec: {b}/w/workflow.md\n", s.tools()...)
	mustContain(t, d.say("*w"), "**Step 1: Init**", "[C] Continue")
	last := d.say("C")
	mustContain(t, last, "[rehearsal] w is complete (steps: 4, questions: 1). Saved: {session-folder}/w.md")
	want := []string{
		"read_file {b}/w/workflow.md", "read_file {b}/w/steps/step-01-init.md", "read_file {b}/w/steps/step-02-ask.md",
		"read_file {b}/w/steps/step-03-end.md", "save_output {session-folder}/w.md",
	}
	if !slices.Equal(s.calls, want) {
		t.Errorf("calls: %s", strings.Join(s.calls, "\n"))
	}
}

func TestACommandLeavesTheWorkflow(t *testing.T) {
	s := stageOf(`<step n="1"><ask>First?</ask><ask>Second?</ask></step>`, "", nil)
	d := open(t, prompt, s.tools()...)
	d.say("*intake")
	mustContain(t, d.say("*help"), "1. *help")
	mustContain(t, d.say("*intake"), "First?")
	mustContain(t, d.say("*unknown"), "Second?")
	mustContain(t, d.say("done"), "is complete")
	mustContain(t, d.say("thanks"), "Not recognized")
	if n := count(s.calls, "execute_workflow"); n != 2 {
		t.Errorf("%d workflows were loaded, want 2", n)
	}
}

func TestAWorkflowNamedByItsPathIsPlayed(t *testing.T) {
	s := stageOf(`<step n="1"><ask>First?</ask></step>`, "", nil)
	d := open(t, "You help.", s.tools()...)
	mustContain(t, d.say("Please run "+intakePath+"."), "First?")
	mustContain(t, d.say("done"), "is complete")
}

func TestAnAnswerAfterALimitGoesOnWithTheWorkflow(t *testing.T) {
	s := stageOf(`<step n="1"><template-output>a</template-output><ask>First?</ask></step>`, "", nil)
	d := open(t, prompt, s.tools()...)
	d.limits.ToolCalls = 1
	mustContain(t, d.say("*intake"), "Saving {session-folder}/intake.md did not work: the tool save_output is not available.", "First?")
	d.limits.ToolCalls = 0
	mustContain(t, d.say("done"), "Saved: {session-folder}/intake.md")
	mustContain(t, s.saved["{session-folder}/intake.md"], "done")
}
