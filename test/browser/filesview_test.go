package browser

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// Who has the list of all files open sees what is saved meanwhile, by whomever and wherever: a
// document that a program puts in, versions by hand, what an agent saves in another conversation.
func TestAnOpenListOfFilesShowsWhatIsSavedElsewhere(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := office(t, m, "")
	b := open(t, h.link)
	b.sees(".agent", "Ada")
	b.at("#/files")
	b.sees(".library", "No file was saved yet")
	first := h.begins(t, "ada", "Write the brief")
	saves(t, m, "brief.md", "# Lockers\n", "The brief is written.")
	b.sees(".library tr", "Lockers")
	second := h.begins(t, "ben", "Write the plan")
	saves(t, m, "plan.md", "# The plan\n", "The plan is written.")
	b.sees(".library tr", "The plan")

	h.post(t, "/api/documents", map[string]any{"name": "notes.md", "data": base64.StdEncoding.EncodeToString([]byte("# Notes\n"))})
	b.sees(".library tr", "Notes")
	b.click(".library tr .strong", "Notes")
	b.sees(".glance .prose", "Notes")
	h.must(t, "PUT", "/api/documents", map[string]any{"path": "planning/notes.md", "content": "# Better notes\n"})
	b.sees(".library tr", "Better notes")
	b.sees(".glance .prose", "Better notes")
	h.post(t, "/api/documents/restore", map[string]any{"path": "planning/notes.md", "version": 1})
	b.lacks(".library tr", "Better notes")

	// By hand nothing happens in a conversation itself.
	h.must(t, "PUT", "/api/sessions/"+first+"/files", map[string]any{"path": "brief.md", "content": "# Bicycles\n"})
	b.sees(".library tr", "Bicycles")
	h.must(t, "DELETE", "/api/sessions/"+first, nil)
	b.lacks(".library tr", "Bicycles")
	b.sees(".library tr", "The plan")
	h.must(t, "DELETE", "/api/sessions/"+second, nil)
	b.sees(".library", "No file was saved yet.")
}

// Documents that all people share are told to all of them, and those that somebody has alone to
// nobody else.
func TestAnOpenListOfFilesShowsWhatOthersSave(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	ann, bob := strings.Repeat("a", 40), strings.Repeat("b", 40)
	files := map[string]string{
		".env":        "ANN_TOKEN=" + ann + "\nBOB_TOKEN=" + bob + "\n",
		"troupe.yaml": "model: stub/stub-1\nproviders: {stub: {base_url: " + m.URL + "/v1, models: {stub-1: {}}}}\ndocuments: shared\nserver: {users: {ann: ANN_TOKEN, bob: BOB_TOKEN}, operators: [ann]}\n",
	}
	for name, content := range company {
		files[name] = content
	}
	h := serve(t, project(t, files))
	origin, _, _ := strings.Cut(h.link, "#")
	h.link = origin + "#token=" + ann
	b := open(t, origin+"#token="+bob)
	b.sees(".agent", "Ada")
	b.at("#/files")
	b.sees(".library", "No file was saved yet")
	h.begins(t, "ada", "Write the brief")
	saves(t, m, "{planning_artifacts}/brief.md", "# Lockers\n", "The brief is written.")
	b.sees(".library tr", "Lockers")
	h.must(t, "PUT", "/api/documents", map[string]any{"path": "planning/brief.md", "content": "# Bicycles\n"})
	b.sees(".library tr", "Bicycles")
}

// Of several tabs, each is told by its title what it shows.
func TestATabIsTitledByWhatItShows(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	b := open(t, h.link)
	b.sees(".agent", "clerk")
	b.holds("document.title === 'Troupe'")
	for place, title := range map[string]string{"#/files": "Files", "#/settings/look": "Settings", "#/settings/about": "Settings", "#/flows": "Flows", "#/activity": "Activity"} {
		b.at(place)
		b.holds("document.title === %s", title+" — Troupe")
	}
	session := h.begins(t, "clerk", "Herds")
	m.answers(t, "Many.")
	b.looksAt(session, "run")
	b.holds("document.title === 'Run — Herds — Troupe'")
	b.looksAt(session, "")
	b.holds("document.title === 'Herds — Troupe'")
}

// A file has one name wherever it is listed: its heading, in the conversation that saved it as among
// all files.
func TestAFileIsCalledTheSameEverywhere(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	b := begin(t, play(t, m).link, "clerk")
	m.directed(t, script{"Write it down", []reply{{tool: "write_file", arguments: map[string]any{"file_path": "{session-folder}/plan-2.md", "content": "# Where the money went\n\nOne bank."}}, {text: "Saved."}}})
	b.say("Write it down")
	name := "Where the money went"
	b.sees(".doc b", name)
	b.sees(".doc", "plan-2.md")
	b.click(".bar button", "Files of this conversation (1)")
	b.sees(".panel .recent", name)
	value[any](b, "void (location.hash = '#/files')")
	b.sees(".library td", name)
}

// Beside a preview no column is cut off: what has no room goes below the name. A document has as
// many words as its first version added.
func TestNoColumnOfFilesIsCutOffBesideAPreview(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := office(t, m, "")
	b := open(t, h.link)
	b.sees(".agent", "Ada")
	const title = "Write the brief about the lockers at the station"
	h.begins(t, "ada", title)
	saves(t, m, "brief.md", "# Lockers\n\n- Many readers *pay* for them.\n- Some do not.\n", "The brief is written.")
	h.post(t, "/api/documents", map[string]any{"name": "notes.md", "data": base64.StdEncoding.EncodeToString([]byte("# Notes\n"))})
	b.at("#/files")
	b.click(".library tr .strong", "Lockers")
	b.sees(".glance p", "9 words")
	b.holds("find('.glance .versions .good').innerText === '+9'")
	for _, width := range []int64{1280, 1440, 1920} {
		b.do(chromedp.EmulateViewport(width, 860))
		b.holds("innerWidth === %s && find('.glance')", width)
		b.sees(".library .talks td", title)
		b.holds("all('.library .cut').filter((e) => e.offsetParent && e.scrollWidth > e.clientWidth).map((e) => e.innerText).join() === ''")
		b.holds("all('.library :is(th, td):nth-child(n+2)').filter((e) => e.offsetParent && e.scrollWidth > e.clientWidth).map((e) => e.innerText).join() === ''")
		b.picture(fmt.Sprint("files-beside-", width))
	}
}
