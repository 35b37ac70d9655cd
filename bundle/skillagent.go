package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/internal/laxyaml"
	"github.com/troupe-dev/troupe/markup"
	"github.com/troupe-dev/troupe/workspace"
)

// tableLines returns the lines on which tables of that header begin.
func tableLines(src, header string) []int {
	var at []int
	number := 0
	for line := range strings.Lines(src) {
		number++
		if strings.HasPrefix(strings.TrimSpace(line), header) {
			at = append(at, number)
		}
	}
	return at
}

// tomlText is a value as a text: a list is its items, one on each line.
func tomlText(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	case []any:
		return strings.Join(tomlTexts(value), "\n")
	case map[string]any:
		var lines []string
		for _, key := range sortedKeys(value) {
			lines = append(lines, key+": "+tomlText(value[key]))
		}
		return strings.Join(lines, "\n")
	default:
		return fmt.Sprint(value)
	}
}

// tomlTexts is a value as a list of texts: a single one is a list of one.
func tomlTexts(value any) []string {
	list, ok := value.([]any)
	if !ok && value != nil {
		list = []any{value}
	}
	var texts []string
	for _, item := range list {
		if text := strings.TrimSpace(tomlText(item)); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// tomlMenu is a menu: a list of items, or a table of them by code.
func tomlMenu(value any) []map[string]any {
	var items []map[string]any
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			if table, ok := item.(map[string]any); ok {
				items = append(items, table)
			}
		}
	case map[string]any:
		for _, code := range sortedKeys(value) {
			item := map[string]any{"code": code}
			if table, ok := value[code].(map[string]any); ok {
				maps.Copy(item, table)
			} else {
				item["description"] = tomlText(value[code])
			}
			items = append(items, item)
		}
	}
	return items
}

// parseSkill reads an agent that is a skill. Its file is the skill's instructions; who
// it is and what it offers is in a customize.toml beside it, or in a manifest and the
// sections of the file itself.
func (d *Definition) parseSkill(name, src string) error {
	d.Format = FormatSkill
	matter, body, line := markup.FrontMatter([]byte(src))
	front, notes, err := ParseYAML(d.File, 2, matter)
	if err != nil {
		front = nil
		d.Findings = append(d.Findings, asFinding(err, d.File))
		d.Findings[len(d.Findings)-1].Severity = Warning
	}
	d.Findings = append(d.Findings, notes...)
	text := strings.TrimSpace(string(body))
	line += strings.Count(string(body)[:strings.Index(string(body), text)], "\n")
	if text != "" {
		d.Prompts = append(d.Prompts, Prompt{ID: SkillFile, Content: text, Line: line})
	}
	d.Critical = append(d.Critical, moduleConfig())
	description := laxyaml.Prose(laxyaml.Field(front, "description"))
	declared := laxyaml.Scalar(laxyaml.Field(front, "name"))
	custom, err := d.customization(path.Dir(name), "agent")
	if err != nil { // its text says who it is, too
		d.Findings = append(d.Findings, asFinding(err, d.File))
	}
	if custom != nil {
		d.Findings = append(d.Findings, custom.found...)
		return d.customized(custom, declared, description, text)
	}
	return d.sectioned(path.Dir(name), declared, description, text, line)
}

// A customized skill is what the layers of its customize.toml come to.
type customized struct {
	merged map[string]any
	base   string // the text of the first layer
	file   string // of that, relative to the project
	found  []Finding
}

// customization reads the layers of a skill in dir, a directory of the bundle, that
// lie over each other: its own, the team's, the user's. It returns nil if the first
// has no table of that name.
func (d *Definition) customization(dir, table string) (*customized, error) {
	return d.bundle.customization(dir, table, func(layer tomlLayer) {
		d.overridden(layer.file, "")
		values, _ := layer.values[table].(map[string]any)
		for _, key := range sortedKeys(values) {
			for _, what := range changedItems(key, values[key]) {
				d.overridden(layer.file, what)
			}
		}
	})
}

// changedItems names what a layer has under a key: the key itself, or its items by their
// codes where it is a list of tables.
func changedItems(key string, value any) []string {
	var names []string
	list, _ := value.([]any)
	for _, item := range list {
		table, _ := item.(map[string]any)
		if name, ok := table[cmp.Or(commonKey(list), "code")].(string); ok {
			names = append(names, key+" "+name)
		}
	}
	if names == nil {
		names = []string{strings.ReplaceAll(key, "_", " ")}
	}
	return names
}

func (b *Bundle) customization(dir, table string, override func(tomlLayer)) (*customized, error) {
	beside := path.Join(dir, CustomizeFile)
	src, err := b.readNamed("{" + workspace.BundleRoot + "}/" + beside)
	if errors.Is(err, workspace.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, problem(CodeUnreadable, b.file(beside), 1, "%v", err)
	}
	return b.layered(b.file(beside), src, path.Base(path.Join(b.host, dir)), table, override)
}

// layered merges a customize.toml with what the project has laid over it.
func (b *Bundle) layered(file, src, skill, table string, override func(tomlLayer)) (*customized, error) {
	base, err := readTOML(file, src)
	if err != nil {
		return nil, err
	}
	if base.values[table] == nil {
		return nil, nil
	}
	found := base.mended
	layers := []tomlLayer{base}
	for _, name := range []string{skill + ".toml", skill + ".user.toml"} {
		over := path.Join("{"+bmadRoot+"}/custom", name)
		text, err := b.readNamed(over)
		if err != nil {
			continue // it is optional, and so is the tree
		}
		layer, err := readTOML(path.Join(b.tree, "custom", name), text)
		if err == nil {
			_, err = mergeLayers(append(layers[:len(layers):len(layers)], layer)...)
		}
		if err != nil { // the agent is worth more than what somebody wanted to change of it
			found = append(found, withAdvice(err, layer.file, "; nothing of the file counts until it is mended"))
			continue
		}
		found = append(found, layer.mended...)
		layers = append(layers, layer)
		override(layer)
	}
	merged, err := mergeLayers(layers...)
	if err != nil {
		return nil, err
	}
	return &customized{merged: merged, base: src, file: file, found: found}, nil
}

// readNamed reads a file by a path as agents write it.
func (b *Bundle) readNamed(name string) (string, error) {
	ws, err := b.files()
	if err != nil {
		return "", err
	}
	loc, err := ws.Resolve(name)
	if err != nil {
		return "", err
	}
	content, err := ws.ReadFile(loc)
	return textOf(content), err
}

// customized reads an agent of which a customize.toml says who it is.
func (d *Definition) customized(custom *customized, declared, description, text string) error {
	a, ok := custom.merged["agent"].(map[string]any)
	if !ok {
		return problem(CodeTOML, custom.file, 1, "agent must be a table: write [agent]")
	}
	name, title := headingName(text)
	d.declare(declared, cmp.Or(tomlText(a["name"]), name), cmp.Or(tomlText(a["title"]), title), tomlText(a["icon"]), description)
	d.Persona = Persona{
		Role: tomlText(a["role"]), Identity: tomlText(a["identity"]), CommunicationStyle: tomlText(a["communication_style"]),
		Principles: tomlTexts(a["principles"]),
	}
	at := 1
	if lines := tableLines(custom.base, "[agent]"); lines != nil {
		at = lines[0]
	}
	for _, key := range []string{"principles", "activation_steps_prepend", "activation_steps_append", "persistent_facts", "menu"} {
		if _, ok := a[key].([]any); a[key] != nil && !ok {
			d.Findings = append(d.Findings, warning(CodeSchema, custom.file, at, "%s is a list; what is there is read as one, but others will not read it", key))
		}
	}
	d.skillActivation(tomlTexts(a["activation_steps_prepend"]), tomlTexts(a["persistent_facts"]), tomlTexts(a["activation_steps_append"]), at)
	inMenu := tableLines(custom.base, "[[agent.menu]]")
	for i, item := range tomlMenu(a["menu"]) {
		if i < len(inMenu) {
			at = inMenu[i]
		}
		attribute := Attribute{"action", tomlText(item["prompt"]), at}
		if skill := tomlText(item["skill"]); skill != "" {
			attribute = Attribute{"skill", skill, at}
		}
		d.addSkillCommand(cmp.Or(tomlText(item["code"]), tomlText(item["id"])), tomlText(item["description"]), attribute, at)
	}
	return nil
}

// addSkillCommand adds an item of a skill's menu. Users type its code, or the name of
// the skill that it uses.
func (d *Definition) addSkillCommand(code, description string, attribute Attribute, line int) {
	before := len(d.Commands)
	d.addCommand(cmp.Or(code, attribute.Value), description, []Attribute{attribute}, line)
	if len(d.Commands) == before {
		return
	}
	c := &d.Commands[before]
	c.Code = cmp.Or(c.Code, code)
	if c.Kind == KindSkill && !strings.EqualFold(c.Target, strings.TrimPrefix(c.Cmd, "*")) {
		c.Synonyms = append(c.Synonyms, c.Target)
	}
}

// heading is the first heading of a skill: "John — Product Manager".
var heading = regexp.MustCompile(`(?m)^#\s+(.+?)\s*$`)

func headingName(text string) (name, title string) {
	m := heading.FindStringSubmatch(text)
	if m == nil {
		return "", ""
	}
	for _, dash := range []string{" — ", " – ", " - ", ": "} {
		if name, title, ok := strings.Cut(m[1], dash); ok {
			return strings.TrimSpace(name), strings.TrimSpace(title)
		}
	}
	return m[1], ""
}

// sectioned reads an agent that its manifest and the sections of its text describe.
func (d *Definition) sectioned(dir, declared, description, text string, line int) error {
	var about *yaml.Node
	file := path.Join(dir, skillManifest)
	if src, err := d.bundle.readNamed("{" + workspace.BundleRoot + "}/" + file); err == nil {
		root, notes, err := ParseYAML(d.bundle.file(file), 1, []byte(src))
		if err != nil { // the sections say most of it
			found := asFinding(err, d.bundle.file(file))
			found.Severity = Warning
			d.Findings = append(d.Findings, found)
		}
		about = manifestOf(root)
		d.Findings = append(d.Findings, notes...)
	}
	field := func(key string) string { return laxyaml.Prose(laxyaml.Field(about, key)) }
	name, title := headingName(text)
	d.declare(declared, cmp.Or(field("displayName"), name), cmp.Or(field("title"), title), field("icon"), description)
	section := func(title string) string { return sectionOf(text, title) }
	d.Persona = Persona{
		Role:               cmp.Or(field("role"), section("Role")),
		Identity:           cmp.Or(section("Identity"), field("identity")),
		CommunicationStyle: cmp.Or(section("Communication Style"), field("communicationStyle")),
	}
	if principles := cmp.Or(section("Principles"), field("principles")); principles != "" {
		d.Persona.Principles = []string{principles}
	}
	d.capabilities(text, line)
	return nil
}

// sectionOf returns what stands below a heading of level 2, up to the next.
func sectionOf(text, title string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	_, rest, ok := strings.Cut("\n"+text, "\n## "+title+"\n")
	if !ok {
		return ""
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	return strings.TrimSpace(rest)
}

// capabilities reads the table of a skill's menu: code, description, and a skill or
// the file of a prompt. Where no section is called so, because it is in another language,
// it is any table of codes.
func (d *Definition) capabilities(text string, line int) {
	before := len(d.Commands)
	d.menuTables(text, line, func(title string) bool {
		return strings.HasPrefix(title, "## Capabilities") || commandHeading.MatchString(title)
	}, func(string) bool { return true })
	if len(d.Commands) == before {
		d.menuTables(text, line, func(string) bool { return true }, tableCode.MatchString)
	}
}

// tableCode is a code as menus have them.
var tableCode = regexp.MustCompile(`^[A-Z][A-Z0-9]{0,4}$`)

// menuTables reads the tables in those sections of a text of which isMenu says that they
// are meant, and of their rows those that begin with what isItem takes.
func (d *Definition) menuTables(text string, line int, isMenu, isItem func(string) bool) {
	in, header, skip, fenced := isMenu(""), true, 0, false
	for row := range strings.Lines(text) {
		number := line
		line++
		row = strings.TrimSpace(row)
		if strings.HasPrefix(row, "```") {
			fenced = !fenced
		}
		if strings.HasPrefix(row, "## ") {
			in, header = isMenu(row), true
			continue
		}
		if !strings.HasPrefix(row, "|") {
			header = true
		}
		cells := strings.Split(strings.Trim(row, "|"), "|")
		if !in || fenced || !strings.HasPrefix(row, "|") || len(cells) < 2 {
			continue
		}
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`*")
			if i == 0 && strings.HasPrefix(cells[i], "[") {
				cells[i] = strings.Trim(cells[i], "[]")
			}
		}
		if strings.Trim(cells[0], "-: ") == "" {
			header = false
			continue
		}
		if header {
			skip = 0
			if first := strings.ToLower(strings.Trim(cells[0], ". ")); first == "#" || first == "no" || first == "nr" || first == "num" || first == "number" {
				skip = 1 // the items are numbered
			}
			continue
		}
		if cells = cells[min(skip, len(cells)-2):]; len(cells) < 2 || !isItem(cells[0]) {
			continue
		}
		target := ""
		if len(cells) > 2 {
			target = cells[2]
		}
		d.addSkillCommand(cells[0], cells[1], tableTarget(target, number), number)
	}
}

// tableFile is a file of the agent's own that a command loads: "Load `./references/x.md`".
var tableFile = regexp.MustCompile("^(?i:(?:load|read|follow)\\s+)?`?((?:\\./)?[\\w-]+(?:/[\\w.-]+)+)`?$")

func tableTarget(target string, line int) Attribute {
	for _, kind := range []string{"workflow", "exec", "action"} { // as the menus of agents in XML have it
		if value, ok := strings.CutPrefix(target, kind+":"); ok {
			return Attribute{kind, strings.Trim(strings.TrimSpace(value), "`"), line}
		}
	}
	if m := tableFile.FindStringSubmatch(target); m != nil && isPath(m[1]) {
		return Attribute{"exec", "{skill-root}/" + path.Clean(m[1]), line}
	}
	if strings.Trim(target, "-–— ") == "" {
		return Attribute{"skill", "", line}
	}
	if file, ok := strings.CutPrefix(target, "prompt:"); ok {
		file = strings.Trim(strings.TrimSpace(file), "`")
		if isPath(file) {
			return Attribute{"exec", "{skill-root}/" + file, line}
		}
		return Attribute{"action", file, line}
	}
	name := strings.Trim(strings.TrimSpace(strings.TrimPrefix(target, "skill:")), "`")
	if strings.ContainsAny(name, " \t") {
		return Attribute{"action", name, line}
	}
	return Attribute{"skill", name, line}
}

// How the critical actions begin that a customization's steps and facts become.
const (
	beforeGreeting = "Before the greeting: "
	rememberFact   = "Remember: "
	afterGreeting  = "After the greeting: "
)

// skillActivation turns the steps and facts of a customization into critical actions.
// A fact is a sentence, or a file: whose content is one.
func (d *Definition) skillActivation(before, facts, after []string, line int) {
	d.activationSteps(beforeGreeting, before, line)
	for _, fact := range facts {
		action := CriticalAction{Text: rememberFact + fact, Line: line}
		if file, ok := strings.CutPrefix(fact, "file:"); ok {
			file = strings.TrimSpace(file)
			action.Load = &Load{Path: file, Optional: true, many: !isLoadable(file)}
		}
		d.Critical = append(d.Critical, action)
	}
	d.activationSteps(afterGreeting, after, line)
}

// activationSteps adds steps. What loads a file is done before all else; the others say when they are due.
func (d *Definition) activationSteps(when string, steps []string, line int) {
	for _, step := range steps {
		action := newCriticalAction(step, line)
		if action.Load == nil {
			action.Text = when + action.Text
		}
		d.Critical = append(d.Critical, action)
	}
}

// manifestOf returns the part of a skill's manifest that describes it: all of it, or what
// stands below the name of a file.
func manifestOf(root *yaml.Node) *yaml.Node {
	if laxyaml.Field(root, "type") == nil {
		for _, v := range laxyaml.Fields(root) {
			if laxyaml.Field(v, "type") != nil {
				return v
			}
		}
	}
	return root
}
