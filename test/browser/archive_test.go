package browser

import "testing"

// What is archived is put aside where it can be found, and that can be undone.
func TestWhatIsArchivedIsFound(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	b := begin(t, h.link, "clerk")
	b.say("Where are the lockers?")
	m.answers(t, "By the door.")
	b.sees(answers, "By the door.")
	archives := func(name string) {
		t.Helper()
		b.click(".bar button[aria-label=More]", "")
		b.click(".pop .opt", name)
	}
	archives("Archive")
	b.toasted("“Where are the lockers?” is archived")
	b.lacks(".side ul > li", "Where are the lockers?")
	b.click(".side summary", "Archived")
	b.sees(".side details li", "Where are the lockers?")
	b.picture("archived")
	b.click(".toast button", "Undo")
	b.sees(".side ul > li", "Where are the lockers?")
	b.lacks(".side summary", "")

	archives("Archive")
	b.sees(".side summary", "Archived")
	archives("Bring back from the archive")
	b.toasted("is back among the conversations")
	b.lacks(".side summary", "")
}
