package pipeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/pipeline"
)

// once runs the requirements alone, with these answers in turn.
func once(t *testing.T, answers ...string) (*world, *session, *troupe.RunFinished) {
	t.Helper()
	w := newWorld(t)
	w.answer = func(string, string) string { return answers[min(len(w.asked), len(answers))-1] }
	c := w.config()
	c.To = "requirements"
	s, end, err := begin(t, deliver(t, c), nil)
	if err != nil {
		t.Fatal(err)
	}
	return w, s, end
}

func TestEachWayToReadAnAnswerIsOnRecord(t *testing.T) {
	good := goodAnswer("requirements", "")
	markdown := "# Work\n\n## User Stories\n- As Zoë I add todos\n\n## Scope\nMVP\n"
	lacking := output("requirements")
	delete(lacking["outputs"].(object), "user_stories")
	for _, c := range []struct {
		level   pipeline.Level
		answers []string
		status  pipeline.Status
		asked   int
	}{
		{pipeline.LevelStrict, []string{good}, "success", 1},
		{pipeline.LevelExtracted, []string{"Here it is:\n```json\n" + good + "\n```\n"}, "success", 1},
		{pipeline.LevelRepaired, []string{strings.TrimSuffix(good, "}") + ",}"}, "success", 1},
		{pipeline.LevelCorrected, []string{encode(lacking), good}, "success", 2},
		{pipeline.LevelMarkdown, []string{markdown, "I cannot."}, "partial", 2},
		{pipeline.LevelRaw, []string{"I cannot.", "I really cannot."}, "partial", 2},
		{pipeline.LevelRaw, []string{good + "\n" + strings.Replace(good, "Zoë", "Ada", 1)}, "partial", 2},
		{pipeline.LevelRaw, []string{encode(lacking)}, "failed", 2},
	} {
		t.Run(fmt.Sprint(c.level, " ", c.status), func(t *testing.T) {
			w, s, _ := once(t, c.answers...)
			r := s.result("requirements")
			if r.JSON != c.level || r.Status != c.status || len(w.asked) != c.asked || r.Corrections != c.asked-1 {
				t.Errorf("got %s, %s after %d requests: %+v", r.JSON, r.Status, len(w.asked), r)
			}
			codes := s.codes()
			if code := "json_" + string(c.level); codes[code] != 1 && c.level != pipeline.LevelStrict || codes["json_correction"] != c.asked-1 {
				t.Errorf("it warned of %v", codes)
			}
			for _, e := range s.events() {
				if b, ok := e.Body.(*troupe.RunFinished); ok && e.Agent == "requirements" {
					want := map[string]any{"phase": "requirements", "status": string(c.status), "json": string(c.level)}
					if fmt.Sprint(b.Output.Custom) != fmt.Sprint(want) {
						t.Errorf("metrics get to see %v", b.Output.Custom)
					}
				}
			}
		})
	}
}

func TestACorrectionIsAskedForWithPlacesAndSchema(t *testing.T) {
	lacking := output("requirements")
	lacking["outputs"] = object{"scope": "MVP"}
	w, s, _ := once(t, encode(lacking), goodAnswer("requirements", ""))
	for _, part := range []string{"- /outputs/user_stories: ", "YOUR LAST ANSWER:\n{", `"const": "requirements"`, request} {
		if !strings.Contains(w.asked[1], part) {
			t.Errorf("the request to correct lacks %q: %s", part, w.asked[1])
		}
	}
	if n := s.codes()["json_correction"]; n != 1 {
		t.Errorf("%d corrections on record", n)
	}
}

func TestAPhaseThatLacksWhatIsCriticalFailsTheDelivery(t *testing.T) {
	lacking := output("requirements")
	delete(lacking["outputs"].(object), "user_stories")
	_, s, end := once(t, encode(lacking))
	if end.Stop != "input_requested" || !strings.Contains(end.Output.Summary, "it says nothing usable about user stories") || strings.Contains(end.Output.Summary, `{"`) {
		t.Fatalf("it did not ask what to do: %+v", end)
	}
	_, err := s.say("stop")
	if err == nil || !strings.Contains(err.Error(), "phase requirements failed") || !strings.Contains(err.Error(), "it says nothing usable about user stories") {
		t.Errorf("got %v", err)
	}
	if got := pipeline.Summarize(s.events()); got.State != "failed" || got.Success || got.Metrics.PhaseSuccess != 0 {
		t.Errorf("got %s", encode(got))
	}
}

func TestWhatIsOptionalOnlyWarns(t *testing.T) {
	answer := output("requirements")
	delete(answer, "validation")
	_, s, end := once(t, encode(answer))
	if end.Output.Meta.Status != "success" || s.codes()["contract"] == 0 {
		t.Errorf("got %+v, %v", end.Output, s.codes())
	}
}

// Half a file is never written, whether the provider says that the answer is cut off or
// only its text does; the agent is told where it broke off.
func TestAnAnswerThatIsCutOffWritesNothing(t *testing.T) {
	good := goodAnswer("requirements", "")
	half := good[:strings.Index(good, `"content"`)+len(`"content":"# `)]
	for _, cut := range []string{half, "CUT " + half, "CUT " + good} {
		w, s, end := once(t, cut)
		if r := s.result("requirements"); len(w.files()) > 0 || r.JSON != pipeline.LevelRaw || r.NextPhase.Ready || end.Output.Meta.Status == "success" {
			t.Errorf("%.20q: files %v, result %+v, %s", cut, w.files(), r, end.Output.Meta.Status)
		}
		if prompts := w.prompts(); !strings.Contains(prompts[len(prompts)-1], "it breaks off") {
			t.Errorf("%.20q: asked %q", cut, prompts)
		}
		w, s, _ = once(t, cut, good)
		if r := s.result("requirements"); r.JSON == pipeline.LevelRaw || r.Status != "success" || len(w.files()) == 0 {
			t.Errorf("%.20q, then whole: %+v", cut, r)
		}
	}
}

func TestWhatACutOffAnswerTriedIsNotPerformed(t *testing.T) {
	w := newWorld(t)
	w.answer = func(string, string) string { return "CUT ```go src/main.go\npackage main\n```\nand {" }
	c := w.config()
	c.To, c.Compensate = "requirements", true
	s, _, err := begin(t, deliver(t, c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := s.result("requirements"); len(r.Proposals) == 0 || r.Proposals[0].Performed || len(w.files()) > 0 {
		t.Errorf("got %+v, files %v", r.Proposals, w.files())
	}
}

// A comma too many is read as the answer without it is: with a warning of what is missing.
// Where the mending may have lost a field, it is asked for again.
func TestASpareCommaIsNoDamage(t *testing.T) {
	contract, _ := pipeline.ContractOf("requirements")
	out := output("requirements")
	delete(out, "validation")
	whole := encode(out)
	for text, level := range map[string]pipeline.Level{
		whole:                                 pipeline.LevelStrict,
		strings.TrimSuffix(whole, "}") + ",}": pipeline.LevelRepaired,
		"So:\n```json\n" + strings.TrimSuffix(whole, "}") + ",\n}\n```\n": pipeline.LevelRepaired,
		strings.Replace(whole, `"errors":[]`, `"errors" []`, 1):           pipeline.LevelRaw,
	} {
		parsed, err := contract.Parse(text)
		if err != nil || parsed.Level != level || (parsed.Correction != "") != (level == pipeline.LevelRaw) {
			t.Errorf("%s: %s, %q, %v", text, parsed.Level, parsed.Correction, err)
		}
		if level != pipeline.LevelRaw && len(parsed.Problems) == 0 {
			t.Errorf("%s: nothing is said of what is missing", text)
		}
	}
}
