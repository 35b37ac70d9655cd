package wire

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe"
)

// CallID is a call's id if it fits, and else a digest of it of so many letters and
// digits, which is the same in the call and in its answer: ids that came from
// elsewhere have other forms than a server may insist on.
func CallID(id string, fits bool, length int) string {
	if fits {
		return id
	}
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256([]byte(id))
	short := make([]byte, min(length, len(sum)))
	for i := range short {
		short[i] = digits[int(sum[i])%len(digits)]
	}
	return string(short)
}

// IsPlainID reports whether an id has letters, digits, _ and - only, and at most 64
// of them.
func IsPlainID(id string) bool {
	return id != "" && len(id) <= 64 && !strings.ContainsFunc(id, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' && c != '-'
	})
}

// Arguments makes a call's arguments fit to be sent back: a JSON object. Servers
// parse them, and answer with an error to those that a model left cut or malformed.
func Arguments(arguments string) string {
	trimmed := strings.TrimSpace(arguments)
	switch {
	case trimmed == "":
		return "{}"
	case trimmed[0] == '{' && json.Valid([]byte(arguments)):
		return arguments
	}
	var inside string // an object that is encoded twice
	if trimmed[0] == '"' && json.Unmarshal([]byte(trimmed), &inside) == nil && strings.HasPrefix(strings.TrimSpace(inside), "{") && json.Valid([]byte(inside)) {
		return inside
	}
	return string(append(AppendString([]byte(`{"invalid_json":`), arguments), '}'))
}

// efforts are the words for effort that any model takes, from the least to the most.
var efforts = []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}

// Effort is the word of those that a model takes which is nearest to the one that is
// wished for. A word that nobody knows stays as it is, and so do all where it is not
// known what the model takes.
func Effort(wish string, taken []string) string {
	at := slices.Index(efforts, wish)
	if at < 0 || len(taken) == 0 || slices.Contains(taken, wish) {
		return wish
	}
	nearest, distance := wish, len(efforts)
	for _, word := range taken {
		if i := slices.Index(efforts, word); i >= 0 && max(i-at, at-i) < distance {
			nearest, distance = word, max(i-at, at-i)
		}
	}
	return nearest
}

// SchemaName makes a name one that servers take.
func SchemaName(name string) string {
	name = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' {
			return c
		}
		return '_'
	}, name)
	if name = name[:min(len(name), 64)]; name == "" {
		return "answer"
	}
	return name
}

// IsClosed reports whether every object of a schema refuses properties that it does
// not name, and wantsAll whether it also requires all of those: then the schema can
// be enforced to the letter.
func IsClosed(schema json.RawMessage, wantsAll bool) bool {
	var root any
	if json.Unmarshal(schema, &root) != nil {
		return false
	}
	object, _ := root.(map[string]any)
	return object["type"] == "object" && isClosedPart(root, wantsAll, 0)
}

func isClosedPart(value any, wantsAll bool, depth int) bool {
	if depth > 64 {
		return false
	}
	switch value := value.(type) {
	case []any:
		return !slices.ContainsFunc(value, func(part any) bool { return !isClosedPart(part, wantsAll, depth+1) })
	case map[string]any:
		if takesObjects(value["type"]) && (value["additionalProperties"] != false || wantsAll && !requiresAll(value)) {
			return false
		}
		for _, part := range value {
			if !isClosedPart(part, wantsAll, depth+1) {
				return false
			}
		}
	}
	return true
}

// takesObjects reports whether a type, or one of a list of types, is that of objects.
func takesObjects(types any) bool {
	list, _ := types.([]any)
	return types == "object" || slices.Contains(list, any("object"))
}

func requiresAll(object map[string]any) bool {
	properties, _ := object["properties"].(map[string]any)
	required, _ := object["required"].([]any)
	for name := range properties {
		if !slices.Contains(required, any(name)) {
			return false
		}
	}
	return true
}

// SchemaPrompt is what tells a model of a schema that its server cannot be told of.
func SchemaPrompt(schema json.RawMessage) string {
	return "Answer with one JSON value that fits this JSON schema, and with nothing else: no prose and no code fence.\n\n" + string(schema)
}

// IsText reports whether data of a type can be told as text.
func IsText(mime string) bool {
	mime, _, _ = strings.Cut(mime, ";")
	switch strings.TrimSpace(mime) {
	case "", "application/json", "application/yaml", "application/xml", "application/javascript":
		return true
	}
	return strings.HasPrefix(mime, "text/") || strings.HasSuffix(mime, "+json") || strings.HasSuffix(mime, "+xml")
}

// PartText is a part as text: its name and what it holds, where that is text, or
// where it is. Of other data it says what it is.
func PartText(p *troupe.Part) string {
	text := string(p.Data)
	switch {
	case len(p.Data) == 0 && p.URL != "":
		text = p.URL
	case !IsText(p.MIME):
		text = fmt.Sprintf("(%s, %d bytes, which cannot be shown to this model)", p.MIME, len(p.Data))
	}
	if p.Name == "" {
		return text
	}
	return p.Name + ":\n" + text
}

// AppendContent adds a message's text, as a list where it has parts as well: first the
// text, if there is one, then the parts, each in the form that an API has for it.
func AppendContent(dst []byte, m *troupe.Message, text func(dst []byte, text string) []byte, part func(dst []byte, p *troupe.Part) []byte) []byte {
	if len(m.Parts) == 0 {
		return AppendString(dst, m.Text)
	}
	dst = append(dst, '[')
	if m.Text != "" {
		dst = append(text(dst, m.Text), ',')
	}
	for i := range m.Parts {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = part(dst, &m.Parts[i])
	}
	return append(dst, ']')
}

// AppendURL adds where a part is, or the part itself as a data URL.
func AppendURL(dst []byte, p *troupe.Part) []byte {
	if len(p.Data) == 0 {
		return AppendString(dst, p.URL)
	}
	dst = append(dst, `"data:`...)
	dst = AppendEscaped(dst, p.MIME)
	dst = append(dst, ";base64,"...)
	dst = base64.StdEncoding.AppendEncode(dst, p.Data)
	return append(dst, '"')
}

// Refuse returns an error if extra parameters have a name that the client sets
// itself.
func Refuse(pkg string, extra map[string]any, own ...string) error {
	for _, name := range own {
		if _, ok := extra[name]; ok {
			return fmt.Errorf("%s: extra parameter %s: the client sets it itself", pkg, name)
		}
	}
	return nil
}

// ShownAfter is a message of the user with the pictures and files that the tools of a
// turn returned, for servers that take none in a tool's message. It follows the last
// message of the turn, and is nil after others, and where there are none that the
// function picks.
func ShownAfter(messages []*troupe.Message, last int, picks func(*troupe.Part) bool) *troupe.Message {
	if messages[last].Role != troupe.RoleTool || last+1 < len(messages) && messages[last+1].Role == troupe.RoleTool {
		return nil
	}
	var parts []troupe.Part
	var from []string
	for i := last; i >= 0 && messages[i].Role == troupe.RoleTool; i-- {
		var own []troupe.Part
		for _, p := range messages[i].Parts {
			if picks(&p) {
				own = append(own, p)
			}
		}
		if own != nil {
			parts = append(own, parts...)
			from = append([]string{messages[i].Tool}, from...)
		}
	}
	if parts == nil {
		return nil
	}
	return &troupe.Message{Role: troupe.RoleUser, Text: "This was returned by " + strings.Join(from, ", ") + ":", Parts: parts}
}
