package sdks

import (
	"net/http"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wiretest"
	"github.com/troupe-dev/troupe/model/openai"
)

func openChat(client *http.Client) (troupe.Model, error) {
	return openai.New(openai.Config{Model: "m", Key: "k", HTTPClient: client})
}

func TestChatCompletionsAreReadAlike(t *testing.T) { chatPeer().compare(t, wiretest.ChatRecordings(t)) }

func chatPeer() *peer {
	hello := sdk.ChatCompletionNewParams{Model: "m", Messages: []sdk.ChatCompletionMessageParamUnion{sdk.UserMessage("hello")}}
	return &peer{
		ours: openChat,
		stream: func(t *testing.T, client *http.Client) (answer, error) {
			c := openaiClient(client)
			stream := c.Chat.Completions.NewStreaming(t.Context(), hello)
			defer stream.Close()
			var all sdk.ChatCompletionAccumulator
			for stream.Next() {
				all.AddChunk(stream.Current())
			}
			return ofCompletion(&all.ChatCompletion), stream.Err()
		},
		whole: func(t *testing.T, client *http.Client) (answer, error) {
			c := openaiClient(client)
			completion, err := c.Chat.Completions.New(t.Context(), hello)
			if err != nil {
				return answer{}, err
			}
			return ofCompletion(completion), nil
		},
		leavesOut: func(r *wiretest.Recording) string {
			if why := misread[r.Name]; why != "" {
				return why
			}
			if strings.Contains(r.Response.Body, `"content":[`) || strings.Contains(r.Response.Body, `"content": [`) {
				return "text as a list of parts, which the SDK does not know"
			}
			return wiretest.NotAChat(r)
		},
		// The SDK knows of no reasoning.
		knows: func(_ *wiretest.Recording, ours, _ *answer) { ours.Thought = "" },
		wants: 330,
	}
}

// misread are answers in shapes that the SDK, which is made for OpenAI's own, takes for
// something else.
var misread = map[string]string{
	"exchanges.jsonl:90":  "a name that comes twice, which the SDK joins",
	"exchanges.jsonl:178": "a call that the SDK does not find",
	"openai-compatible/chat/anthropic-fallback-tool-call.sse": "calls that begin at index 1, which the SDK puts an empty one before",
}

func ofCompletion(c *sdk.ChatCompletion) (a answer) {
	if len(c.Choices) == 0 {
		return a
	}
	a.Text = c.Choices[0].Message.Content
	for _, made := range c.Choices[0].Message.ToolCalls {
		a.Calls = append(a.Calls, newCall(made.Function.Name, made.Function.Arguments))
	}
	return a
}

func TestChatRequestsAreDecoded(t *testing.T) {
	survives(t, sent(t, openChat, conversation(t)), &sdk.ChatCompletionNewParams{}, "stream")
}
