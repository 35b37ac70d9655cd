package browser

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// flowsConfiguration has a flow of every kind, with agents of its own: scripts know them
// by what they are told.
const flowsConfiguration = `  researcher: {instructions: You are the researcher., description: Finds out what is known., skills: false, tools: []}
  writer: {instructions: You are the writer., description: Writes in prose., skills: false, tools: []}
  poet: {instructions: You are the poet., description: Writes in verse., skills: false, tools: []}
  editor: {instructions: You are the editor., description: Makes one text of many., skills: false, tools: []}
  judge: {instructions: You are the judge., description: Says whether it will do., skills: false, tools: []}
  reception: {instructions: You are the reception., description: Knows whom to ask., skills: false, tools: []}
  archivist: {instructions: You are the archivist., description: Knows what was., skills: false, tools: []}
  lawyer: {instructions: You are the lawyer., description: Knows what is allowed., skills: false, tools: []}
  chair: {instructions: You are the chair., description: Says who speaks., skills: false, tools: []}
  porter: {instructions: You are the porter., description: Works at night., skills: false, tools: []}
  reader: {instructions: You are the reader., description: Comes after eight., skills: false, tools: []}
flows:
  article:
    description: Found out, written twice, and edited until the judge accepts it.
    sequence: [researcher, {parallel: [writer, poet], name: drafts}, {loop: editor, check: judge, max_rounds: 3}]
  desk:
    description: Whoever knows best goes on.
    team: [reception, archivist, lawyer]
  council:
    description: Those concerned talk about it, and the chair sums it up.
    group_chat: [porter, reader]
    manager: chair
  asked:
    description: The editor asks whom it needs.
    agent: editor
    experts: [archivist, lawyer]
`

func flowScripts() []script {
	says := func(when, text string) script { return script{"You are the " + when, []reply{{text: text}}} }
	return []script{
		says("researcher", "Fourteen facts from six sources. Nine of fourteen readers paid a fee."),
		says("writer", "Queues are the first thing readers mention, and the last thing they complain about."),
		says("poet", "At ten the door is shut, the book is read; the slot is full, I take it home instead."),
		{"You are the judge", []reply{{tool: "revise", arguments: map[string]any{"feedback": "Too long by half; begin with the sign."}}}},
		{"Too long by half", []reply{{text: "What readers mind is not knowing. A sign that says how long it takes costs", held: true}}},
		says("editor", "Queues are the first thing readers mention and the last thing they complain about. Of the fourteen we asked, nine would rather wait at a machine than at a desk."),
		{"You are the reception", []reply{{tool: "transfer_to_archivist", arguments: map[string]any{"summary": "The reader asks what was decided about fees in 2019."}}}},
		{"You are the archivist", []reply{{tool: "transfer_to_lawyer", arguments: map[string]any{"summary": "In 2019 the council decided that a fee ends with the return. Does that hold for lockers?"}}}},
		{"You are the lawyer", []reply{{text: "A locker is a place of the library. What was decided of the return holds", held: true}}},
		{"You are the chair", []reply{{tool: "give_floor", arguments: map[string]any{"to": "porter", "instruction": "Say what Sundays are like."}}, {tool: "give_floor", arguments: map[string]any{"to": "reader", "instruction": "Say what you would do."}}}},
		says("porter", "On Sundays the slot is full by eight."),
		{"You are the reader", []reply{{text: "I would walk to the side door if a sign", held: true}}},
	}
}

// arrangements runs a flow of every kind until something is at work in it.
func (h *house) arrangements(t *testing.T) (views []view) {
	t.Helper()
	working := map[string]string{"article": "editor", "desk": "lawyer", "council": "reader"}
	for _, name := range slices.Sorted(maps.Keys(working)) {
		var made struct{ Session string }
		if err := json.Unmarshal([]byte(h.post(t, "/api/flows/"+name+"/runs", map[string]string{"text": "What readers say about queues"})), &made); err != nil {
			t.Fatal(err)
		}
		works := func(b *tab) { b.sees(".node[data-state=run]", working[name]) }
		at := "#/s/" + made.Session + "/flow"
		views = append(views, view{"05c-flow-" + name, at, ".node[data-state=run]", works}, view{"05d-flow-list-" + name, at, ".node[data-state=run]", func(b *tab) {
			if value[bool](b, "innerWidth > 760") {
				b.presses(".zoom button", "As a list")
				b.holds("find('.flow-nodes')")
			}
		}}, view{"05e-flow-node-" + name, at, ".node[data-state=run]", func(b *tab) {
			if value[bool](b, "!!find('button', 'As a graph')") {
				b.presses("button", "As a graph")
			}
			b.presses(".node[data-state=run]", working[name])
			b.holds("find('.panel .seg') && (innerWidth < 760 || find('.ground').scrollWidth === find('.ground').clientWidth)") // all of the graph is beside it
		}})
	}
	return views
}

// flowsHouse is a project with a flow of every kind.
func flowsHouse(t *testing.T, m *model) string {
	t.Helper()
	head, _, _ := strings.Cut(galleryConfiguration, "  clerk:")
	return project(t, map[string]string{"troupe.yaml": strings.Replace(head, "URL", m.URL+"/v1", 1) + flowsConfiguration})
}
