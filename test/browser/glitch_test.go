package browser

import "testing"

// A request that fails while the stream of events is well says that the server cannot be
// reached, for as long as that is so.
func TestAGlitchIsOverWhenItIsOver(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	value[any](b, "void (globalThis.tries = 0, globalThis.well = fetch, globalThis.fetch = (path) => (tries += String(path).endsWith('/messages'), Promise.reject(new TypeError('offline'))))")
	b.say("Are you there?")
	b.sees(".strip", "Troupe cannot be reached")
	b.holds("tries === 3") // it is not tried any more: what is said again is not said twice
	value[any](b, "void (globalThis.fetch = well)")
	b.lacks(".strip", "Troupe cannot be reached")
	b.say("Are you there?")
	m.answers(t, "I am.")
	b.sees(answers, "I am.")
}

// A server that is back is noticed, however long the page was to wait for it.
func TestAServerThatIsBackIsNoticed(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	value[any](b, `void (globalThis.well = fetch, globalThis.fetch = (path) => (String(path).endsWith('/events') ? Promise.resolve(new Response('', { status: 503, headers: { 'Retry-After': '3600' } })) : Promise.reject(new TypeError('offline'))))`)
	b.say("Are you there?")
	b.sees(".strip", "Trying again in 3")
	value[any](b, "void (globalThis.fetch = well)")
	b.lacks(".strip", "Troupe cannot be reached")
}

// To go on from an answer that is whole is not to go on from one that was stopped.
func TestToGoOnFromAnAnswerIsNotToStopIt(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	b.say("One")
	m.answers(t, "First.")
	b.holds("find('footer button[title^=\"Go on from here\"]:not(:disabled)')")
	before := value[string](b, "location.hash")
	value[any](b, "void find('footer button[title^=\"Go on from here\"]').click()")
	b.holds("location.hash !== %s", before)
	b.sees(said, "One")
	b.sees(".turn", "This conversation goes on from another one")
	b.lacks(".trouble", "Stopped")
	b.say("Two")
	m.answers(t, "Second.")
	b.holds("all('footer button[title^=\"Go on from here\"]').length === 2")
}
