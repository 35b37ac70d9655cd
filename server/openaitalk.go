package server

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/troupe-dev/troupe"
)

// A chatTurn is one message of a conversation that a client sends as a whole, again
// and again.
type chatTurn struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content,omitempty"`
}

// A piece is a part of a chatTurn that is not a plain text.
type piece struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Refusal  string `json:"refusal"`
	ImageURL struct {
		URL string `json:"url"`
	} `json:"image_url"`
	File struct {
		Filename string `json:"filename"`
		FileData string `json:"file_data"`
	} `json:"file"`
}

// A talk is such a conversation, taken apart: what was said before, and what the
// user says now.
type talk struct {
	instructions, earlier string
	text                  string
	parts                 []troupe.Part
	// before is the key of the conversation up to what the agent said last, the zero
	// key if it has said nothing yet, and whole that of all of it.
	before, whole talkKey
}

// A talkKey tells conversations apart: by who has them, with whom, and by every word.
type talkKey [sha256.Size]byte

// A talkPlace is where a conversation is on record.
type talkPlace struct {
	session string
	seq     int64
}

// with returns the key of the conversation that goes on with another message. How
// much white space is around it makes no difference, and clients differ in it.
func (k talkKey) with(role, text string, parts []troupe.Part) talkKey {
	h := sha256.New()
	h.Write(k[:])
	fmt.Fprintf(h, "%q%q", role, strings.TrimSpace(text))
	for _, p := range parts {
		fmt.Fprintf(h, "%q%q%x", p.MIME, p.URL, sha256.Sum256(p.Data))
	}
	return talkKey(h.Sum(nil))
}

// parseTalk takes a user's conversation apart.
func parseTalk(user string, in *completionRequest) (*talk, error) {
	t := &talk{whole: talkKey{}.with(user, in.Model, nil).with("user", in.User, nil)}
	last := 0 // where what is said now begins
	for i, m := range in.Messages {
		if m.Role == "assistant" {
			last = i + 1
		}
	}
	var earlier, instructions, now []string
	for i, m := range in.Messages {
		text, parts, err := m.parse()
		if err != nil {
			return nil, badMessage("message %d: %v", i, err)
		}
		t.whole = t.whole.with(m.Role, text, parts)
		if i < last {
			t.before = t.whole
		}
		switch isInstruction := m.Role == "system" || m.Role == "developer"; {
		case !isInstruction && m.Role != "user" && m.Role != "assistant":
			return nil, badMessage("message %d: the role %.40q is not one that an agent knows", i, m.Role)
		case isInstruction && (i < last || last == 0):
			instructions = append(instructions, text)
		case i < last:
			earlier = append(earlier, m.Role+": "+text)
		default:
			now = append(now, text)
			t.parts = append(t.parts, parts...)
		}
	}
	t.instructions, t.earlier, t.text = strings.Join(instructions, "\n\n"), strings.Join(earlier, "\n\n"), strings.Join(now, "\n\n")
	if strings.TrimSpace(t.text) == "" && t.parts == nil {
		return nil, badMessage("the last message must be the user's, and say something")
	}
	return t, nil
}

func badMessage(format string, args ...any) error {
	return refuse(http.StatusBadRequest, format, args...).concerning("messages", "invalid_value")
}

// parse returns what a message says.
func (m *chatTurn) parse() (text string, parts []troupe.Part, err error) {
	if len(m.Content) == 0 || string(m.Content) == "null" {
		return "", nil, nil
	}
	if json.Unmarshal(m.Content, &text) == nil {
		return text, nil, nil
	}
	var pieces []piece
	if err := json.Unmarshal(m.Content, &pieces); err != nil {
		return "", nil, errors.New("its content is neither a text nor a list of parts")
	}
	var texts []string
	for _, p := range pieces {
		switch p.Type {
		case "text", "refusal":
			texts = append(texts, p.Text+p.Refusal)
		case "image_url":
			part, err := partOf(p.ImageURL.URL, "image/*")
			if err != nil {
				return "", nil, err
			}
			parts = append(parts, part)
		case "file":
			part, err := partOf(p.File.FileData, "")
			if err != nil {
				return "", nil, err
			}
			part.Name = p.File.Filename
			parts = append(parts, part)
		default:
			return "", nil, fmt.Errorf("an agent takes no part of type %.40q", p.Type)
		}
	}
	return strings.Join(texts, "\n\n"), parts, nil
}

// partOf returns what a data URL holds, or an address on the web as it is, where
// something of that type may be one.
func partOf(address, media string) (troupe.Part, error) {
	if media != "" && strings.HasPrefix(address, "https://") {
		return troupe.Part{MIME: media, URL: address}, nil
	}
	rest, isData := strings.CutPrefix(address, "data:")
	mime, encoded, isBase64 := strings.Cut(rest, ";base64,")
	data, err := base64.StdEncoding.DecodeString(encoded)
	if !isData || !isBase64 || err != nil || len(data) == 0 {
		return troupe.Part{}, errors.New("an attachment is neither a data URL with base64 nor an https address of an image")
	}
	return troupe.Part{MIME: mime, Data: data}, nil
}
