package browser

import (
	"strings"
	"testing"

	library "github.com/troupe-dev/troupe"
)

// Turns that are drawn above those that are read leave them where they are.
func TestEarlierTurnsLeaveThePlaceAsItIs(t *testing.T) {
	t.Parallel()
	store := library.NewMemoryStore()
	had(t, store, "long", "asker", 0, "", conversationOf(200)...)
	b := open(t, pastHouse(t, store))
	b.at("#/s/long")
	b.sees(answers, "Answer 199.")
	b.holds("document.querySelector('.earlier')?.innerText.trim() === '376 earlier'")
	// Close to the top, so that what is there is drawn.
	b.holds("(find('.flow').scrollTop = 650) && all('.flow article').every((e, i) => i > 3 || e.innerText)")
	for _, act := range []string{"find('.flow').scrollTop = 0", "document.querySelector('.earlier').click()"} {
		b.rests()
		// What is read is where it is at the moment before more is drawn: as soon as it is scrolled.
		read := value[string](b, `(() => {
			`+act+`;
			const box = find(".flow").getBoundingClientRect();
			const turn = all(".flow article").find((e) => e.getBoundingClientRect().bottom > box.top + 60 && e.innerText);
			window.place = { turn, top: turn.getBoundingClientRect().top, earlier: parseInt(document.querySelector(".earlier").innerText) };
			return turn.innerText;
		})()`)
		b.holds("parseInt(document.querySelector('.earlier').innerText) < place.earlier")
		b.rests()
		if moved := value[float64](b, "place.turn.isConnected ? Math.abs(place.turn.getBoundingClientRect().top - place.top) : 1e6"); moved > 2 {
			t.Errorf("after %s, %q has moved by %v px", act, read, moved)
		}
	}
}

// Whoever has scrolled up stays there when a message goes out that was queued, or comes from
// elsewhere; who says something is brought to the end.
func TestAReaderWhoHasScrolledStaysThere(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	b := begin(t, h.link, "clerk")
	const atEnd = "((box) => box.scrollHeight - box.scrollTop - box.clientHeight < 2)(find('.flow'))"
	b.say("Begin")
	m.answers(t, strings.Repeat("A line of it.\n\n", 80))
	b.holds("find('.turn footer a') && " + atEnd)
	id := value[string](b, "location.hash.split('/')[2]")
	b.say("And on")
	working := m.asked(t)
	working.say("At work.")
	b.sees(answers, "At work.")
	b.write(composer, "This is queued")
	b.presses(".composer button", "Send")
	b.sees(".queue", "This is queued")
	stays := func(what string, happens func()) {
		t.Helper()
		// What grows at that moment may win once.
		b.holds("(find('.latest') && find('.flow').scrollTop < 400) || void (find('.flow').scrollTop = 300)")
		happens()
		b.rests()
		if at := value[float64](b, "find('.flow').scrollTop"); at > 400 {
			t.Errorf("%s: the reader is pulled to %v", what, at)
		}
	}
	stays("a queued message", func() {
		working.end()
		queued := m.asked(t)
		b.holds("document.querySelectorAll(%s).length === 3", said)
		queued.say("Heard.")
		queued.end()
		b.holds("find('.composer button', 'Send') && !find('.queue')")
	})
	stays("a message from elsewhere", func() {
		h.post(t, "/api/sessions/"+id+"/messages", map[string]any{"text": "From elsewhere"})
		m.answers(t, "Heard, too.")
		b.holds("document.querySelectorAll(%s).length === 4 && find('.composer button', 'Send')", said)
	})
	b.say("From here")
	m.answers(t, "At the end.")
	b.sees(answers, "At the end.")
	b.holds(atEnd)
}
