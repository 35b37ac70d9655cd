package browser

import (
	"strings"
	"testing"
)

// Where a part of a flow has failed, whoever reads what was made of the others is told: in the
// conversation, in lists, and at the step, with who was asked.
func TestAFlowWithoutAPartIsPartlyDone(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	m.directed(t, script{"You are the seller", []reply{{fails: true}, {fails: true}, {fails: true}}}, script{"You are the chair", []reply{{text: "The proposal, without a price."}}}, script{"You are the lawyer", []reply{{text: "All is well."}}})
	h := serve(t, project(t, map[string]string{"troupe.yaml": strings.NewReplacer("URL", m.URL+"/v1", "tools: [ask_user]", "tools: []").Replace(askUserConfiguration)}))
	b := open(t, h.link)
	b.sees(".agent", "lawyer")
	session := h.runs(t, "advice", "Advise us")
	b.looksAt(session, "")
	b.sees("main", "The proposal, without a price.")
	b.sees(".side .item", "Not all is done")
	b.sees("main .acts", "Handed over to chair, though not all was done")
	b.picture("partly-done")
	b.click("main .acts a", "see where")
	b.sees(".graph .node", "seller")
	b.sees("main", "1 failed")
}
