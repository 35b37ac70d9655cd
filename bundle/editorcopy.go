package bundle

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/markup"
)

// declaredID is the id that a copy of an agent gives itself.
var declaredID = regexp.MustCompile(`(?m)<agent [^>]*\bid="([^"]+)"|^ +id: *["']?([\w-]+)`)

// isPointer says whether a file only says where the agent is.
func isPointer(src string) bool {
	return strings.Contains(src, "LOAD the FULL agent file") || strings.Contains(src, "Load persona from {project-root}")
}

// editorCopies finds agents that are there only as what editors have of them: copies
// that an installer made, .claude/commands/BMad/agents/pm.md and the like, and agents that
// people wrote for the editor, .claude/agents/reviewer.md.
func (f *finder) editorCopies() {
	f.editorFiles(func(_, src string) bool { return definesAgent("x.md", src) })
	f.editorFiles(f.isEditorAgent) // which may be a copy of one of those
	if !slices.ContainsFunc(f.bundles, func(b *Bundle) bool { return len(b.entries) > 0 }) {
		f.lostAgents()
	}
}

// pointedTo is the agent's file that a pointer names.
var pointedTo = regexp.MustCompile(`(?:@|\{project-root\}/|\s)([\w.-]+(?:/[\w.-]+)*/agents/[\w./-]+\.md)\b`)

// lostAgents lists the agents that editors are only pointed to, where the installation
// itself is not there: many people keep it out of their repository.
func (f *finder) lostAgents() {
	for _, file := range f.files {
		if !isEditorFile(file) || !slices.Contains([]string{".md", ".mdc", ".toml"}, extensionOf(file)) {
			continue
		}
		src, err := f.read(file)
		if err != nil || !isPointer(src) {
			continue
		}
		m := pointedTo.FindStringSubmatch(src)
		if m == nil || f.hasAgent(agentID(m[1])) {
			continue
		}
		dir := path.Dir(file)
		b := f.bundleAt(dir)
		if b == nil {
			b = f.empty(dir, LayoutInstalled)
			module, _, _ := strings.Cut(m[1], "/agents/")
			b.Name = path.Base(module)
		}
		b.addFile(path.Base(file))
		e := b.entries[len(b.entries)-1]
		e.plain = agentID(m[1])
		e.missing = "the agent itself is in " + m[1] + ", which is not here; put that folder back (it may be kept out of the repository), or install BMAD anew"
	}
}

// editorFiles adds the agents of editors that were not found before.
func (f *finder) editorFiles(isAgent func(file, src string) bool) {
	for _, file := range f.files {
		ext := extensionOf(file)
		if !isEditorFile(file) || ext != ".md" && ext != ".mdc" || strings.Contains(file, "/skills/") || isPattern(file) {
			continue
		}
		id, _, _ := strings.Cut(path.Base(file), ".")
		if f.hasAgent(id) || f.hasAgent(installedPrefix.ReplaceAllString(id, "")) {
			continue
		}
		src, err := f.read(file)
		if err != nil || len(src) > maxAgentFile || isPointer(src) || !isAgent(file, src) {
			continue
		}
		if m := declaredID.FindStringSubmatch(src); m != nil && f.hasAgent(stem(strings.TrimSuffix(m[1]+m[2], ".agent.yaml"))) {
			continue
		}
		b, name := f.copyBundle(file)
		b.addFile(name)
	}
}

// copyBundle returns the bundle that an editor's copy of an agent belongs to, and the
// copy's name in it. What was copied with it, tasks and templates, lies beside agents/.
func (f *finder) copyBundle(file string) (b *Bundle, name string) {
	dir := path.Dir(file)
	if in := f.list(path.Dir(dir)); path.Base(dir) == "agents" && (in["tasks"] || in["templates"] || in["checklists"]) {
		dir = path.Dir(dir)
	}
	if b = f.bundleAt(dir); b == nil {
		if b = f.moduleWithout(dir); b.Layout != LayoutV4 {
			b.Layout = LayoutV4
			f.furnishV4(b, dir)
		}
		b.home = ""
		b.Name = strings.Trim(strings.ReplaceAll(dir, "/", "-"), ".-")
	}
	return b, strings.TrimPrefix(file, dir+"/")
}

// editorAgentDirs are the directories in which editors look for agents, below their own.
var editorAgentDirs = []string{"agents", "agent", "chatmodes", "modes", "subagents", "droids"}

// installedPrefix is what installers put before the name of the agent that a copy is of.
var installedPrefix = regexp.MustCompile(`^(?:bma?d-(?:agent-|custom-|core-)*)?(?:bmm-|bmb-|bmgd-|cis-)?`)

// isEditorAgent says whether a file is an agent that somebody wrote for an editor, as plain
// text, and no copy of one that was found.
func (f *finder) isEditorAgent(file, src string) bool {
	elements := strings.Split(path.Dir(file), "/")
	if len(elements) < 2 || !slices.Contains(editorAgentDirs, elements[1]) || f.isInSkill(path.Join(elements[:2]...), file) {
		return false
	}
	matter, body, _ := markup.FrontMatter([]byte(src))
	if len(matter) == 0 || strings.TrimSpace(string(body)) == "" || !isProseAgent(withName(file, src)) {
		return false
	}
	return !f.hasAgent("bmad-agent-" + installedPrefix.ReplaceAllString(agentID(file), ""))
}

// isPattern says whether a file shows what an agent looks like, and is none.
func isPattern(file string) bool {
	base := strings.ToLower(agentID(file))
	if isDecoy(file) || strings.HasSuffix(base, "readme") || strings.HasSuffix(base, "-template") || strings.HasPrefix(base, "template") {
		return true
	}
	return slices.Contains(strings.Split(path.Dir(file), "/"), "schemas")
}
