package openai

import (
	"encoding/base64"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// appendContent adds a message's text, as an array where it has parts as well.
func appendContent(dst []byte, m *troupe.Message) []byte {
	return wire.AppendContent(append(dst, `,"content":`...), m, appendTextPart, appendPart)
}

// appendPart adds a part in the form the API has for its type: pictures, sound and
// documents have one, and everything else is told as text.
func appendPart(dst []byte, p *troupe.Part) []byte {
	kind, _, _ := strings.Cut(p.MIME, "/")
	switch {
	case kind == "image":
		dst = append(dst, `{"type":"image_url","image_url":{"url":`...)
		return append(wire.AppendURL(dst, p), "}}"...)
	case len(p.Data) == 0 && p.URL != "" || wire.IsText(p.MIME):
		return appendTextPart(dst, wire.PartText(p))
	case soundFormat(p.MIME) != "":
		dst = append(dst, `{"type":"input_audio","input_audio":{"format":"`+soundFormat(p.MIME)+`","data":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, p.Data)
		return append(dst, `"}}`...)
	}
	dst = append(dst, `{"type":"file","file":{"filename":`...)
	dst = wire.AppendString(dst, p.Name)
	dst = append(dst, `,"file_data":`...)
	return append(wire.AppendURL(dst, p), "}}"...)
}

func appendTextPart(dst []byte, text string) []byte {
	dst = append(dst, `{"type":"text","text":`...)
	return append(wire.AppendString(dst, text), '}')
}

func soundFormat(mime string) string {
	switch mime {
	case "audio/wav", "audio/x-wav", "audio/wave":
		return "wav"
	case "audio/mpeg", "audio/mp3":
		return "mp3"
	}
	return ""
}

// resultText is what a tool returned, as far as it is text: the API takes nothing
// else in a tool's message.
func resultText(m *troupe.Message) string {
	text := m.Text
	for i := range m.Parts {
		if p := &m.Parts[i]; isResultText(p) {
			text = strings.TrimPrefix(text+"\n\n"+wire.PartText(p), "\n\n")
		}
	}
	return text
}

func isResultText(p *troupe.Part) bool {
	return len(p.Data) > 0 && wire.IsText(p.MIME) || len(p.Data) == 0 && !strings.HasPrefix(p.MIME, "image/")
}
