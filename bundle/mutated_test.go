package bundle

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/corpus"
)

// A mutation makes of a published tree what people's editors, merges and habits make of
// it. It returns the name and the content of a file; no name leaves the file out.
type mutation func(name, content string) (string, string)

// ofAgents changes the files of agents, ofConfig those of the configuration.
func ofAgents(change func(string) string) mutation { return ofFiles(isAgentFile, change) }
func ofConfig(change func(string) string) mutation { return ofFiles(isConfigFile, change) }
func ofMarkdown(change func(string) string) mutation {
	return ofFiles(func(name string) bool { return isAgentFile(name) && path.Ext(name) == ".md" }, change)
}

func ofFiles(isMeant func(string) bool, change func(string) string) mutation {
	return func(name, content string) (string, string) {
		if isMeant(name) {
			content = change(content)
		}
		return name, content
	}
}

func isAgentFile(name string) bool {
	return strings.Contains(name, "/agents/") && path.Ext(name) == ".md" || strings.Contains(name, "bmad-agent-") || strings.Contains(name, "bmad-tech-writer")
}

func isConfigFile(name string) bool {
	return strings.HasSuffix(name, "config.yaml") || strings.HasSuffix(name, "config.toml") || strings.HasSuffix(name, "config.user.toml")
}

func isBookkeeping(name string) bool {
	return strings.Contains(name, "_config/") || strings.Contains(name, "_cfg/") || strings.Contains(name, "install-manifest")
}

// moved puts what is in one directory into another.
func moved(from, to string) mutation {
	return func(name, content string) (string, string) {
		if rest, ok := strings.CutPrefix(name, from); ok {
			name = to + rest
		}
		return name, content
	}
}

func without(isMeant func(string) bool) mutation {
	return func(name, content string) (string, string) {
		if isMeant(name) {
			return "", ""
		}
		return name, content
	}
}

func replaced(pairs ...string) func(string) string { return strings.NewReplacer(pairs...).Replace }
func after(text string) func(string) string        { return func(s string) string { return text + s } }

func wide(s string) string {
	encoded, _ := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(s)
	return encoded
}

// windows encodes a text as Windows-1252, without what that cannot say.
func windows(s string) string {
	var b bytes.Buffer
	for _, r := range s {
		if c, ok := charmap.Windows1252.EncodeRune(r); ok {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// conflicted is what a merge that nobody has finished leaves behind.
func conflicted(s string) string {
	return "<<<<<<< HEAD\n" + s + "=======\n" + s + ">>>>>>> other\n"
}

var nameLine = regexp.MustCompile(`(?m)^name: .*$`)

// mutations are what happens to each of the trees.
var mutations = []struct {
	name, tree string
	mutate     mutation
}{
	{"a byte order mark", "installed-4.44", ofAgents(after("\ufeff"))},
	{"carriage returns", "installed-4.44", ofAgents(replaced("\n", "\r\n"))},
	{"carriage returns alone", "installed-4.44", ofAgents(replaced("\n", "\r"))},
	{"UTF-16", "installed-4.44", ofAgents(wide)},
	{"Windows-1252", "installed-4.44", ofAgents(func(s string) string { return windows(strings.ReplaceAll(s, "a ", "à ")) })},
	{"tabs", "installed-4.44", ofAgents(replaced("  ", "\t"))},
	{"hard spaces", "installed-4.44", ofAgents(replaced(": ", ":\u00a0"))},
	{"spaces at the ends", "installed-4.44", ofAgents(replaced("\n", "  \n"))},
	{"tildes for fences", "installed-4.44", ofAgents(replaced("```", "~~~"))},
	{"longer fences", "installed-4.44", ofAgents(replaced("```", "````"))},
	{"a fence that is not closed", "installed-4.44", ofAgents(func(s string) string { return s[:max(strings.LastIndex(s, "```"), 1)] })},
	{"a heading in front", "installed-4.44", ofAgents(after("# Mon agent\n\nVoici.\n\n"))},
	{"notes behind", "installed-4.44", ofAgents(func(s string) string {
		return s + "\n\n## Notes\n\n```bash\nls\n```\n\n<agent-notes>x & y</agent-notes>\n"
	})},
	{"no core-config", "installed-4.44", without(isConfigFile)},
	{"a core-config in conflict", "installed-4.44", ofConfig(conflicted)},
	{"another folder", "installed-4.44", moved(".bmad-core/", "tools/bmad/")},
	{"without the dot", "installed-4.44", moved(".bmad-core/", "bmad-core/")},
	{"names of others", "installed-4.44", ofAgents(replaced("name: ", "name: 玛丽: "))},

	{"compiled, a byte order mark", "installed-6.0.4", ofAgents(after("\ufeff"))},
	{"compiled, carriage returns alone", "installed-6.0.4", ofAgents(replaced("\n", "\r"))},
	{"compiled, UTF-16", "installed-6.0.4", ofAgents(wide)},
	{"compiled, Windows-1252", "installed-6.0.4", ofAgents(func(s string) string { return windows(strings.ReplaceAll(s, "a ", "à ")) })},
	{"compiled, no manifests", "installed-6.0.4", without(isBookkeeping)},
	{"compiled, an empty config", "installed-6.0.4", ofConfig(func(string) string { return "" })},
	{"compiled, a broken config", "installed-6.0.4", ofConfig(func(s string) string { return s + "\nbroken: [\n  oops\n" })},
	{"compiled, a config in conflict", "installed-6.0.4", ofConfig(conflicted)},
	{"compiled, a config in UTF-16", "installed-6.0.4", ofConfig(wide)},
	{"compiled, a config in Chinese", "installed-6.0.4", ofConfig(replaced("Alex", "王小明: “老王”", "English", "中文（简体）"))},
	{"compiled, only the core's config", "installed-6.0.4", without(func(name string) bool { return name == "_bmad/bmm/config.yaml" })},
	{"compiled, deep in a repository", "installed-6.0.4", moved("", "apps/web/Mon Projet (été)/项目/")},
	{"compiled, another folder", "installed-6.0.4", moved("_bmad/", "bmad-method/")},
	{"compiled, marks of a merge", "installed-6.0.4", ofAgents(func(s string) string { return strings.Replace(s, "\n", "\n<<<<<<< HEAD\n=======\n>>>>>>> x\n", 1) })},

	{"skills, a byte order mark", "installed-6.5.0", ofAgents(after("\ufeff"))},
	{"skills, carriage returns", "installed-6.5.0", ofAgents(replaced("\n", "\r\n"))},
	{"skills, carriage returns alone", "installed-6.5.0", ofAgents(replaced("\n", "\r"))},
	{"skills, UTF-16", "installed-6.5.0", ofAgents(wide)},
	{"skills, Windows-1252", "installed-6.5.0", ofAgents(func(s string) string { return windows(strings.ReplaceAll(s, "a ", "à ")) })},
	{"skills, a comment in front", "installed-6.5.0", ofMarkdown(after("<!-- ours -->\n"))},
	{"skills, quotes in a text", "installed-6.5.0", ofAgents(replaced("Amelia", `Amélia "Dév"`, "Mary", "玛丽"))},
	{"skills, a path of Windows", "installed-6.5.0", ofAgents(replaced("[agent]", "[agent]\nnote = \"C:\\Users\\x\""))},
	{"skills, marks of a merge", "installed-6.5.0", ofAgents(replaced("[agent]", "<<<<<<< HEAD\n=======\n>>>>>>> x\n[agent]"))},
	{"skills, a table twice", "installed-6.5.0", ofAgents(replaced("[agent]", "[agent]\n[agent]"))},
	{"skills, no front matter", "installed-6.5.0", ofMarkdown(func(s string) string { return s[strings.LastIndex(s, "---\n")+4:] })},
	{"skills, colons in the front matter", "installed-6.5.0", ofMarkdown(replaced("description: ", "description: Utile: quand: "))},
	{"skills, a name with slashes", "installed-6.5.0", ofMarkdown(func(s string) string { return nameLine.ReplaceAllString(s, `name: "Équipe / 产品 经理"`) })},
	{"skills, no configuration", "installed-6.5.0", without(isConfigFile)},
	{"skills, a broken configuration", "installed-6.5.0", ofConfig(conflicted)},
	{"skills of another editor", "installed-6.5.0", moved(".claude/skills/", ".gemini/skills/")},
	{"skills at the top", "installed-6.5.0", moved(".claude/skills/", "skills/")},
	{"skills of a plugin", "installed-6.5.0", moved(".claude/skills/", "plugins/bmad/skills/")},
	{"skills among commands", "installed-6.5.0", moved(".claude/skills/", ".claude/commands/")},
	{"skills in a folder more", "installed-6.5.0", moved(".claude/skills/", ".claude/skills/bmad/bmm/")},
	{"skills without manifests", "installed-6.5.0", without(isBookkeeping)},
}

// Whatever has happened to a tree, its agents are listed, start and have all their
// commands.
func TestTreesSurviveEditorsAndPeople(t *testing.T) {
	published, whole := map[string]map[string]string{}, map[string]map[string][]string{}
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			if published[m.tree] == nil {
				dir := t.TempDir()
				published[m.tree] = agentFilesOf(t, corpus.Path(t, "bmad/"+m.tree))
				for name, content := range published[m.tree] {
					put(t, dir, name, content)
				}
				whole[m.tree] = started(t, dir)
			}
			mutated := t.TempDir()
			for name, content := range published[m.tree] {
				if name, content = m.mutate(name, content); name != "" {
					put(t, mutated, name, content)
				}
			}
			got, want := started(t, mutated), whole[m.tree]
			for _, id := range slices.Sorted(maps.Keys(want)) {
				if !slices.Equal(got[id], want[id]) {
					t.Errorf("%s has %q; want %q", id, got[id], want[id])
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d agents are listed; want %d", len(got), len(want))
			}
		})
	}
}

// agentFilesOf reads what of a tree says who its agents are.
func agentFilesOf(t *testing.T, dir string) map[string]string {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil || !isAgentFile(name) && !isConfigFile(name) && !isBookkeeping(name) || strings.HasPrefix(name, ".claude/commands/") {
			return err
		}
		content, err := os.ReadFile(file)
		files[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// started starts all agents and returns their commands by their plain ids. What is
// wrong with one stands where its commands would.
func started(t *testing.T, dir string) map[string][]string {
	c := find(t, dir, Config{})
	engine, err := troupe.New(troupe.Config{Store: troupe.NewMemoryStore()})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	commands := map[string][]string{}
	for _, listed := range c.List(nil) {
		id := path.Base(listed.ID)
		if listed.Broken != nil {
			commands[id] = []string{"broken: " + listed.Broken.Error()}
			continue
		}
		for _, command := range listed.Definition.Commands {
			commands[id] = append(commands[id], command.Cmd)
		}
		if len(commands) > 1 {
			continue // being listed as sound is to have been started, but for the model
		}
		agent, err := c.Agent(listed.ID, Options{Model: obliging{}, Outputs: filepath.Join(dir, "data", "agent-outputs")})
		if err != nil {
			commands[id] = []string{"no agent: " + err.Error()}
			continue
		}
		for _, err := range engine.Run(t.Context(), agent, troupe.Input{Text: "hello"}) {
			if err != nil {
				commands[id] = []string{"does not start: " + err.Error()}
			}
		}
	}
	return commands
}
