package mcp

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/troupe-dev/troupe"
)

func TestResultsBecomeText(t *testing.T) {
	text := func(s string) sdk.Content { return &sdk.TextContent{Text: s} }
	resource := func(r *sdk.ResourceContents) sdk.Content { return &sdk.EmbeddedResource{Resource: r} }
	structured := map[string]any{"a": 1.0, "b": "<x>"}
	for want, answer := range map[string]*sdk.CallToolResult{
		"":         {},
		"one\ntwo": {Content: []sdk.Content{text("one"), text("two")}},
		"[image image/png, 5 bytes]\n[audio of unknown type, 2 bytes]": {Content: []sdk.Content{
			&sdk.ImageContent{MIMEType: "image/png", Data: []byte("bytes")}, &sdk.AudioContent{Data: []byte("ab")},
		}},
		"[resource notes: file:///n.md]":           {Content: []sdk.Content{&sdk.ResourceLink{Name: "notes", URI: "file:///n.md"}}},
		"[resource x:y]\nhello":                    {Content: []sdk.Content{resource(&sdk.ResourceContents{URI: "x:y", Text: "hello"})}},
		"[resource x:z application/gzip, 3 bytes]": {Content: []sdk.Content{resource(&sdk.ResourceContents{URI: "x:z", MIMEType: "application/gzip", Blob: []byte("abc")})}},
		"[resource]":                        {Content: []sdk.Content{resource(nil)}},
		`{"a":1,"b":"<x>"}`:                 {StructuredContent: structured},
		`{ "b": "<x>", "a": 1 }`:            {StructuredContent: structured, Content: []sdk.Content{text(`{ "b": "<x>", "a": 1 }`)}},
		"A is one.\n" + `{"a":1,"b":"<x>"}`: {StructuredContent: structured, Content: []sdk.Content{text("A is one.")}},
		"the text":                          {StructuredContent: map[string]any{"content": "the text"}, Content: []sdk.Content{text("the text")}},
		"the text\n" + `{"content":"the text","status":0}`: {StructuredContent: map[string]any{"content": "the text", "status": 0.0}, Content: []sdk.Content{text("the text")}},
	} {
		if result, err := resultOf(answer); err != nil || result.Content != want {
			t.Errorf("%q, %v; not %q", result.Content, err, want)
		}
	}
}

// The model is shown images as it is those of other tools, and told of them in words, too.
func TestImagesOfResultsAreShown(t *testing.T) {
	png, gif := []byte("\x89PNG\x0D\x0A\x1A\x0A rest"), []byte("GIF89a rest")
	result, err := resultOf(&sdk.CallToolResult{Content: []sdk.Content{
		&sdk.TextContent{Text: "Here."}, &sdk.ImageContent{MIMEType: "image/png", Data: png}, &sdk.ImageContent{MIMEType: "image/png", Data: gif},
		&sdk.ImageContent{MIMEType: "image/png", Data: []byte("<svg/>")}, &sdk.ImageContent{MIMEType: "image/jpeg"}, &sdk.AudioContent{MIMEType: "image/png", Data: png},
		&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "x:y", MIMEType: "image/png", Blob: png}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []troupe.Part{{MIME: "image/png", Data: png}, {MIME: "image/gif", Data: gif}}
	if !reflect.DeepEqual(result.Parts, want) {
		t.Errorf("the model is shown %+v", result.Parts)
	}
	if !strings.HasPrefix(result.Content, "Here.\n[image image/png, 13 bytes]\n") {
		t.Errorf("the model is told %q", result.Content)
	}
}

func TestAnErrorWithoutTextSaysSo(t *testing.T) {
	_, err := resultOf(&sdk.CallToolResult{IsError: true})
	if failure, ok := err.(*troupe.ToolError); !ok || failure.Class != "failed" || failure.Message == "" {
		t.Errorf("the error is %#v", err)
	}
}

func TestAToolThatWantsInputFails(t *testing.T) {
	var answer sdk.CallToolResult
	wire := `{"resultType":"input_required","inputRequests":{"1":{"method":"elicitation/create","params":{"message":"your password?"}}}}`
	if err := json.Unmarshal([]byte(wire), &answer); err != nil {
		t.Fatal(err)
	}
	if _, err := resultOf(&answer); err == nil {
		t.Error("there is no error")
	}
}
