package sdks

import (
	"net/http"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wiretest"
	"github.com/troupe-dev/troupe/model/anthropic"
)

func openAnthropic(client *http.Client) (troupe.Model, error) {
	return anthropic.New(anthropic.Config{Model: "claude-opus-4-5", Key: "k", HTTPClient: client})
}

func anthropicClient(client *http.Client) sdk.Client {
	return sdk.NewClient(option.WithHTTPClient(client), option.WithAPIKey("k"), option.WithMaxRetries(0), option.WithBaseURL("http://models.test"))
}

func TestAnthropicAnswersAreReadAlike(t *testing.T) {
	anthropicPeer().compare(t, wiretest.Recordings(t, "anthropic"))
}

func anthropicPeer() *peer {
	hello := sdk.MessageNewParams{Model: "m", MaxTokens: 10, Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewTextBlock("hello"))}}
	return &peer{
		ours: openAnthropic,
		stream: func(t *testing.T, client *http.Client) (answer, error) {
			c := anthropicClient(client)
			stream := c.Messages.NewStreaming(t.Context(), hello)
			defer stream.Close()
			var m sdk.Message
			for stream.Next() {
				if err := m.Accumulate(stream.Current()); err != nil {
					return answer{}, err
				}
			}
			return ofMessage(&m), stream.Err()
		},
		whole: func(t *testing.T, client *http.Client) (answer, error) {
			c := anthropicClient(client)
			m, err := c.Messages.New(t.Context(), hello)
			if err != nil {
				return answer{}, err
			}
			return ofMessage(m), nil
		},
		leavesOut: func(r *wiretest.Recording) string {
			switch {
			case strings.Contains(r.Request.URL, "count_tokens"):
				return "tokens were counted"
			case r.Facts.StopWord == "pause_turn":
				return "a turn that goes on, which is a passing failure to Troupe"
			}
			return r.Facts.Unsure
		},
		wants: 250,
	}
}

func ofMessage(m *sdk.Message) (a answer) {
	for _, block := range m.Content {
		switch b := block.AsAny().(type) {
		case sdk.TextBlock:
			a.Text += b.Text
		case sdk.ThinkingBlock:
			a.Thought += b.Thinking
		case sdk.ToolUseBlock:
			a.Calls = append(a.Calls, newCall(b.Name, string(b.Input)))
		}
	}
	return a
}

func TestAnthropicRequestsAreDecoded(t *testing.T) {
	survives(t, sent(t, openAnthropic, conversation(t)), &sdk.MessageNewParams{}, "stream")
}
