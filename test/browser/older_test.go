package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	library "github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/server"
	"github.com/troupe-dev/troupe/troupetest"
)

// past is a program that has had many conversations.
type past struct{ asking }

func (p past) Flows() []server.Flow {
	return []server.Flow{{Name: "review", Description: "Looks it over.", Tree: "review",
		Nodes: []server.FlowNode{{ID: "review", Kind: "sequence"}, {ID: "1", Kind: "agent", Agent: "asker", In: "review"}}}}
}

// had stores a conversation that began some minutes after the first one: what was said and answered,
// and the question that it waits with, if any.
func had(t *testing.T, store library.Store, session, agent string, minute int, question string, exchanges ...[2]string) {
	t.Helper()
	log := []library.Event{}
	add := func(n int, body library.Body) {
		at := time.Date(2026, 1, 1, 8, minute, 0, len(log), time.UTC)
		log = append(log, library.Event{Seq: int64(len(log) + 1), Time: at, Session: session, Run: fmt.Sprintf("%s-%d", session, n), Agent: agent, Body: body})
	}
	for n, exchange := range exchanges {
		add(n, &library.RunStarted{})
		add(n, &library.UserSaid{Text: exchange[0]})
		if last := n == len(exchanges)-1; last && question != "" {
			add(n, &library.InputRequested{ID: "q", Question: question, CallID: "c", Tool: "ask_user"})
			add(n, &library.RunFinished{Stop: "input_requested"})
			break
		}
		add(n, &library.ModelReplied{Message: &library.Message{Role: library.RoleAssistant, Text: exchange[1]}})
		add(n, &library.RunFinished{Output: library.Handoff{Summary: exchange[1]}, Stop: "answered"})
	}
	if err := store.Append(t.Context(), session, log...); err != nil {
		t.Fatal(err)
	}
}

// pastHouse serves a program with what its store has.
func pastHouse(t *testing.T, store library.Store) (link string) {
	t.Helper()
	agent, err := library.NewAgent(library.AgentConfig{ID: "asker", Instructions: "You ask.", Model: troupetest.NewCast(t, nil)})
	if err != nil {
		t.Fatal(err)
	}
	return programHouseWith(t, past{asking{agent}}, store)
}

// Of many things that wait the first screen shows some, and all to whoever wants them.
func TestAllThatWaitsIsOnTheFirstScreen(t *testing.T) {
	t.Parallel()
	store := library.NewMemoryStore()
	for n := range 11 {
		had(t, store, fmt.Sprintf("waits-%02d", n), "asker", n, fmt.Sprintf("Shall otter %d come in?", n), [2]string{fmt.Sprintf("Question %d", n), ""})
	}
	b := open(t, pastHouse(t, store))
	b.sees("[aria-label='Waiting for you'] .sec", "11")
	b.holds("all('.waits > .card').length === 6")
	b.enter("[aria-label='Waiting for you'] button", "Show 5 more")
	b.holds("all('.waits > .card').length === 11 && all('.waits > .card')[6].contains(document.activeElement)")
	b.lacks("[aria-label='Waiting for you'] button", "more")
}

// What waits for somebody, what was delivered and what flows ran are there however many
// conversations are newer, and each of these can be reached.
func TestWhatIsOldIsThereHoweverMuchIsNewer(t *testing.T) {
	t.Parallel()
	store := library.NewMemoryStore()
	had(t, store, "first", "asker", 0, "", [2]string{"The very first one", "Good."})
	had(t, store, "waits", "asker", 1, "Shall the otters come in?", [2]string{"The old question", ""})
	had(t, store, "delivery", server.Pipeline, 2, "", [2]string{"The old delivery", "Delivered."})
	had(t, store, "flow", "review", 3, "", [2]string{"The old flow run", "Looked over."})
	for n := range 250 {
		had(t, store, fmt.Sprintf("talk-%03d", n), "asker", 10+n, "", [2]string{fmt.Sprintf("Talk %d", n), "Good."})
	}
	b := open(t, pastHouse(t, store))
	for range 2 { // and after a reload
		b.sees(".waits", "Shall the otters come in?")
		b.sees(".side .item[data-status=waiting]", "The old question")
		b.holds("document.title.startsWith('(1) ')")
		b.at("#/deliveries")
		b.sees(".recent a", "The old delivery")
		b.at("#/flows")
		b.sees(".recent a", "The old flow run")
		b.at("#/")
		b.do(chromedp.Reload())
	}
	b.sees(".side .item", "Talk 249")
	b.presses(".side a.item", "All conversations")
	b.sees("h1", "Conversations")
	b.sees(".chats li", "The old question")
	b.picture("all-conversations")
	for last := 0; ; {
		b.holds("find('button.older')?.disabled === false || all('.chats li').length === 254")
		if value[bool](b, "!find('button.older')") {
			break
		}
		rows := value[int](b, "all('.chats li').length")
		if rows <= last {
			t.Fatalf("%d rows after %d", rows, last)
		}
		last = rows
		b.click("button.older", "Show older")
		b.holds("all('.chats li').length > %s || !find('button.older')", rows)
	}
	b.sees(".chats li:last-child", "The very first one")
	b.reads(".chats li:nth-child(254) .cut", "The very first one")
}

// conversationOf makes a conversation of so many exchanges.
func conversationOf(exchanges int) (list [][2]string) {
	for n := range exchanges {
		list = append(list, [2]string{fmt.Sprintf("Question %d.", n), fmt.Sprintf("Answer %d.", n) + strings.Repeat("\n\nIt has a paragraph of a few words.", n%5)})
	}
	return list
}
