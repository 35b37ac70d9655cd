package browser

import "testing"

// Whoever has no model yet is led to where one is chosen: from Home, and from an answer
// that nobody has thought about.
func TestWhoeverHasNoModelIsLedToOne(t *testing.T) {
	t.Parallel()
	h := serve(t, project(t, map[string]string{"troupe.yaml": "model: rehearsal\nagents: {clerk: {instructions: You answer., tools: []}}\n"}))
	b := begin(t, h.link, "clerk")
	b.say("Write a poem")
	b.sees(".turn", "no model is chosen")
	b.sees(".turn a", "Choose a model")
	b.picture("no-model-answer")
	value[any](b, "void (location.hash = '#/')")
	b.sees(".page", "No model is chosen yet")
	b.holds("find('.ask + p').getBoundingClientRect().top - find('.ask').getBoundingClientRect().bottom >= 8")
	b.picture("no-model-home")
	b.click(".page a", "Choose a model")
	b.holds("location.hash === '#/settings/models'")
}
