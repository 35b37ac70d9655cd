package bundle

import (
	"fmt"
	"html"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/laxyaml"
	"github.com/troupe-dev/troupe/markup"
	"github.com/troupe-dev/troupe/workspace"
)

// maxWebBundle bounds a file that is a whole bundle. The largest published has 1 MB.
const maxWebBundle = 8 << 20

const (
	sectionMark  = "==================== START: "
	pasteMark    = "PASTE BOUNDARY"
	instructions = "INSTRUCTIONS.md"
)

// webBundles finds the bundles that were made for a web chat: a text or an XML file
// that holds a whole tree, or a folder with instructions to paste. Agents that are on
// disk already are not found a second time.
func (f *finder) webBundles() {
	var files []string
	for _, file := range f.files {
		ext := path.Ext(file)
		isOne := ext == ".txt" || ext == ".xml" && !strings.HasSuffix(file, ".agent.xml") || path.Base(file) == instructions
		if isOne && !isDecoy(file) && !isEditorFile(file) && f.treeOf(file) == "" && !f.isTaken(file) {
			files = append(files, file)
		}
	}
	if len(files) > maxWebSearch {
		files = slices.DeleteFunc(files, func(file string) bool { return !isPublished.MatchString(file) })
	}
	// Those of one agent come before those of a team, which repeat it.
	slices.SortStableFunc(files, func(a, b string) int {
		return isTeamFile(a) - isTeamFile(b)
	})
	for _, file := range files {
		src, err := f.read(file)
		if err != nil || len(src) > maxWebBundle {
			continue
		}
		switch {
		case path.Base(file) == instructions:
			if strings.Contains(src, pasteMark) {
				f.coach(file)
			}
		case path.Ext(file) == ".txt" && strings.Contains(src, sectionMark):
			if b := f.webBundle(file, readSections(src)); b != nil {
				b.above = linesAbove(src)
			}
		case strings.Contains(src, "<agent-bundle") || strings.Contains(src, "<team-bundle"):
			f.webBundle(file, readBundledFiles(src))
		}
	}
}

// maxWebSearch is how many files are opened to see whether they are bundles. A project
// that has more texts than that keeps bundles, if any, where they are published.
const maxWebSearch = 1000

var isPublished = regexp.MustCompile(`(?i)bundle|bmad|(^|/)(dist|expansion-packs|agents|teams|gems)/`)

func isTeamFile(file string) int {
	if strings.Contains(path.Base(file), "team") || strings.Contains(file, "teams/") {
		return 1
	}
	return 0
}

// section is a file inside a text bundle.
var section = regexp.MustCompile(`(?s)={20} START: (\S+) ={20}\r?\n(.*?)\r?\n={20} END: (\S+) ={20}`)

func readSections(src string) map[string]string {
	files := map[string]string{}
	for _, m := range section.FindAllStringSubmatch(src, -1) {
		files[strings.TrimPrefix(m[1], "./")] = m[2]
	}
	return files
}

// linesAbove counts the lines before each section of a text.
func linesAbove(src string) map[string]int {
	above := map[string]int{}
	for _, m := range section.FindAllStringSubmatchIndex(src, -1) {
		above[strings.TrimPrefix(src[m[2]:m[3]], "./")] = strings.Count(src[:m[4]], "\n")
	}
	return above
}

var (
	bundledFile  = regexp.MustCompile(`(?s)<file id="([^"]+)"[^>]*>(.*?)</file>`)
	bundledAgent = regexp.MustCompile(`(?s)<agent id="([^"]+)"[^>]*>.*?</agent>`)
)

// readBundledFiles reads the agents and files of an XML bundle. The agents, which have
// no file of their own, get one by their ids.
func readBundledFiles(src string) map[string]string {
	files := map[string]string{}
	agents, dependencies, ok := strings.Cut(src, "<dependencies>")
	if !ok {
		agents, dependencies = src, src
	}
	for _, m := range bundledAgent.FindAllStringSubmatch(agents, -1) {
		if opening, _, _ := strings.Cut(m[0], ">"); !strings.Contains(opening, `localskip="true"`) {
			files[m[1]] = m[0]
		}
	}
	for _, m := range bundledFile.FindAllStringSubmatch(dependencies, -1) {
		text := strings.TrimSpace(m[2])
		if inner, ok := strings.CutPrefix(text, "<![CDATA["); ok {
			text = dedent(strings.TrimRight(strings.TrimSuffix(strings.TrimSpace(inner), "]]>"), " "))
		}
		files[html.UnescapeString(m[1])] = text
	}
	return files
}

// dedent takes away what all lines but the first are indented by: a bundler has put the
// whole file further in, and its first line behind a tag.
func dedent(text string) string {
	first, rest, ok := strings.Cut(text, "\n")
	if !ok {
		return text
	}
	indent := -1
	for line := range strings.Lines(rest) {
		if body := strings.TrimLeft(line, " "); strings.TrimSpace(body) != "" && (indent < 0 || len(line)-len(body) < indent) {
			indent = len(line) - len(body)
		}
	}
	if indent <= 0 {
		return text
	}
	var b strings.Builder
	b.WriteString(first + "\n")
	for line := range strings.Lines(rest) {
		b.WriteString(line[min(indent, len(line)-len(strings.TrimLeft(line, " "))):])
	}
	return b.String()
}

// webBundle makes a bundle of files that are all inside one, nil if no agent is among them.
func (f *finder) webBundle(file string, files map[string]string) *Bundle {
	var names []string
	for _, name := range sortedKeys(files) {
		id, _, _ := strings.Cut(path.Base(name), ".")
		if path.Base(path.Dir(name)) == "agents" && filepath.IsLocal(name) && !f.hasAgent(id) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	b := f.empty(file, LayoutWeb)
	b.Name = strings.TrimSuffix(path.Base(file), path.Ext(file))
	b.virtual = files
	b.base = path.Dir(path.Dir(names[0])) // .bmad-core, bmad/bmm
	var pairs []string
	for _, project := range append(projectSpellings, "") {
		if project != "" {
			project += "/"
		}
		top, _, _ := strings.Cut(b.base, "/")
		pairs = append(pairs, project+top+"/", "{"+bmadRoot+"}/")
	}
	b.respell = strings.NewReplacer(pairs...)
	for _, name := range names {
		id, _, _ := strings.Cut(path.Base(name), ".")
		b.add(Entry{EntryPoint: true}, id, name)
		b.entries[len(b.entries)-1].File = b.Dir
	}
	return b
}

// hasAgent says whether an agent of that id was found before.
func (f *finder) hasAgent(id string) bool {
	return slices.ContainsFunc(f.bundles, func(b *Bundle) bool {
		return slices.ContainsFunc(b.entries, func(e *entry) bool { return e.plain == id })
	})
}

// unpack puts the files of a web bundle where a workspace can open them: into a
// temporary directory, which Close removes.
func (b *Bundle) unpack() error {
	if b.virtual == nil {
		return nil
	}
	b.unpacking.Lock()
	defer b.unpacking.Unlock()
	if b.unpacked != "" {
		return nil
	}
	dir, err := os.MkdirTemp("", "troupe-bundle-")
	if err != nil {
		return fmt.Errorf("unpack %s: %w", b.Name, causeOf(err))
	}
	for name, text := range b.virtual {
		if !filepath.IsLocal(name) {
			continue
		}
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err = os.MkdirAll(filepath.Dir(file), 0o700); err == nil {
			err = os.WriteFile(file, []byte(text), 0o600)
		}
		if err != nil {
			os.RemoveAll(dir)
			return fmt.Errorf("unpack %s: %w", b.Name, causeOf(err))
		}
	}
	top, _, _ := strings.Cut(b.base, "/")
	b.unpacked = dir
	b.host = filepath.Join(dir, filepath.FromSlash(b.base))
	b.further = append(b.further, workspace.Root{Name: bmadRoot, Dir: filepath.Join(dir, top), Access: workspace.ReadOnly},
		workspace.Root{Name: "root", Dir: b.host, Access: workspace.ReadOnly})
	if core := filepath.Join(dir, top, "core"); isDir(core) {
		b.core = core
	}
	return nil
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// coach makes a bundle of a folder that was made to be pasted into a web chat.
func (f *finder) coach(file string) {
	dir := path.Dir(file)
	if f.seen[dir] {
		return
	}
	b := f.empty(dir, LayoutWeb)
	b.add(Entry{EntryPoint: true}, b.Name, instructions)
	b.values["skill-name"] = b.Name
	b.further = append(b.further, workspace.Root{Name: "skill-root", Dir: b.host, Access: workspace.ReadOnly})
}

// parseCoach reads the instructions of a coach: what follows the last boundary, with
// who it is in a block under [persona].
func (d *Definition) parseCoach(src string) error {
	d.Format = FormatCoach
	at := strings.LastIndex(src, pasteMark)
	rest := src[at:]
	_, rest, _ = strings.Cut(rest, "\n")
	line := 1 + strings.Count(src[:len(src)-len(rest)], "\n")
	text := strings.TrimLeft(rest, "═=\r\n ")
	line += strings.Count(rest[:len(rest)-len(text)], "\n")
	_, block, _ := strings.Cut(text, "## [persona]")
	if fences := markup.Fences([]byte(block)); len(fences) > 0 {
		fence := fences[0]
		begin := line + strings.Count(text[:len(text)-len(block)], "\n") + fence.Line
		root, notes, err := ParseYAML(d.File, begin, fence.Content)
		if err != nil {
			return err
		}
		d.Findings = append(d.Findings, notes...)
		field := func(key string) string { return laxyaml.Prose(laxyaml.Field(root, key)) }
		d.declare(d.ID, field("name"), field("title"), field("icon"), "")
		d.Persona = Persona{
			Role: field("role"), Identity: field("identity"), CommunicationStyle: field("communication_style"),
			Principles: laxyaml.Lines(laxyaml.Field(root, "principles")), Focus: field("suggested_focus"),
		}
	}
	d.Critical = append(d.Critical, CriticalAction{
		Text: "Load COMPLETE file {bundle-root}/" + SkillFile + " and follow it", Line: line,
		Load: &Load{Path: "{bundle-root}/" + SkillFile, Optional: true}, implied: true,
	})
	d.Prompts = append(d.Prompts, Prompt{ID: instructions, Content: strings.TrimSpace(text), Line: line})
	return nil
}
