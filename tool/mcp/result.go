package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe"
)

// resultOf returns what the model is told of an answer, and the images that it is shown. The
// engine caps the text; images are no larger than maxFrame lets them be.
func resultOf(answer *sdk.CallToolResult) (troupe.Result, error) {
	if answer.NeedsInput() {
		return troupe.Result{}, &troupe.ToolError{Class: "failed", Message: "the tool asks for further input, which it cannot be given"}
	}
	text := textOf(answer)
	if answer.IsError {
		return troupe.Result{}, &troupe.ToolError{Class: "failed", Message: cmp.Or(text, "the tool failed and does not say why")}
	}
	return troupe.Result{Content: text, Parts: imagesOf(answer)}, nil
}

// imagesOf returns the images of an answer that models can be shown: those that are by their
// first bytes of a kind that providers take. A server is not trusted to say what they are, and
// a request with anything else would be refused as a whole, in this turn and all that follow.
func imagesOf(answer *sdk.CallToolResult) (parts []troupe.Part) {
	for _, part := range answer.Content {
		image, ok := part.(*sdk.ImageContent)
		if !ok {
			continue
		}
		switch mime := http.DetectContentType(image.Data); mime {
		case "image/png", "image/jpeg", "image/gif", "image/webp":
			parts = append(parts, troupe.Part{MIME: mime, Data: image.Data})
		}
	}
	return parts
}

// textOf joins the parts of an answer. Its structured content is added unless a
// part says the same, as the protocol recommends.
func textOf(answer *sdk.CallToolResult) string {
	var parts []string
	said := answer.StructuredContent == nil
	for _, part := range answer.Content {
		text := partText(part)
		parts = append(parts, text)
		said = said || says(text, answer.StructuredContent)
	}
	if !said {
		// It was decoded from JSON: it can be encoded.
		structured, _ := encode(answer.StructuredContent)
		parts = append(parts, string(structured))
	}
	return strings.Join(parts, "\n")
}

// says reports whether text is value as JSON, or all that value holds: servers that
// have only text wrap it as {"content": text} to fit a schema.
func says(text string, value any) bool {
	if fields, ok := value.(map[string]any); ok && len(fields) == 1 {
		for _, field := range fields {
			if field == text {
				return true
			}
		}
	}
	var read any
	return json.Unmarshal([]byte(text), &read) == nil && reflect.DeepEqual(read, value)
}

// partText returns a part's text, and of one that is no text what it is.
func partText(part sdk.Content) string {
	switch part := part.(type) {
	case *sdk.TextContent:
		return part.Text
	case *sdk.ImageContent:
		return binary("image", part.MIMEType, len(part.Data))
	case *sdk.AudioContent:
		return binary("audio", part.MIMEType, len(part.Data))
	case *sdk.ResourceLink:
		return fmt.Sprintf("[resource %s: %s]", part.Name, part.URI)
	case *sdk.EmbeddedResource:
		switch r := part.Resource; {
		case r == nil:
			return "[resource]"
		case r.Text != "":
			return fmt.Sprintf("[resource %s]\n%s", r.URI, r.Text)
		default:
			return binary("resource "+r.URI, r.MIMEType, len(r.Blob))
		}
	default:
		return "[content of an unknown kind]"
	}
}

func binary(what, mime string, size int) string {
	return fmt.Sprintf("[%s %s, %d bytes]", what, cmp.Or(mime, "of unknown type"), size)
}
