package browser

import (
	"fmt"
	"strings"
)

// galleryNames are what the design has on each screen: its headings, what acts, and the
// states that are to be seen. "h" is a heading, "a" something that acts, "s" a state or
// another text; what is only on a desktop or only on a phone says so.
var galleryNames = map[string]string{
	"01-home": `h Who would you like to work with?; h Waiting for you; h Carry on; h The company; h BMAD Method; h Flows; s Good; a What do you need?; a Attach; a Who begins; a gpt-4.1-mini; a Send;
		a Look and decide; a Yes, with the card; a Not in release 1; s A delivery is at its gate; s clerk asks before doing something; s John asks; s Writing; a All files; a Find an agent or a task; a All 16; s Mary; s Business Analyst; a Brainstorm Project; s asks you;
		desk a Find anything; desk a Deliveries; desk a Activity; desk s Waiting for you; phone a Home; phone a Chats; phone a More`,
	"01b-find":               `s Night return lockers; s Conversations; s Files`,
	"02-conversation":        `h Numbers first: is one bank; h Night return lockers; a Changes; a Read; a Source; s many; s nine of fourteen; a Download; a Version; a Copy the text; desk a Conversation; desk a Run; desk a Full width; desk a Close; desk s Since version 1; phone a Back to the conversation`,
	"02b-conversation-alone": `h Numbers first: is one bank; s Mary; a Message to Mary; a Attach files; a Send; a Copy the answer; a Ask again; a Go on from here; a Edit and try again; s tokens; s Saved project-brief.md; a Open; a Files of this conversation; a More; desk a What Mary can do; desk a gpt-4.1-mini; phone a Tasks; phone a Back`,
	"02b-conversation-top":   `h Numbers first: is one bank; s Today; s Read 2 files; s One bank, emptied at ten; a Latest; a Download`,
	"02c-model":              `h Numbers first: is one bank; s gpt-4.1-mini; s gpt-4.1; s $; s holds 1,047,576 tokens; s Also for Mary from now on`,
	"02d-tasks":              `s What Mary can do; s Brainstorm Project`,
	"02e-document":           `h Night return lockers; h The problem; h Open questions; a Read; a Changes; a Source; a Version; a Edit; a Find in this document; a Download; a Copy the text; desk s What it costs; phone a Outline`,
	"02f-data":               `s hour; s returns; s 31; a Source; a Download`,
	"02g-arabic":             `h خزائن الإرجاع الليلي; s بنك واحد; a Message to Mary`,
	"02h-chinese":            `h 夜间还书柜; s 用读者证打开; a Message to Mary`,
	"02i-approval":           `s clerk asks before doing this; h Save opening-hours.md?; a Allow once; a Allow in this conversation; a Do not allow; a Show exactly what is sent; s All night, every night.`,
	"02j-running":            `h What readers say; s Nine paid a late fee; a Stop; a Message to Mary`,
	"02k-question":           `s John needs your answer to go on; s Should a reader without a smartphone; a Yes, with the card; a Not in release 1; a Something else; a Answer; a Let John decide`,
	"03-files":               `h Architecture; a Open; a Download; a Copy a link; s Versions; s Edited by you; s First draft; desk a Download as zip; desk a Give to an agent; desk a Compare; desk s 2 chosen; phone a Back to the files`,
	"03b-files-list":         `h Files; h The project’s documents; h From conversations; a Find by name or by what is inside; a Add files; a All; a Documents; a Data; a Code; a Images; a By whom; s Product requirements; s John asks; a Choose; desk s Version; desk s Changed; desk s Size`,
	"04-run":                 `s Took; s Model calls; s Tool calls; s Tokens; s Cost; s Mary answers; s Model, turn 1; s Read interviews.md; s Saved project-brief.md; a Export; h What filled the model’s memory; desk s waits for you; desk s What happened`,
	"04b-call":               `h Model, turn; a Sent; a Came back; a What changed; a JSON; a Copy as JSON; a Copy as a curl command; a Fork here; a The call before; a The next call; a Close; s First word; s Instructions; s new`,
	"05-flow":                `h Return lockers, release 1; s critic; s counter; s clerk; s at the same time; s 2 of 4 done; s critic is working; a Stop; s to come; desk a As a list; desk a All of it; desk s Live`,
	"05b-flows":              `h Flows; s review; a Run; s clerk`,
	"05c-flow-article":       `s drafts: at the same time; s round 2 of 3; s 3 of 5 done; s editor is working; s Sent it back; s Writing, 15 words; a Stop`,
	"05c-flow-desk":          `s team; s Handed over to archivist; s Handed over to lawyer; s lawyer is working; a Stop`,
	"05c-flow-council":       `s group chat; s Let reader speak; s On Sundays the slot is full; s reader is working; a Stop`,
	"05d-flow-list-article":  `s round 2 of 3; s researcher; s judge; s Sent it back; desk a As a graph`,
	"05d-flow-list-desk":     `s team; s lawyer; desk a As a graph`,
	"05d-flow-list-council":  `s group chat; s chair; desk a As a graph`,
	"05e-flow-node-article":  `h editor; s Round 2, working; a Was given; a Writes; a Rounds 2; s What readers mind; s From the round before; a All that it was given; a See the calls; a Close`,
	"05e-flow-node-desk":     `h lawyer; s working; a Was given; a Writes; s Handed over by archivist; a All that it was given; a See the calls; a Close`,
	"05e-flow-node-council":  `h reader; s working; a Was given; a Writes; a See the calls; a Close`,
	"06-delivery":            `h Return lockers, release 1; s Your decision; h Legal is ready; desk a Go on to finance; phone a Go on; a Ask for changes; a Stop here; h What was asked for; s waits for you`,
	"06b-deliveries":         `h Deliveries; h Deliver a request; a What is wanted; a Where it stops for you; a Budget; a Project to read and change; a Who does what; a Deliver; s Return lockers, release 1`,
	"06c-delivery-plan":      `s Your decision; h The plan is ready; s Card reader interface; s List of cards in the bank; s When the line is down; h Plan; a Stop here; a Ask for changes; h What was asked for`,
	"06d-delivery-failed":    `h Not delivered; a Go on; h Plan; s Card reader interface; s failed`,
	"06e-delivery-done":      `h Delivered; a Take it; a Ask for changes; h Plan; s AC1; s The name of the file could say more; s lines; s good`,
	"07-settings-models":     `h Settings; a Models; a Agents; a Tool servers; a Skills; a Limits; a People; a This page; a About; s gpt-4.1-mini; s In / million; s Out / million`,
	"07b-settings-tools":     `h Tool servers; s issues; s calendar; s create_issue; a Accept; a Keep it off; s read the file .env; s Before; s added`,
	"07c-settings-limits":    `h Limits; s spent`,
	"07d-settings-agents":    `h Agents; s Mary; s Winston; a gpt-4.1-mini; a What its model is told`,
	"07e-settings-people":    `h People; s operator; a New sign-in link`,
	"07f-settings-look":      `h This page; a Light; a Dark; a Enter sends; a Single letters act; a Sign out; a Tell me when someone waits`,
	"07g-activity":           `h Activity; s clerk; s analyst`,
}

// lacking are what the design has on a screen and the page has not, and what no screen has
// if it is whole: bones, words of a program, two headings of the first level, things
// beyond its edge.
func (b *tab) lacking(name string) (missing []string) {
	b.t.Helper()
	names, known := galleryNames[name]
	if !known {
		return []string{"nobody has said what is on it"}
	}
	phone := value[bool](b, "innerWidth <= 760")
	for _, want := range strings.Split(names, ";") {
		want = strings.TrimSpace(want)
		where, rest, _ := strings.Cut(want, " ")
		if where == "desk" || where == "phone" {
			if phone != (where == "phone") {
				continue
			}
			want = rest
		}
		kind, text, _ := strings.Cut(want, " ")
		selector, ok := map[string]string{"h": "h1, h2, h3, h4, h5", "a": "a[href], button, summary, select, input, textarea, label, [role=option], [role=switch]", "s": "body *"}[kind]
		if !ok {
			return []string{"no kind of thing: " + want}
		}
		if !value[bool](b, `all(%s).some((e) => [called(e), e.innerText, e.title, e.placeholder].some((text) => text?.replace(/\s+/g, " ").includes(%s)))`, selector, text) {
			missing = append(missing, want)
		}
	}
	// What was sent is shown to the byte, in a run and in the log.
	exact := strings.HasPrefix(name, "04") || name == "07g-activity"
	for _, wrong := range value[[]string](b, `[
		...all("h1").length === 1 ? [] : ["it has " + all("h1").length + " headings of the first level"],
		...all(".bones").map(() => "something still loads"),
		...["undefined", "NaN", "[object ", "This view broke", "could not be loaded", ...%s ? [] : ["{session-folder}", "{project-root}", "{planning_artifacts}"]].filter((words) => document.body.innerText.includes(words)).map((words) => "it says " + words),
		...document.documentElement.scrollWidth > innerWidth ? ["it is wider than the screen"] : [],
	]`, exact) {
		missing = append(missing, fmt.Sprint("whole: ", wrong))
	}
	return missing
}
