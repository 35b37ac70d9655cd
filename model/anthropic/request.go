package anthropic

import (
	"maps"
	"slices"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// cacheMark stands in place of the brace at the end of a block, and asks to cache
// all up to there.
const cacheMark = `,"cache_control":{"type":"ephemeral"}}`

// parts are the pieces of a request's body, in order. The messages and the tools
// among them were encoded when they were first sent, and are neither encoded again
// nor copied.
func (m *Model) parts(req *troupe.Request, form messageForm) ([][]byte, error) {
	b := body{form: form}
	head, err := m.head(req)
	if err != nil {
		return nil, err
	}
	b.add(head)
	system := 0
	for system < len(req.Messages) && req.Messages[system].Role == troupe.RoleSystem {
		system++
	}
	marks := m.marks(req, system)
	b.system(req.Messages[:system], marks)
	if req.Params != nil && len(req.Params.Schema) > 0 && !m.bindsTo(req.Params.Schema) {
		b.schema(wire.SchemaPrompt(req.Params.Schema))
	}
	b.endSystem()
	b.messages(req.Messages[system:], system, marks)
	if req.Tools.Len() > 0 {
		tools := req.Tools.Encoded(toolsEncoder{}, encodeTools)
		if marks == nil {
			b.add(tools)
		} else {
			b.add(tools[:len(tools)-len("}]")], []byte(cacheMark), []byte("]"))
		}
	}
	b.add([]byte("}"))
	return b.parts, nil
}

// toolsEncoder is what the encoding of tools is kept under.
type toolsEncoder struct{}

// marks are the messages up to which the server is asked to cache its work: the
// last system message, and the last two others that it will see again and that are
// not its own. With the tools these are four, which is the most that it takes.
func (m *Model) marks(req *troupe.Request, system int) map[int]bool {
	if req.Stable <= 0 || m.has(noCache) {
		return nil
	}
	marks := map[int]bool{}
	if system > 0 {
		marks[system-1] = true
	}
	for i, left := min(req.Stable, len(req.Messages))-1, 2; i >= system && left > 0; i-- {
		if req.Messages[i].Role != troupe.RoleAssistant {
			marks[i] = true
			left--
		}
	}
	return marks
}

// A body is a request's body in the making.
type body struct {
	form  messageForm
	parts [][]byte
	// told says that the list of system texts was begun, role whose message is open.
	told bool
	role string
}

func (b *body) add(parts ...[]byte) { b.parts = append(b.parts, parts...) }

// encoded adds the blocks of a message, with a mark at their end if it has one.
func (b *body) encoded(blocks []byte, isMarked bool) {
	if !isMarked {
		b.add(blocks)
		return
	}
	b.add(blocks[:len(blocks)-len("}")], []byte(cacheMark))
}

func (b *body) system(messages []*troupe.Message, marks map[int]bool) {
	for i, message := range messages {
		blocks := message.Encoded(b.form, b.form.encode)
		if len(blocks) == 0 {
			continue
		}
		b.encoded(b.beginSystem(blocks), marks[i])
	}
}

// beginSystem opens the list of system texts, or leaves it open, and returns blocks
// as they go on with it.
func (b *body) beginSystem(blocks []byte) []byte {
	if b.told {
		return blocks
	}
	b.told = true
	b.add([]byte(`"system":[`))
	return blocks[len(","):]
}

func (b *body) schema(prompt string) { b.add(b.beginSystem(appendText(nil, prompt))) }

func (b *body) endSystem() {
	if b.told {
		b.add([]byte("],"))
	}
}

// messages adds the conversation. Roles alternate in it: what follows in the same
// role, as the results of one turn do, goes into one message. The user begins.
func (b *body) messages(messages []*troupe.Message, first int, marks map[int]bool) {
	b.add([]byte(`"messages":[`))
	for i, message := range messages {
		blocks := message.Encoded(b.form, b.form.encode)
		if len(blocks) == 0 {
			continue
		}
		role := "user"
		if message.Role == troupe.RoleAssistant {
			role = "assistant"
		}
		if role == "assistant" && b.role == "" {
			b.open("user")
			b.add(appendText(nil, "(The conversation begins.)")[len(","):])
		}
		if role != b.role {
			b.open(role)
			blocks = blocks[len(","):]
		}
		b.encoded(blocks, marks[first+i])
	}
	if b.role != "" {
		b.add([]byte("]}"))
	}
	b.add([]byte("]"))
}

func (b *body) open(role string) {
	if b.role != "" {
		b.add([]byte("]},"))
	}
	b.role = role
	b.add([]byte(`{"role":"` + role + `","content":[`))
}

// head is the beginning of a request, up to its system texts.
func (m *Model) head(req *troupe.Request) ([]byte, error) {
	p := req.Params
	if p == nil {
		p = &troupe.Params{}
	}
	if err := wire.Refuse("anthropic", p.Extra, "messages", "system", "stream", "tools"); err != nil {
		return nil, err
	}
	f := wire.Fields{Data: []byte{'{'}, Package: "anthropic", Except: p.Extra}
	switch m.place {
	case bedrock:
		f.Add("anthropic_version", "bedrock-2023-05-31")
	case vertex:
		f.Add("anthropic_version", "vertex-2023-10-16")
		f.Add("stream", true)
	default:
		f.Add("model", m.name)
		f.Add("stream", true)
	}
	t := m.thinking(p)
	f.Add("max_tokens", t.maxTokens)
	if t.thinking != nil {
		f.Add("thinking", t.thinking)
	}
	if output := m.outputConfig(p, t.effort); output != nil {
		f.Add("output_config", output)
	}
	if _, own := p.Extra["thinking"]; !own && !t.isOn && !m.known.NoTemperature && !m.has(noTemperature) {
		if p.Temperature != nil {
			f.Add("temperature", min(*p.Temperature, 1))
		}
		if p.TopP != nil {
			f.Add("top_p", *p.TopP)
		}
	}
	if len(p.Stop) > 0 {
		f.Add("stop_sequences", p.Stop)
	}
	if p.Seed != nil {
		m.client.Note("the Messages API has no seed: it is left out")
	}
	f.Except = nil
	for _, name := range slices.Sorted(maps.Keys(p.Extra)) {
		f.Add(name, p.Extra[name])
	}
	return f.Data, f.Err
}
