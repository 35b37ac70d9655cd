package sdks

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	sdk "github.com/openai/openai-go/v3/responses"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wiretest"
	"github.com/troupe-dev/troupe/model/responses"
)

func openResponses(client *http.Client) (troupe.Model, error) {
	return responses.New(responses.Config{Model: "gpt-4.1", Key: "k", HTTPClient: client})
}

func openaiClient(client *http.Client) openai.Client {
	return openai.NewClient(option.WithHTTPClient(client), option.WithAPIKey("k"), option.WithMaxRetries(0), option.WithBaseURL("http://models.test/v1"))
}

func TestResponsesAreReadAlike(t *testing.T) {
	responsesPeer().compare(t, wiretest.Recordings(t, "responses"))
}

func responsesPeer() *peer {
	hello := sdk.ResponseNewParams{Model: "m", Input: sdk.ResponseNewParamsInputUnion{OfString: openai.String("hello")}}
	return &peer{
		ours: openResponses,
		stream: func(t *testing.T, client *http.Client) (a answer, err error) {
			c := openaiClient(client)
			stream := c.Responses.NewStreaming(t.Context(), hello)
			defer stream.Close()
			for stream.Next() {
				switch e := stream.Current(); e.Type {
				case "response.output_text.delta":
					a.Text += e.Delta
				case "response.output_item.done":
					if e.Item.Type == "function_call" {
						made := e.Item.AsFunctionCall()
						a.Calls = append(a.Calls, newCall(made.Name, made.Arguments))
					}
				}
			}
			return a, stream.Err()
		},
		whole: func(t *testing.T, client *http.Client) (a answer, err error) {
			c := openaiClient(client)
			r, err := c.Responses.New(t.Context(), hello)
			if err != nil {
				return a, err
			}
			a.Text = r.OutputText()
			for _, item := range r.Output {
				if item.Type == "function_call" {
					made := item.AsFunctionCall()
					a.Calls = append(a.Calls, newCall(made.Name, made.Arguments))
				}
			}
			return a, nil
		},
		leavesOut: func(r *wiretest.Recording) string {
			switch {
			case r.Facts.Error != nil:
				return "a failure, which the SDK leaves to its user to find"
			case strings.Count(r.Response.Body, `"type":"response.completed"`) > 1:
				return "several answers in one file"
			}
			return r.Facts.Unsure
		},
		// The SDK leaves it to its user to put the summaries of reasoning together.
		knows: func(_ *wiretest.Recording, ours, _ *answer) { ours.Thought = "" },
		wants: 230,
	}
}

// The SDK decodes the items of the input one by one.
func TestResponsesRequestsAreDecoded(t *testing.T) {
	body := sent(t, openResponses, conversation(t))
	survives(t, body, &sdk.ResponseNewParams{}, "stream", "input")
	var request struct{ Input []json.RawMessage }
	if err := json.Unmarshal(body, &request); err != nil || len(request.Input) < 8 {
		t.Fatalf("%d items, %v", len(request.Input), err)
	}
	for _, item := range request.Input {
		if !strings.Contains(string(item), `"type":`) || strings.HasPrefix(string(item), `{"role":`) {
			survives(t, item, &sdk.EasyInputMessageParam{}) // those that need no type
			continue
		}
		survives(t, item, &sdk.ResponseInputItemUnionParam{})
	}
}
