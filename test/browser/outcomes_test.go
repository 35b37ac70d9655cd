package browser

import (
	"encoding/json"
	"strings"
	"testing"
)

// A model that says nothing has answered nothing: no list says that it is done, and the card
// says what can be done.
func TestAModelThatSaysNothingIsNotDone(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"Say nothing", []reply{{text: ""}, {text: ""}, {text: ""}, {text: ""}, {text: ""}, {text: ""}}}, script{"Say something", []reply{{text: "Something."}}})
	h := play(t, m)
	b := begin(t, h.link, "clerk")
	b.say("Say nothing")
	b.sees(".trouble b", "The model said nothing")
	b.sees(".trouble p", "Ask again, perhaps in other words.")
	b.sees(".trouble button", "Ask again")
	b.lacks(".trouble", "another model") // there is none
	b.lacks(".trouble button", "Try again")
	b.click(".side nav a", "Home")
	b.sees(".recent a", "Said nothing")
	b.lacks(".recent a", "Done")
	h.asks(t, "clerk", "", "Say something")
	b.sees(".recent a", "Done")
}

// The picture of a flow says what its numbers are, tells copies of an agent apart, and shows of an
// answer that is data what is in it.
func TestThePictureOfAFlowIsForPeople(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t,
		script{"You are the critic", []reply{{text: "```json\n{\"verdict\": \"good\", \"score\": 8}\n```"}}},
		script{"You are the clerk", []reply{{text: "# Otters\n\nThey hold hands."}, {text: "**Seals** do not."}}},
	)
	h := serve(t, project(t, map[string]string{"legal.json": legalSchema, "troupe.yaml": strings.NewReplacer("URL", m.URL+"/v1", "flows:\n", "flows:\n  both: {description: Two of one., sequence: [clerk, critic, clerk]}\n").Replace(configuration)}))
	var made struct{ Session string }
	if err := json.Unmarshal([]byte(h.post(t, "/api/flows/both/runs", map[string]string{"text": "Otters"})), &made); err != nil {
		t.Fatal(err)
	}
	b := open(t, h.link)
	b.at("#/s/" + made.Session + "/flow")
	b.holds("all('.node[data-state=done]').length === 3")
	b.reads(".node b", "clerk 1", "critic", "clerk 2")
	b.sees(".node", "Otters")
	b.sees(".node", "Seals do not.")
	b.sees(".node", "verdict: good, score: 8")
	b.holds(`all(".node .num").every((e) => / s|ms/.test(e.innerText) && /[\dk] tokens/.test(e.innerText) && e.scrollWidth <= e.clientWidth + 1)`) // whole, with its units
	b.picture("flow-for-people")
	b.click(".node", "clerk 2")
	b.sees(".panel h2", "clerk 2")
}

// What a class means on one screen it must not mean on another: the phase of a delivery that is
// worked on stands as the others do.
func TestAPhaseStandsAsTheOthersDoWhateverItsState(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"Which way", []reply{{text: "Which way?\n\n1. Left\n2. Right"}}}, script{"Say which licences", []reply{{text: "I am still reading", held: true}}})
	h := play(t, m)
	h.asks(t, "clerk", "", "Which way?")
	b := open(t, h.link)
	b.sees(".waits", "Which way?")
	b.holds("getComputedStyle(find('.doings')).display === 'grid' && getComputedStyle(find('.doings')).gridTemplateColumns.split(' ').length === 2")
	var made struct{ Session string }
	if err := json.Unmarshal([]byte(h.post(t, "/api/deliveries", map[string]string{"request": "A task"})), &made); err != nil {
		t.Fatal(err)
	}
	b.at("#/s/" + made.Session + "/delivery")
	b.holds("find('.stepper li.now')")
	if shapes := value[[]string](b, `(() => {
		const phase = find(".stepper li.now");
		const shape = () => { const { display, gridTemplateColumns, columnGap } = getComputedStyle(phase); return [display, gridTemplateColumns, columnGap].join(" "); };
		return [...new Set(["now", "", "done", "bad", "wait"].map((state) => ((phase.className = state), shape())))];
	})()`); len(shapes) != 1 {
		t.Errorf("the phases are laid out in %d ways: %v", len(shapes), shapes)
	}
}
