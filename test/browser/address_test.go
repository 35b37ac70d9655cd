package browser

import "testing"

// Somebody who writes no YAML adds a server of their own by its address, and it answers.
func TestAServerOfOnesOwnIsAddedOnThePage(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := serve(t, project(t, map[string]string{"troupe.yaml": "# ours\nmodel: rehearsal\nagents: {clerk: {instructions: You answer., tools: []}}\n"}))
	b := open(t, h.link)
	b.sees(".page", "No model is chosen yet")
	value[any](b, "void (location.hash = '#/settings/models')")
	b.chooses("select[aria-label='Add a provider']", "/")
	b.write(".address-form input[name=name]", "office")
	b.write(".address-form input[name=address]", "not an address")
	b.click(".address-form button", "Save and test")
	b.sees(".address-form [role=alert]", "no address of a server")
	b.write(".address-form input[name=address]", m.URL)
	b.picture("address-form")
	b.click(".address-form button", "Save and test")
	b.sees(".rows", "answers")
	b.sees(".rows", "office")
	b.click(".rows button", "Change address")
	b.holds("document.querySelector('.address-form input[name=address]').value.endsWith('/v1')")
	b.picture("address-change")
}
