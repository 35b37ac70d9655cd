package browser

import (
	"context"
	"testing"

	"github.com/chromedp/chromedp"

	library "github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/server"
	"github.com/troupe-dev/troupe/troupetest"
)

// asking is a program with one agent, whose tool asks people.
type asking struct{ *library.Agent }

func (a asking) Agents() []server.Agent { return []server.Agent{{ID: "asker", Name: "asker"}} }

func (a asking) Flows() []server.Flow { return nil }

func (a asking) Step(context.Context, string) (library.Step, error) { return a.Agent, nil }

// What is asked stands on the card whole, whatever its choices are called, and on the first screen
// without them, for there they are buttons. Answered, it can still be read.
func TestAQuestionIsReadWithItsChoicesAndAfterwards(t *testing.T) {
	t.Parallel()
	hasWindows(t)
	const question = "Now that all is there: should orders go to SQLite or PostgreSQL?\n\n1. SQLite: one file\n2. **PostgreSQL**: a server\n3. No"
	ask := library.NewTool("ask_user", "Asks.", func(context.Context, struct{}) (string, error) {
		return "", &library.InputNeeded{Question: question}
	})
	says := troupetest.NewCast(t, map[string][]troupetest.Turn{"You ask.": {troupetest.Call("ask_user", "{}"), troupetest.Say("So be it."), troupetest.Call("ask_user", "{}"), troupetest.Say("So be that, too.")}})
	agent, err := library.NewAgent(library.AgentConfig{ID: "asker", Instructions: "You ask.", Model: says, Tools: []library.Tool{ask}})
	if err != nil {
		t.Fatal(err)
	}
	b := begin(t, programHouse(t, asking{agent}), "asker")
	b.say("Where to?")
	const card, whole = "[aria-label=Question]", "Now that all is there: should orders go to SQLite or PostgreSQL?"
	b.holds("find(%s + ' .asked')?.innerText.trim() === %s", card, whole)
	b.holds("[...document.querySelectorAll(%s + ' .choice label')].map((l) => l.innerText.split('\\n')[0].trim()).join() === 'SQLite,PostgreSQL,No,Something else…'", card)
	talk := value[string](b, "location.hash")

	b.at("#/")
	b.holds("find('.waits .clamp')?.innerText === %s", whole)
	b.click(".waits a", "Something else")
	b.holds("location.hash === %s", talk)
	b.hasFocus(card) // it leads to the question, not to the box below
	b.click(card+" label", "Something else")
	b.holds("document.activeElement === find(%s + ' textarea')", card) // what is typed goes there
	b.write(card+" textarea", "Neither of")
	elsewhere := b.beside(value[string](b, "location.href"))
	elsewhere.click(card+" label", "SQLite")
	elsewhere.click(card+" button", "Answer")
	elsewhere.sees(".answered", "you answered: SQLite")
	elsewhere.holds("!find('.unsent')")
	elsewhere.close()
	b.sees(".unsent", "It was answered elsewhere. You had written:")
	b.holds("document.activeElement === find('.unsent input') && document.activeElement.value === 'Neither of'")
	b.press("!") // what is typed on goes there, and acts on nothing
	b.holds("find('.unsent input').value === 'Neither of!'")
	b.do(chromedp.Reload())
	b.holds("find('.unsent input')?.value === 'Neither of!'")
	b.click(".unsent button", "Drop it")
	b.lacks(".unsent", "")

	b.say("And the archive?")
	b.click(card+" label", "PostgreSQL")
	b.click(card+" button", "Answer")
	b.sees(".answered", "asker asked, you answered: PostgreSQL")
	b.holds("!find('.unsent')")
	b.lacks("details[open]", "Now that all is there")
	b.click(".answered", "PostgreSQL")
	b.sees("details[open]", whole)
	b.picture("question-answered")
}
