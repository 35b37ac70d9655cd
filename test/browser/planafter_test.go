package browser

import (
	"strings"
	"testing"
)

// A step that is added to the plan of what was delivered is to do, and can be carried out. It is saved
// once, whoever clicks twice, and under an id that no step has had.
func TestAStepThatIsAddedAfterADeliveryIsCarriedOut(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := open(t, serve(t, repository(t, m)).link)
	b.click(".side nav a", "Deliveries")
	b.write("#request", "Make it good")
	b.write("#delivery-budget", "3")
	b.click("form button", "Deliver")
	m.thinks(t)
	m.builds(t, "one.ok", "good\n")
	m.builds(t, "two.ok", "good\n")
	m.reviews(t, "accept")
	b.sees("[data-outcome=delivered]", "Delivered")
	b.sees("[aria-label=Outcome] button:disabled", "Ask for changes")

	b.click("[aria-label=Plan] button", "Change the plan")
	b.click(`[aria-label="Leave out step 2"]`, "")
	b.click("[aria-label='Change the plan'] button", "Add a step")
	b.write(`[aria-label="Title of step 2"]`, "The third file")
	b.write(`[aria-label="When step 2 is done"]`, "It is good\nIt is small")
	b.picture("plan-editor")
	value[any](b, `void ((ask, button) => {
		globalThis.sent = [];
		globalThis.fetch = (path, options) => (options?.method === "PUT" && sent.push(JSON.parse(options.body)), ask(path, options));
		button.click(), button.click();
	})(globalThis.fetch, find("[aria-label='Change the plan'] button", "Save the plan"))`)
	b.sees("[aria-label=Plan] .plan", "The third file")
	b.holds("sent.length === 1 && sent[0].steps.map((s) => s.id).join() === '1,3'")
	b.sees("[data-outcome=delivered]", "1 step of the plan was added since, and is to do.")
	b.click("[aria-label=Outcome] button", "Go on")
	if a := m.asked(t); !strings.Contains(a.user, "The third file") || !strings.Contains(a.user, "It is small") {
		t.Errorf("the builder is asked for\n%s", a.user)
	}
}
