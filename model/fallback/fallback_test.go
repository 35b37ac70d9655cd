package fallback_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/model/fallback"
)

// A scripted model answers with its errors, one after the other, and then with text.
type scripted struct {
	name  string
	fails []error
	asked int
	// finish and refusal are of its first answer, where it has one.
	finish  troupe.Finish
	refusal string
}

func (s *scripted) Generate(context.Context, *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	return func(yield func(troupe.Chunk, error) bool) {
		s.asked++
		if len(s.fails) > 0 {
			err := s.fails[0]
			s.fails = s.fails[1:]
			if yield(troupe.Chunk{Text: "half"}, nil) {
				yield(troupe.Chunk{}, err)
			}
			return
		}
		finish, refusal := troupe.FinishStop, s.refusal
		if s.finish != "" {
			finish = s.finish
		}
		s.finish, s.refusal = "", ""
		if yield(troupe.Chunk{Text: s.name, Refusal: refusal}, nil) {
			yield(troupe.Chunk{End: &troupe.End{Finish: finish, Model: s.name, Usage: troupe.Usage{Input: 1e6}}}, nil)
		}
	}
}

func ask(t *testing.T, m troupe.Model, req *troupe.Request) (text string, end *troupe.End, err error) {
	t.Helper()
	for chunk, e := range m.Generate(t.Context(), req) {
		if e != nil {
			return text, end, e
		}
		text += chunk.Text
		end = chunk.End
	}
	return text, end, nil
}

func down() error { return &troupe.ModelError{Status: 503, Reason: "overloaded", Temporary: true} }

func TestTheNextModelIsAskedWhereOneIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := &scripted{name: "a", fails: []error{down()}}, &scripted{name: "b"}
		m := fallback.New(fallback.Choice{Name: "a", Model: first, Price: troupe.Price{Input: 1}}, fallback.Choice{Name: "b", Model: second, Price: troupe.Price{Input: 2}})
		req := &troupe.Request{}
		_, _, err := ask(t, m, req)
		e, ok := errors.AsType[*troupe.ModelError](err)
		if !ok || !e.Temporary || !strings.Contains(e.Error(), "b is asked instead") {
			t.Fatalf("error %v", err)
		}
		text, end, err := ask(t, m, req)
		if err != nil || text != "b" || end.Model != "b" || end.Cost == nil || *end.Cost != 2 {
			t.Errorf("%q, %+v, %v", text, end, err)
		}
		// It is left alone for a while, and asked again then.
		if text, _, _ := ask(t, m, &troupe.Request{}); text != "b" {
			t.Errorf("%q answered", text)
		}
		time.Sleep(2 * time.Minute)
		if text, _, _ := ask(t, m, &troupe.Request{}); text != "a" {
			t.Errorf("%q answered", text)
		}
	})
}

// The agent's price is that of the first model: what another one costs that nobody knows
// the price of is not known.
func TestAnAnswerIsNotChargedAtThePriceOfAnotherModel(t *testing.T) {
	price := troupe.Price{Input: 1}
	for name, c := range map[string]struct {
		first, second troupe.Price
		unpriced      bool
		cost          float64
	}{
		"only the first has a price": {first: price, unpriced: true},
		"both have one":              {first: price, second: troupe.Price{Input: 2}, cost: 2},
		"the agent has it alone":     {cost: 1},
	} {
		t.Run(name, func(t *testing.T) {
			refusal := &troupe.ModelError{Status: 403, Reason: "refused"}
			m := fallback.New(fallback.Choice{Name: "a", Model: &scripted{name: "a", fails: []error{refusal}}, Price: c.first}, fallback.Choice{Name: "b", Model: &scripted{name: "b"}, Price: c.second})
			agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "clerk", Model: m, Price: price})
			if err != nil {
				t.Fatal(err)
			}
			engine, err := troupe.New(troupe.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer engine.Close()
			for e, err := range engine.Run(t.Context(), agent, troupe.Input{Text: "hi"}) {
				if err != nil {
					t.Fatal(err)
				}
				if b, ok := e.Body.(*troupe.ModelReplied); ok && (b.Unpriced != c.unpriced || b.Cost != c.cost) {
					t.Errorf("it cost %v, unpriced %v", b.Cost, b.Unpriced)
				}
			}
		})
	}
}

func TestARefusalIsOfOneRequestOnly(t *testing.T) {
	refusal := &troupe.ModelError{Status: 403, Reason: "refused"}
	first, second := &scripted{name: "a", fails: []error{refusal}}, &scripted{name: "b"}
	m := fallback.New(fallback.Choice{Name: "a", Model: first}, fallback.Choice{Name: "b", Model: second})
	req := &troupe.Request{}
	if _, _, err := ask(t, m, req); err == nil {
		t.Fatal("no error")
	}
	if text, _, _ := ask(t, m, &troupe.Request{}); text != "a" {
		t.Errorf("another request went to %q", text)
	}
	if text, end, _ := ask(t, m, req); text != "b" || end.Cost != nil {
		t.Errorf("%q answered", text)
	}
}

// A request that one model finds malformed may suit the next. One that will be sent otherwise
// the next time goes to the same model, but not for ever.
func TestARequestThatIsNotUnderstoodGoesToTheNextModel(t *testing.T) {
	unknown := func() error { return &troupe.ModelError{Status: 400, Reason: "request", Message: "unknown parameter"} }
	learned := func() error {
		return &troupe.ModelError{Status: 400, Reason: "request", Message: "unknown parameter", Temporary: true}
	}
	for name, test := range map[string]struct {
		fails []error
		want  string
	}{
		"not understood":                    {[]error{unknown()}, "a- b"},
		"learned from":                      {[]error{learned()}, "a- a"},
		"learned from twice":                {[]error{learned(), learned()}, "a- a- a"},
		"learned from and still not":        {[]error{learned(), unknown()}, "a- a- b"},
		"not understood however it is sent": {[]error{learned(), learned(), learned(), learned()}, "a- a- a- a- b"},
	} {
		first, second := &scripted{name: "a", fails: test.fails}, &scripted{name: "b"}
		m, req := fallback.New(fallback.Choice{Name: "a", Model: first}, fallback.Choice{Name: "b", Model: second}), &troupe.Request{}
		var asked []string
		for {
			before := first.asked
			text, _, err := ask(t, m, req)
			if err == nil {
				asked = append(asked, text)
				break
			}
			if e, ok := errors.AsType[*troupe.ModelError](err); !ok || !e.Temporary || first.asked == before {
				t.Fatalf("%s: %v", name, err)
			}
			asked = append(asked, "a-")
		}
		if got := strings.Join(asked, " "); got != test.want {
			t.Errorf("%s: asked %s, want %s", name, got, test.want)
		}
	}
}

func TestTheLastFailureIsTheLast(t *testing.T) {
	hard := &troupe.ModelError{Status: 400, Reason: "request"}
	m := fallback.New(fallback.Choice{Name: "a", Model: &scripted{fails: []error{down()}}}, fallback.Choice{Name: "b", Model: &scripted{fails: []error{hard}}})
	req := &troupe.Request{}
	ask(t, m, req)
	if _, _, err := ask(t, m, req); !errors.Is(err, hard) || err != error(hard) {
		t.Errorf("error %v", err)
	}
}

func TestSomeFailuresAreNobodyElsesBusiness(t *testing.T) {
	plain := errors.New("a mistake in the program")
	second := &scripted{name: "b"}
	m := fallback.New(fallback.Choice{Name: "a", Model: &scripted{fails: []error{plain}}}, fallback.Choice{Name: "b", Model: second})
	if _, _, err := ask(t, m, &troupe.Request{}); err != plain {
		t.Errorf("error %v, want %v", err, plain)
	}
	if second.asked != 0 {
		t.Error("the other model was asked")
	}
}

// What does not fit one model goes to the next one that may hold more, and to none where
// all hold less: then the engine makes room.
func TestWhatDoesNotFitGoesToALargerModel(t *testing.T) {
	for _, test := range []struct {
		windows [3]int
		want    string
	}{
		{[3]int{8, 8, 32}, "c"}, {[3]int{8, 32, 64}, "b"}, {[3]int{8, 4, 0}, "c"}, {[3]int{0, 4, 8}, "b"}, {[3]int{32, 8, 32}, ""},
	} {
		full := &troupe.ModelError{Status: 400, Reason: "context", Err: troupe.ErrContextFull}
		var choices []fallback.Choice
		for i, window := range test.windows {
			model := &scripted{name: string(rune('a' + i))}
			if i == 0 {
				model.fails = []error{full}
			}
			choices = append(choices, fallback.Choice{Name: model.name, Model: model, Window: window})
		}
		m, req := fallback.New(choices...), &troupe.Request{}
		_, _, err := ask(t, m, req)
		if test.want == "" {
			if err != error(full) {
				t.Errorf("windows %v: error %v", test.windows, err)
			}
			continue
		}
		if e, ok := errors.AsType[*troupe.ModelError](err); !ok || !e.Temporary || !e.Elsewhere || !errors.Is(err, troupe.ErrContextFull) {
			t.Errorf("windows %v: error %v", test.windows, err)
		}
		if text, _, _ := ask(t, m, req); text != test.want {
			t.Errorf("windows %v: %q answered", test.windows, text)
		}
	}
}

// An answer that is withheld or refused is asked of the next model, and paid for all the
// same. The last one's is what there is.
func TestAWithheldAnswerIsAskedOfTheNextModel(t *testing.T) {
	for name, first := range map[string]*scripted{
		"withheld": {name: "a", finish: troupe.FinishFiltered}, "refused": {name: "a", refusal: "I cannot help with that."},
	} {
		second := &scripted{name: "b", finish: troupe.FinishFiltered}
		m := fallback.New(fallback.Choice{Name: "a", Model: first, Price: troupe.Price{Input: 1}}, fallback.Choice{Name: "b", Model: second, Price: troupe.Price{Input: 2}})
		req := &troupe.Request{}
		_, _, err := ask(t, m, req)
		if e, ok := errors.AsType[*troupe.ModelError](err); !ok || e.Reason != "refused" || !e.Elsewhere || !strings.Contains(e.Error(), "b is asked instead") ||
			e.End == nil || e.End.Usage.Input != 1e6 || e.End.Cost == nil || *e.End.Cost != 1 || e.End.Model != "a" {
			t.Fatalf("%s: error %v", name, err)
		}
		text, end, err := ask(t, m, req)
		if err != nil || text != "b" || end.Finish != troupe.FinishFiltered || end.Cost == nil || *end.Cost != 2 {
			t.Errorf("%s: %q, %+v, %v", name, text, end, err)
		}
		if text, end, _ := ask(t, m, &troupe.Request{}); text != "a" || *end.Cost != 1 {
			t.Errorf("%s: another request went to %q", name, text)
		}
	}
}

// From outside: an engine with an agent whose first model is down answers, and the
// log says what happened.
func TestTheEngineRecordsWhatHappened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := fallback.New(fallback.Choice{Name: "a", Model: &scripted{name: "a", fails: []error{down(), down()}}}, fallback.Choice{Name: "b", Model: &scripted{name: "b"}})
		agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "x", Model: m})
		if err != nil {
			t.Fatal(err)
		}
		engine, err := troupe.New(troupe.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer engine.Close()
		var warned, model string
		for event, err := range engine.Run(t.Context(), agent, troupe.Input{Text: "hi"}) {
			if err != nil {
				t.Fatal(err)
			}
			switch body := event.Body.(type) {
			case *troupe.ModelFailed:
				warned += body.Error
			case *troupe.ModelReplied:
				model = body.Model
			}
		}
		if model != "b" || !strings.Contains(warned, "b is asked instead") {
			t.Errorf("%q answered, warned %q", model, warned)
		}
	})
}

// However seldom a call is tried, the other models are asked, each as often as that.
func TestTheNextModelIsAskedWhereNothingIsTriedAgain(t *testing.T) {
	for name, broken := range map[string]bool{"answers": false, "is down, too": true} {
		synctest.Test(t, func(t *testing.T) {
			first, second, third := &scripted{name: "a", fails: []error{down()}}, &scripted{name: "b", fails: []error{down()}}, &scripted{name: "c"}
			if broken {
				third.fails = []error{down(), down()}
			}
			m := fallback.New(fallback.Choice{Name: "a", Model: first}, fallback.Choice{Name: "b", Model: second}, fallback.Choice{Name: "c", Model: third})
			agent, err := troupe.NewAgent(troupe.AgentConfig{ID: "clerk", Model: m})
			if err != nil {
				t.Fatal(err)
			}
			engine, err := troupe.New(troupe.Config{Limits: troupe.Limits{ModelTries: 1}})
			if err != nil {
				t.Fatal(err)
			}
			defer engine.Close()
			outcome, err := troupe.Collect(engine.Run(t.Context(), agent, troupe.Input{Text: "hi"}))
			if (err != nil) != broken || !broken && outcome.Text != "c" || first.asked != 1 || second.asked != 1 || third.asked != 1 {
				t.Errorf("the last %s: %q, %v, after %d, %d and %d", name, outcome.Text, err, first.asked, second.asked, third.asked)
			}
		})
	}
}
