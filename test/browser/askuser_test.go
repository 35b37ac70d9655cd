package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
)

const askUserConfiguration = `model: stub/stub-1
providers: {stub: {base_url: URL}}
agents:
  lawyer: {instructions: You are the lawyer., skills: false, tools: [ask_user]}
  seller: {instructions: You are the seller., skills: false, tools: [ask_user]}
  chair: {instructions: You are the chair., skills: false}
flows:
  advice: {sequence: [{parallel: [lawyer, seller]}, chair]}
`

// Agents of a flow that ask at the same time are each answered, and go on with the answer.
func TestAgentsOfAFlowAskPeople(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t,
		script{"You are the lawyer", []reply{{tool: "ask_user", arguments: map[string]any{"question": "Do we keep personal data?"}}, {text: "We keep none."}}},
		script{"You are the seller", []reply{{tool: "ask_user", arguments: map[string]any{"question": "Which price?", "choices": []string{"Per seat", "Flat"}}}, {text: "It is flat."}}},
		script{"It is flat.", []reply{{text: "None is kept, and it is flat."}}})
	h := serve(t, project(t, map[string]string{"troupe.yaml": strings.Replace(askUserConfiguration, "URL", m.URL+"/v1", 1)}))
	b := open(t, h.link)
	b.sees(".agent", "lawyer")
	session := h.runs(t, "advice", "Advise us")
	b.sees(".waits", "One more question waits there")
	b.press("k", kb.ModifierCtrl)
	b.sees(".finder", "")
	b.write(".finder input", "advic")
	b.sees(".finder .opt", "a flow")
	b.press(kb.Escape)
	b.looksAt(session, "")
	b.holds("all('[aria-label=Question]').length === 2")
	b.picture("ask-user")
	b.click("[aria-label=Question] label", "Flat")
	b.holds("[...all('[aria-label=Question]')].find((card) => card.textContent.includes('Flat')).querySelector('button.primary').click() === undefined")
	b.sees("main", "It is flat.")
	b.write("[aria-label=Question] textarea", "No, none.")
	b.click("[aria-label=Question] button", "Answer")
	b.sees(answers, "None is kept, and it is flat.")
	b.lacks("[aria-label=Question]", "")
	b.picture("ask-user-answered")
}
