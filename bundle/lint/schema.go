package lint

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/troupe-dev/troupe/bundle"
	"github.com/troupe-dev/troupe/internal/laxyaml"
)

// What the schema of agents in YAML knows, since version 6.0. Its compiler refuses a file
// with anything else in it.
var (
	agentKeys    = []string{"metadata", "persona", "critical_actions", "menu", "prompts", "discussion", "conversational_knowledge", "webskip", "localskip"}
	metadataKeys = []string{"id", "name", "title", "icon", "module", "capabilities", "hasSidecar", "type"}
	personaKeys  = []string{"role", "identity", "communication_style", "principles"}
	promptKeys   = []string{"id", "content", "description"}
	targetKeys   = []string{"workflow", "validate-workflow", "exec", "action", "tmpl", "data"}
	itemKeys     = slices.Concat(targetKeys, []string{
		"trigger", "description", "workflow-install", "checklist", "document", "ide-only", "web-only", "discussion", "multi", "triggers",
	})
)

var (
	plainTrigger    = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)
	compoundTrigger = regexp.MustCompile(`^([A-Z]{1,3}) or fuzzy match on ([a-z0-9]+(?:-[a-z0-9]+)*)$`)
)

// strict holds an agent in YAML to the schema of its version. Troupe reads it all the
// same, but the method's own installer does not. Versions before 6.0, which do not say
// hasSidecar, and agents that follow the schema in nothing, are not held to it.
func (l *linter) strict(d *bundle.Definition) {
	if d.Format != bundle.FormatYAML || !strings.HasSuffix(d.File, ".agent.yaml") {
		return
	}
	root, _, err := bundle.ParseYAML(d.File, 1, []byte(l.read(d.File)))
	agent := laxyaml.Field(root, "agent")
	about := laxyaml.Field(agent, "metadata")
	sidecar := laxyaml.Field(about, "hasSidecar")
	if err != nil || sidecar == nil {
		return
	}
	wrong := func(n *yaml.Node, format string, args ...any) {
		l.warn(bundle.CodeSchema, d.File, n.Line, format+"; BMAD's installer refuses the file", args...)
	}
	if sidecar.Tag != "!!bool" {
		wrong(sidecar, "hasSidecar is true or false")
	}
	l.only(wrong, "agent", agent, agentKeys)
	l.only(wrong, "metadata", about, metadataKeys)
	l.only(wrong, "persona", laxyaml.Field(agent, "persona"), personaKeys)
	for at := range laxyaml.Fields(agent) {
		for _, key := range []string{"id", "name", "title", "icon"} {
			if at.Value == "metadata" && laxyaml.Scalar(laxyaml.Field(about, key)) == "" {
				wrong(at, "metadata needs %s", key)
			}
		}
	}
	for _, prompt := range laxyaml.Items(laxyaml.Field(agent, "prompts")) {
		l.only(wrong, "a prompt", prompt, promptKeys)
	}
	menu := laxyaml.Field(agent, "menu")
	if menu == nil || menu.Kind != yaml.SequenceNode || len(menu.Content) == 0 {
		wrong(agent, "the agent needs a menu with at least one item")
		return
	}
	for _, item := range menu.Content {
		l.strictItem(wrong, item)
	}
}

// only reports the keys of a map that are not among those it may have.
func (l *linter) only(wrong func(*yaml.Node, string, ...any), name string, n *yaml.Node, keys []string) {
	for k := range laxyaml.Fields(n) {
		if !slices.Contains(keys, k.Value) {
			wrong(k, "%s has no key %.60q: it has %s", name, k.Value, strings.Join(keys, ", "))
		}
	}
}

// strictItem holds an item of a menu to the schema.
func (l *linter) strictItem(wrong func(*yaml.Node, string, ...any), item *yaml.Node) {
	l.only(wrong, "an item", item, itemKeys)
	if laxyaml.Field(item, "multi") != nil || item.Kind != yaml.MappingNode {
		return
	}
	trigger, description := laxyaml.Field(item, "trigger"), laxyaml.Scalar(laxyaml.Field(item, "description"))
	switch written := laxyaml.Scalar(trigger); {
	case written == "" || plainTrigger.MatchString(written):
	default:
		m := compoundTrigger.FindStringSubmatch(written)
		if m == nil {
			wrong(trigger, "the trigger %.60q is neither words-with-hyphens in lower case nor \"XX or fuzzy match on words\"", written)
		} else if !strings.HasPrefix(description, "["+m[1]+"]") {
			wrong(trigger, "the description begins with the code of the trigger: [%s]", m[1])
		}
	}
	if description == "" {
		wrong(item, "the item needs a description")
	}
	if !slices.ContainsFunc(targetKeys, func(key string) bool { return laxyaml.Field(item, key) != nil }) {
		wrong(item, "the item needs one of %s", strings.Join(targetKeys, ", "))
	}
}
