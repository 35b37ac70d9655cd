package sdks

import (
	"encoding/json"
	"net/http"
	"testing"

	"google.golang.org/genai"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wiretest"
	"github.com/troupe-dev/troupe/model/gemini"
)

func openGemini(client *http.Client) (troupe.Model, error) {
	return gemini.New(gemini.Config{Model: "gemini-2.5-flash", Key: "k", HTTPClient: client})
}

func geminiClient(t *testing.T, client *http.Client) *genai.Client {
	t.Helper()
	c, err := genai.NewClient(t.Context(), &genai.ClientConfig{APIKey: "k", Backend: genai.BackendGeminiAPI, HTTPClient: client})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestGeminiAnswersAreReadAlike(t *testing.T) {
	geminiPeer().compare(t, wiretest.Recordings(t, "gemini"))
}

func geminiPeer() *peer {
	return &peer{
		ours: openGemini,
		stream: func(t *testing.T, client *http.Client) (a answer, err error) {
			for response, err := range geminiClient(t, client).Models.GenerateContentStream(t.Context(), "m", genai.Text("hello"), nil) {
				if err != nil {
					return answer{}, err
				}
				a.addParts(response)
			}
			return a, nil
		},
		whole: func(t *testing.T, client *http.Client) (a answer, err error) {
			response, err := geminiClient(t, client).Models.GenerateContent(t.Context(), "m", genai.Text("hello"), nil)
			if err != nil {
				return answer{}, err
			}
			a.addParts(response)
			return a, nil
		},
		leavesOut: func(r *wiretest.Recording) string {
			switch {
			case r.Facts.Error != nil:
				return "a failure, which the SDK leaves to its user to find"
			case r.Facts.StopWord == "UNEXPECTED_TOOL_CALL":
				return "a call of no tool that there is, which is a passing failure to Troupe"
			}
			return r.Facts.Unsure
		},
		wants: 200,
	}
}

func (a *answer) addParts(response *genai.GenerateContentResponse) {
	if len(response.Candidates) == 0 || response.Candidates[0].Content == nil {
		return
	}
	for _, part := range response.Candidates[0].Content.Parts {
		switch {
		case part.FunctionCall != nil:
			arguments := part.FunctionCall.Args
			if arguments == nil {
				arguments = map[string]any{}
			}
			text, _ := json.Marshal(arguments)
			a.Calls = append(a.Calls, newCall(part.FunctionCall.Name, string(text)))
		case part.Thought:
			a.Thought += part.Text
		default:
			a.Text += part.Text
		}
	}
}

// The SDK has a type for every part of a request, and none for the whole.
func TestGeminiRequestsAreDecoded(t *testing.T) {
	var request struct {
		Contents          []*genai.Content        `json:"contents,omitempty"`
		SystemInstruction *genai.Content          `json:"systemInstruction,omitempty"`
		Tools             []*genai.Tool           `json:"tools,omitempty"`
		ToolConfig        *genai.ToolConfig       `json:"toolConfig,omitempty"`
		GenerationConfig  *genai.GenerationConfig `json:"generationConfig,omitempty"`
	}
	survives(t, sent(t, openGemini, conversation(t)), &request)
}
