package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A bundle of two agents of our own, whose configuration names a folder for documents.
var company = map[string]string{
	"bmad/custom/bundles/office/bundle.yaml":   "type: bundle\nname: office\nagents:\n  - {id: ada, name: Ada, title: Analyst, file: agents/ada.md, entry_point: true}\n  - {id: ben, name: Ben, title: Planner, file: agents/ben.md, entry_point: true}\nresources: {config: config.yaml}\n",
	"bmad/custom/bundles/office/config.yaml":   "user_name: Ann\ncommunication_language: English\nplanning_artifacts: \"{project-root}/planning\"\n",
	"bmad/custom/bundles/office/agents/ada.md": officeAgent("ada", "Ada", "Analyst"),
	"bmad/custom/bundles/office/agents/ben.md": officeAgent("ben", "Ben", "Planner"),
}

func officeAgent(id, name, title string) string {
	return "# " + name + "\n\n```xml\n" + `<agent id="` + id + `" name="` + name + `" title="` + title + `" icon="📋">
  <persona><role>` + title + `</role><identity>Works with documents.</identity><communication_style>Plain.</communication_style><principles>Short.</principles></persona>
  <critical-actions><i>Load into memory {bundle-root}/config.yaml and set variables: user_name, planning_artifacts</i></critical-actions>
  <cmds><c cmd="*brief">Write a brief</c><c cmd="*exit">Say goodbye</c></cmds>
</agent>
` + "```\n"
}

// office opens a project with the company, whose model is the test's.
func office(t *testing.T, m *model, more string) *house {
	t.Helper()
	files := map[string]string{"troupe.yaml": strings.Replace("model: stub/stub-1\nproviders: {stub: {base_url: URL, models: {stub-1: {price: {input: 2, output: 8}}}}}\nlimits: {model_tries: 1}\n"+more, "URL", m.URL+"/v1", 1)}
	for name, content := range company {
		files[name] = content
	}
	return serve(t, project(t, files))
}

// saves has the agent that is asked next save a document.
func saves(t *testing.T, m *model, path, content, answer string) {
	t.Helper()
	m.calls(t, "save_output", map[string]any{"file_path": path, "content": content})
	m.answers(t, answer)
}

// What an agent names in the project is one document: on the page it is read beside the
// conversation, compared, edited by hand, brought back, found, and read by others.
func TestDocumentsOfTheProjectAreOnThePage(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := office(t, m, "")
	b := begin(t, h.link, "Ada")
	b.say("Write the brief")
	saves(t, m, "{planning_artifacts}/brief.md", "# Lockers\n\nMany readers pay a fee.\n\nOne bank.\n", "The brief is written.")
	b.sees(answers, "The brief is written.")
	b.sees(".doc .line > :first-child", "brief.md · version 1")
	b.sees(".doc .line > .cut", "· planning")
	b.lacks("body", "{") // no name of a variable is shown to anybody
	b.say("Be exact")
	saves(t, m, "{planning_artifacts}/brief.md", "# Lockers\n\nNine of fourteen **readers** pay a fee.\n\nOne bank.\n", "Now it is exact.")
	b.sees(answers, "Now it is exact.")

	// Each card has its version, and opens it.
	b.holds("all('.doc').length === 2 && all('.doc').every((e, i) => e.innerText.includes(`.md · version ${i + 1}`) && e.innerText.includes('a document of the project'))")
	b.sees(".doc .line > :first-child", "brief.md · version 2 · 1 section changed") // where it is and its size come after that
	b.holds("all('.doc .line').every((e) => e.lastElementChild.innerText.includes('planning'))")
	b.holds("!all('.doc')[0].innerText.includes('changed')")
	value[any](b, "void all('.doc button')[0].click()")
	b.sees(".panel .prose", "Many readers pay")
	b.holds("all('.doc').map((e) => !!e.querySelector('.chip')).join() === 'true,false'")
	value[any](b, "void all('.doc button')[1].click()")
	b.sees(".panel .prose", "Nine of fourteen readers")
	b.sees(".panel .pick", "Version 2")
	b.holds("all('.doc').map((e) => !!e.querySelector('.chip')).join() === 'false,true'")
	b.click(".panel .seg button", "Changes")
	b.sees(".panel del", "Many")
	b.sees(".panel ins", "Nine of fourteen")
	b.click(".panel .seg button", "Read")

	// Words are found in it, even where they are partly bold, and what is between two
	// paragraphs is not.
	b.click(".panel button", "Find in this document")
	b.write(".seek input", "readers pay")
	b.sees(".seek [role=status]", "1 of 1")
	b.write(".seek input", "e")
	b.sees(".seek [role=status]", "1 of ")
	b.press(kb.Enter)
	b.sees(".seek [role=status]", "2 of ")
	b.holds("CSS.highlights.get('found').size > 5 && CSS.highlights.get('found-here').size === 1")
	b.write(".seek input", "fee.One")
	b.sees(".seek [role=status]", "not found")
	b.write(".seek input", "[.*(")
	b.sees(".seek [role=status]", "not found")
	b.press(kb.Escape)
	b.lacks(".seek", "")
	b.holds("CSS.highlights.get('found').size === 0")
	b.holds("find('.panel .prose')") // the document is still there
	b.click(".panel button", "Edit")
	b.write(".panel textarea", "# Lockers\n\nNine of fourteen readers pay a fee.\n\nTwo banks, says Ann.\n\n- [x] Is it dry?\n- [ ] Who empties it?\n")
	b.click(".panel button", "Save a version")
	b.sees(".panel .prose", "Two banks, says Ann.")
	b.sees(".panel .pick", "Version 3")
	if content, err := os.ReadFile(filepath.Join(h.dir, "data", "documents", "planning", "brief.md")); err != nil || !strings.Contains(string(content), "says Ann") {
		t.Errorf("the document holds %q, %v", content, err)
	}

	// A box is ticked where the document is read, and that is a version.
	b.click(".panel .task label", "Who empties it?")
	b.sees(".panel .pick", "Version 4")
	b.holds("document.querySelectorAll('.panel .task input:checked').length === 2")
	if content, err := os.ReadFile(filepath.Join(h.dir, "data", "documents", "planning", "brief.md")); err != nil || !strings.HasSuffix(string(content), "- [x] Is it dry?\n- [x] Who empties it?\n") {
		t.Errorf("the document holds %q, %v", content, err)
	}

	// Another agent, in another conversation, reads what the person wrote.
	value[any](b, "void (location.hash = '#/')")
	b.click(".agent header button", "Ben")
	b.sees(".beginning h2", "Ben")
	b.sees(".beginning .sign", "📋") // its author's sign is in its profile, and nowhere else
	b.say("What does the brief say?")
	m.calls(t, "read_file", map[string]any{"file_path": "{planning_artifacts}/brief.md"})
	a := m.asked(t)
	if !strings.Contains(a.last, "Two banks, says Ann.") {
		t.Errorf("Ben was given %q", a.last)
	}
	a.say("Two banks.")
	a.end()
	b.sees(answers, "Two banks.")

	// The library has it with its versions, its author and its readers.
	value[any](b, "void (location.hash = '#/files')")
	b.sees(".library h2", "The project’s documents")
	b.sees(".library tr", "planning / brief.md")
	b.sees(".library tr", "You")
	b.click(".library tr .strong", "Lockers")
	b.sees(".glance .versions", "Edited by you")
	b.sees(".glance .versions", "First draft")
	b.sees(".glance", "Read by")
	b.sees(".glance p", "Ben")
	b.picture("library-document")
	b.click(".glance .versions button", "First draft")
	b.sees(".panel .prose", "Many readers")
	b.click(".panel button", "Bring back")
	b.sees(".panel .pick", "Version 5")
	b.sees(".panel .prose", "Many readers")
	value[any](b, "void (location.hash = '#/files')")
	b.click(".library tr .strong", "Lockers")
	b.sees(".glance .versions", "Version 1 brought back by you")

	// It is found by what is inside, and a restart changes nothing.
	b.press("k", kb.ModifierCtrl)
	b.write("dialog input", "Many readers")
	b.sees("#found", "Lockers")
	b.press(kb.Escape)
	answer := h.get(t, "/api/documents/versions?path=planning%2Fbrief.md")
	for _, want := range []string{`"number":4`, `"by":"ada"`, `"by":"Ann","by_hand":true`} {
		if !strings.Contains(answer, want) {
			t.Errorf("the versions lack %s: %s", want, answer)
		}
	}
	// Who brings a version back has not written the one that it was.
	if first := strings.SplitAfter(answer, `"number":`); !strings.Contains(first[len(first)-1], `"by":"ada"`) {
		t.Errorf("the first version is not Ada's: %s", answer)
	}
}

// Names that lead to what is beside the documents lead nowhere.
func TestDocumentsOfOthersHaveNoName(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	files := map[string]string{
		"troupe.yaml": strings.Replace("model: stub/stub-1\nproviders: {stub: {base_url: URL}}\nserver: {users: {ann: ANN_TOKEN, bob: BOB_TOKEN}}\n", "URL", m.URL+"/v1", 1),
		".env":        "ANN_TOKEN=" + strings.Repeat("a", 40) + "\nBOB_TOKEN=" + strings.Repeat("b", 40) + "\n",
		"data/documents/.troupe-owners/ann/planning/brief.md": "Ann's own.\n",
		"data/documents/.troupe-owners/bob/planning/brief.md": "Bob's secret.\n",
		"data/documents/.troupe-versions/x.md/000001":         "an old secret\n",
	}
	for name, content := range company {
		files[name] = content
	}
	h := serve(t, project(t, files))
	h.link = strings.Split(h.link, "#")[0] + "#token=" + strings.Repeat("a", 40)
	if list := h.get(t, "/api/documents"); !strings.Contains(list, "planning/brief.md") || strings.Contains(list, "bob") {
		t.Errorf("Ann's documents are %s", list)
	}
	if content := h.get(t, "/api/documents/files/planning/brief.md?raw=1"); content != "Ann's own.\n" {
		t.Errorf("Ann reads %q", content)
	}
	for _, name := range []string{
		".troupe-owners/bob/planning/brief.md", ".TROUPE-OWNERS/bob/planning/brief.md", "../bob/planning/brief.md", "%2e%2e/bob/planning/brief.md", "planning/..%2f..%2fbob/planning/brief.md",
		".troupe-versions/x.md/000001", "..%2f..%2f.troupe-versions/x.md/000001", "%7Bproject-root%7D/troupe.yaml", "troupe.yaml", ".env", "..%2f..%2f..%2f..%2ftroupe.yaml", "x%5C..%5Cbob",
	} {
		if status, content := h.try(t, "GET", "/api/documents/files/"+name+"?raw=1", nil); status != 404 && status != 400 && status != 301 && status != 307 || strings.Contains(content, "secret") {
			t.Errorf("%s: %d %q", name, status, content)
		}
		if status, content := h.try(t, "PUT", "/api/documents", map[string]any{"path": strings.NewReplacer("%2e", ".", "%2f", "/", "%7B", "{", "%7D", "}", "%5C", "\\").Replace(name), "content": "mine now"}); status != 404 {
			t.Errorf("PUT %s: %d %q", name, status, content)
		}
	}
}

// Somebody brings files of their own: they are documents like all others, which agents
// find where they keep theirs.
func TestFilesAreAddedToTheDocuments(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := office(t, m, "")
	dir := t.TempDir()
	interviews, picture := filepath.Join(dir, "interviews.md"), filepath.Join(dir, "plan.png")
	for file, content := range map[string]string{interviews: "# What we heard\n\nNine paid a fee.\n", picture: "\x89PNG\r\n\x1a\n\x00\xff"} {
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, h.link)
	b.sees(".agent", "Ada")
	value[any](b, "void (location.hash = '#/files')")
	b.sees(".bar button", "Add files")
	b.choose(".bar input[type=file]", interviews, picture)
	b.toasted("2 files are among the documents")
	b.sees(".library tr", "planning / interviews.md")
	b.sees(".library tr", "What we heard")
	b.sees(".library tr", "You")
	b.picture("files-added")
	if got := h.read(t, "data/documents/planning/plan.png"); got != "\x89PNG\r\n\x1a\n\x00\xff" {
		t.Errorf("the picture holds %q", got)
	}
	if err := os.WriteFile(interviews, []byte("# What we heard\n\nTen paid a fee.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.choose(".bar input[type=file]", interviews)
	b.toasted("as version 2")

	value[any](b, "void (location.hash = '#/')")
	b.click(".agent header button", "Ada")
	b.sees(".beginning h2", "Ada")
	b.say("What did we hear?")
	m.calls(t, "read_file", map[string]any{"file_path": "{planning_artifacts}/interviews.md"})
	a := m.asked(t)
	if !strings.Contains(a.last, "Ten paid a fee.") {
		t.Errorf("Ada was given %q", a.last)
	}
	a.say("Ten.")
	a.end()
	b.sees(answers, "Ten.")
	for _, bad := range []string{"", "../x.md", "a/b.md", ".env", "{project-root}.md", `a\b`, ".troupe-owners", "..", "."} {
		if status, answer := h.try(t, "POST", "/api/documents", map[string]any{"name": bad, "data": "eA=="}); status != 422 {
			t.Errorf("%q: %d %s", bad, status, answer)
		}
	}
}

// A project without agents offers to make some.
func TestExamplesAreAddedToAProjectWithoutAgents(t *testing.T) {
	t.Parallel()
	h := serve(t, project(t, nil))
	b := open(t, h.link)
	b.sees("h2", "No company yet")
	b.picture("nobody")
	b.click("button", "Add the examples")
	b.sees(".agent", "Mira")
	if file := h.read(t, "troupe.yaml"); file == "" {
		t.Error("there is no troupe.yaml")
	}
	if status, answer := h.try(t, "POST", "/api/agents/examples", nil); status != 422 || !strings.Contains(answer, "there are agents already") {
		t.Errorf("once more: %d %s", status, answer)
	}
	b.click(".agent .does button", "decision")
	b.sees(answers, "What are you trying to decide?")
}

// What takes a while to load is shown as loading, and long enough to be seen.
func TestWhatLoadsIsShownAsLoading(t *testing.T) {
	t.Parallel()
	b := open(t, rehearse(t).link)
	b.sees(".agent", "Mira")
	value[any](b, `void (() => {
		const real = window.fetch;
		window.held = [];
		window.fetch = (address, options) => (String(address).includes("api/files") ? new Promise((go) => window.held.push(() => go(real(address, options)))) : real(address, options));
		new MutationObserver(() => {
			const loads = document.querySelector(".library .bones");
			if (loads) window.seen ??= performance.now();
			else if (window.seen) window.ended ??= performance.now();
		}).observe(document.body, { childList: true, subtree: true });
		window.begun = performance.now();
		location.hash = "#/files";
	})()`)
	b.holds("window.held.length > 0 && find('.library .bones').getAnimations().every((a) => a.playState === 'finished')")
	b.picture("loading")
	value[any](b, "void window.held.splice(0).forEach((go) => go())")
	b.sees(".library h2", "No file was saved yet")
	b.lacks(".bones", "")
	// It appears after 200 ms, and then stays for 300 at least; a clock may be a moment early.
	if took := until[float64](b, "window.ended - window.begun"); took < 490 {
		t.Errorf("it was there for %.0f ms, the time before it appears included", took)
	}
	// What is loaded for the view comes before; it may be noticed late.
	if took := value[float64](b, "window.ended - window.seen"); took < 400 {
		t.Errorf("it was seen for %.0f ms", took)
	}
}

// The panel of a picture has no bar for ways to look at it, of which there is one. On a phone its
// versions are there.
func TestAPictureHasNoEmptyBar(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	h := play(t, m)
	b := begin(t, h.link, "clerk")
	b.say("Draw a locker")
	for _, colour := range []string{"navy", "teal"} {
		m.calls(t, "write_file", map[string]any{"file_path": "{session-folder}/locker.svg", "content": `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 120"><rect width="200" height="120" fill="` + colour + `"/></svg>`})
	}
	m.answers(t, "Here it is.")
	b.click(".turn .doc button", "locker.svg")
	b.holds("find('.panel img')?.complete")
	b.lacks(".panel .bar-2", "")
	b.picture("panel-svg")
	b.do(chromedp.EmulateViewport(390, 800))
	b.sees(".panel .bar-2 .pick", "2")
	b.picture("panel-svg-phone")
	b.do(chromedp.EmulateViewport(1280, 800))
	b.holds(`(() => {
		const versions = find(".panel .pick select");
		versions.value = "1";
		return versions.dispatchEvent(new Event("change", { bubbles: true }));
	})()`)
	b.sees(".panel .bar-2 button", "Bring back")
}

// An agent that changes pieces of a file, as models do, leaves versions that can be read and compared.
func TestVersionsOfAFileThatIsEditedAreKept(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	edits := func(search, replace string) reply {
		return reply{tool: "edit_file", arguments: map[string]any{"file_path": "{session-folder}/a.md", "edits": []map[string]string{{"search": search, "replace": replace}}}}
	}
	m.directed(t, script{"Write and edit", []reply{{tool: "write_file", arguments: map[string]any{"file_path": "{session-folder}/a.md", "content": "# A\n\nOne.\n"}}, edits("One", "Two"), edits("Two.\n", "Three.\n\nAnd four.\n"), {text: "Edited twice."}}})
	configured := strings.NewReplacer("URL", m.URL+"/v1", "[write_file, read_file]", "[write_file, edit_file]").Replace(configuration)
	h := serve(t, project(t, map[string]string{"troupe.yaml": configured, "legal.json": legalSchema}))
	session := h.asks(t, "clerk", "", "Write and edit")
	b := open(t, h.link)
	b.at("#/s/" + session + "?file=a.md")
	b.holds("((o) => o.length === 3 && o.every((one) => !one.disabled))([...find('.panel select[aria-label=Version]').options])")
	for number, want := range []string{"# A\n\nOne.\n", "# A\n\nTwo.\n", "# A\n\nThree.\n\nAnd four.\n"} {
		if got := h.get(t, fmt.Sprintf("/api/sessions/%s/files/a.md?raw&version=%d", session, number+1)); got != want {
			t.Errorf("version %d is %q, want %q", number+1, got, want)
		}
	}
	b.chooses(".panel select[aria-label=Version]", "2")
	b.click(".panel .seg button", "Changes")
	b.sees(".panel ins", "Two")
	b.sees(".panel del", "One")
}

// What programs keep at the top of a document is folded, and no part of what people read.
func TestPropertiesOfADocumentAreFolded(t *testing.T) {
	t.Parallel()
	m := newModel(t)
	document := func(step, text string) reply {
		return reply{tool: "write_file", arguments: map[string]any{"file_path": "{session-folder}/prd.md", "content": "---\nstepsCompleted: [" + step + "]\nworkflow: create-prd\n---\n\n# The product\n\n<!-- next: the users -->\n\n" + text + "\n"}}
	}
	m.directed(t, script{"Write it", []reply{document("1", "It is small."), document("1, 2", "It is large."), {text: "Written."}}})
	h := play(t, m)
	session := h.asks(t, "clerk", "", "Write it")
	b := open(t, h.link)
	b.at("#/s/" + session + "?file=prd.md")
	b.sees(".sheet .prose", "It is large.")
	b.lacks(".sheet", "<!--")
	b.holds("!find('.sheet details').open && all('.sheet .prose :is(h1, h2, h3, .as1, .as2)').map((e) => e.innerText).join() === 'The product'")
	b.click(".sheet summary", "Properties")
	b.sees(".sheet pre", "stepsCompleted: [1, 2]")
	b.click(".panel .seg button", "Changes")
	b.sees(".panel ins", "large")
	b.lacks(".panel :is(ins, del)", "stepsCompleted")
	b.sees(".panel details[open]", "stepsCompleted: [1, 2]")
	b.picture("properties")
}
