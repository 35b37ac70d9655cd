package openai

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/wire"
)

// hear reads an answer to a request that offers the tools f and g.
func hear(t *testing.T, c Config, server *canned) heard {
	t.Helper()
	c.HTTPClient = &http.Client{Transport: server}
	if c.Model == "" {
		c.Model = "m"
	}
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return listen(t.Context(), m, &troupe.Request{Messages: hello().Messages, Tools: offering(t, "f", "g")})
}

func TestOddCallsArePutTogether(t *testing.T) {
	one := func(arguments string) []troupe.ToolCall { return []troupe.ToolCall{tool("a", "f", arguments)} }
	tests := map[string]struct {
		payloads []string
		want     []troupe.ToolCall
	}{
		"complete and again in pieces": {[]string{
			calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"n\": 1}"}}`),
			calling(`{"index":0,"function":{"arguments":"{\"n\""}}`), calling(`{"index":0,"function":{"arguments":": 1}"}}`)}, one(`{"n": 1}`)},
		"complete and the beginning again": {[]string{
			calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"n\": 1}"}}`), calling(`{"index":0,"function":{"arguments":"{\"n"}}`)}, one(`{"n": 1}`)},
		"a lone brace, then all": {[]string{
			calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}`), calling(`{"index":0,"function":{"arguments":"{\"n\":1}"}}`)}, one(`{"n":1}`)},
		"growing by repetition, with a string open": {[]string{
			calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"s\":\"x"}}`), calling(`{"index":0,"function":{"arguments":"{\"s\":\"xy"}}`),
			calling(`{"index":0,"function":{"arguments":"{\"s\":\"xyz\"}"}}`)}, one(`{"s":"xyz"}`)},
		"a piece that is like all before, and yet new": {[]string{
			calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"n\":"}}`), calling(`{"index":0,"function":{"arguments":"{\"n\":"}}`),
			calling(`{"index":0,"function":{"arguments":"1}}"}}`)}, one(`{"n":{"n":1}}`)},
		"cut inside an object": {[]string{
			calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"n\":"}}`), calling(`{"index":0,"function":{"arguments":"{\"m\":1}"}}`)}, one(`{"n":{"m":1}`)},
		"another id with each piece": {[]string{
			calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"n\""}}`), calling(`{"index":0,"id":"b","function":{"name":"f","arguments":":1}"}}`)}, one(`{"n":1}`)},
		"equal calls with ids of their own": {[]string{
			calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), calling(`{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}`)},
			[]troupe.ToolCall{tool("a", "f", "{}"), tool("b", "f", "{}")}},
		"equal calls in one list": {[]string{
			calling(`{"function":{"name":"f","arguments":"{}"}}`, `{"function":{"name":"f","arguments":"{}"}}`)},
			[]troupe.ToolCall{tool("call_1", "f", "{}"), tool("call_2", "f", "{}")}},
		"all calls again in the last chunk": {[]string{
			calling(`{"function":{"name":"f","arguments":"{\"n\":1}"}}`), calling(`{"function":{"name":"g","arguments":"{\"n\":2}"}}`),
			calling(`{"function":{"name":"f","arguments":"{\"n\": 1}"}}`, `{"function":{"name":"g","arguments":"{\"n\": 2}"}}`)},
			[]troupe.ToolCall{tool("call_1", "f", `{"n":1}`), tool("call_2", "g", `{"n":2}`)}},
		"one call, no list, numbers as text": {[]string{
			said(`"tool_calls":{"index":"1","id":12,"function":{"name":"f","arguments":{"n":1}}}`)}, []troupe.ToolCall{tool("12", "f", `{"n":1}`)}},
		"encoded twice": {[]string{
			calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"\"{\\\"n\\\":1}\""}}`)}, one(`{"n":1}`)},
		"null for nothing": {[]string{
			calling(`{"index":0,"id":"a","function":{"name":"f","arguments":"null"}}`)}, one(`{}`)},
		"one id for all": {[]string{
			calling(`{"id":"a","function":{"name":"f","arguments":"{}"}}`), calling(`{"id":"a","function":{"name":"g","arguments":"{}"}}`)},
			[]troupe.ToolCall{tool("a", "f", "{}"), tool("call_1", "g", "{}")}},
		"no object for the function": {[]string{
			said(`"tool_calls":[{"id":"a","name":"f","arguments":"{}"},"nonsense",null]`)}, one("{}")},
		"an empty function_call on every chunk": {[]string{
			said(`"content":"","function_call":{"name":"","arguments":""}`),
			said(`"function_call":{"name":"","arguments":""},"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]`)}, one("{}")},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := hear(t, Config{}, stream200(events(append(test.payloads, because("tool_calls"))...)))
			if diff := cmp.Diff(test.want, got.Calls); diff != "" || got.Err != nil || got.End == nil || got.End.Finish != troupe.FinishCalls {
				t.Errorf("%v, end %+v (-want +got)\n%s", got.Err, got.End, diff)
			}
		})
	}
}

func TestThoughtsInTheTextAreThoughts(t *testing.T) {
	for name, test := range map[string]struct {
		pieces        []string
		thought, text string
	}{
		"at once":                {[]string{"<think>why</think>so"}, "why", "so"},
		"in pieces":              {[]string{" <th", "ink>\n wh", "y? \n", "\nno </th", "en </think", ">\n\n", "so ", "be it"}, "why? \n\nno </then", "so be it"},
		"empty":                  {[]string{"<think>\n\n</think>\n\n", "so"}, "", "so"},
		"later":                  {[]string{"so <think>", "why</think>"}, "", "so <think>why</think>"},
		"like it":                {[]string{"<thi", "s> is it"}, "", "<this> is it"},
		"never ended":            {[]string{"<think>why", " not "}, "why not", ""},
		"white space first":      {[]string{"\n", " ", "so"}, "", "\n so"},
		"a lone end":             {[]string{"why</think>so"}, "", "why</think>so"},
		"a call is only started": {[]string{"<tool"}, "", "<tool"},

		"only its end":                   {[]string{"Let me", " see. ", "Two\n\n", "</thi", "nk>", "\n\n", "It is", " 2."}, "Let me see. Two", "It is 2."},
		"only its end, after a sentence": {[]string{"Two, so.", "</think>", "\n\nIt is 2."}, "Two, so.", "It is 2."},
		"only its end, at once":          {[]string{"why not\n</think>\n\nso"}, "why not", "so"},
		"only its end, and nothing else": {[]string{"\n</think>\n\n", "so"}, "", "so"},
		"its end in a sentence":          {[]string{"Thoughts end with ", "</think>", " in R1."}, "", "Thoughts end with </think> in R1."},
		"its end in quotes":              {[]string{"Look for `", "</think>", "`\nand cut."}, "", "Look for `</think>`\nand cut."},
		"its end in a code block":        {[]string{"Like so:\n``", "`\nhm\n</think>\n", "```\nDone."}, "", "Like so:\n```\nhm\n</think>\n```\nDone."},
		"both tags in a text":            {[]string{"Tags:\n<thi", "nk>\nhm\n</think>\nDone."}, "", "Tags:\n<think>\nhm\n</think>\nDone."},
	} {
		t.Run(name, func(t *testing.T) {
			var payloads []string
			for _, p := range test.pieces {
				payloads = append(payloads, said(`"content":`+quote(p)))
			}
			got := hear(t, Config{}, stream200(events(append(payloads, because("stop"))...)))
			if got.Text != test.text || got.Thought != test.thought || got.Err != nil || got.End.Finish != troupe.FinishStop {
				t.Errorf("text %q, thought %q, end %+v, %v", got.Text, got.Thought, got.End, got.Err)
			}
			back := string(encodeMessage(&troupe.Message{Role: troupe.RoleAssistant, Text: got.Text, Thought: got.Thought,
				ThoughtField: got.End.ThoughtField, Opaque: got.End.Opaque}, messageForm{host: "api.openai.com"}))
			if strings.Contains(back, "why") && test.thought != "" || got.Thought != "" && got.End.ThoughtField != thinkTag {
				t.Errorf("the thought is sent back: %s", back)
			}
		})
	}
}

func TestCallsInTheText(t *testing.T) {
	const hermes, fence = "<tool_call>\n{\"name\":\"f\",\"arguments\":{\"n\":1}}\n</tool_call>", "```json\n{\"name\": \"f\", \"arguments\": {\"n\":1}}\n```"
	one := []troupe.ToolCall{tool("call_1", "f", `{"n":1}`)}
	tests := map[string]struct {
		config Config
		pieces []string
		text   string
		calls  []troupe.ToolCall
	}{
		"nothing but a call":        {Config{}, []string{hermes}, "", one},
		"in pieces":                 {Config{}, []string{"<tool", "_call>{\"name\":\"f\",", "\"arguments\":{\"n\":1}}"}, "", one},
		"two":                       {Config{}, []string{hermes + "\n" + strings.Replace(hermes, `"f"`, `"g"`, 1)}, "", []troupe.ToolCall{tool("call_1", "f", `{"n":1}`), tool("call_2", "g", `{"n":1}`)}},
		"after a thought":           {Config{}, []string{"<think>hm</think>\n\n", hermes}, "", one},
		"with other text":           {Config{}, []string{"I call.\n", hermes}, "I call.\n" + hermes, nil},
		"not offered":               {Config{}, []string{strings.Replace(hermes, `"f"`, `"rm"`, 1)}, strings.Replace(hermes, `"f"`, `"rm"`, 1), nil},
		"with text behind":          {Config{}, []string{hermes, " so"}, hermes + " so", nil},
		"a fence":                   {Config{}, []string{fence}, fence, nil},
		"a fence, set":              {Config{TextCalls: TextCallsAlways}, []string{fence}, "", one},
		"a fence, known model":      {Config{Model: "qwen2.5-coder:7b"}, []string{"Let me see.\n", fence}, "Let me see.\n", one},
		"a call, but never":         {Config{Model: "qwen3", TextCalls: TextCallsNever}, []string{hermes}, hermes, nil},
		"bare, set":                 {Config{TextCalls: TextCallsAlways}, []string{`{"name":"f","parameters":{"n":1}}`}, "", one},
		"bare, of no tool":          {Config{TextCalls: TextCallsAlways}, []string{`{"name":"Ann","parameters":{"n":1}}`}, `{"name":"Ann","parameters":{"n":1}}`, nil},
		"elements":                  {Config{TextCalls: TextCallsAlways}, []string{"<tool_call>\n<function=f>\n<parameter=n>\n1\n</parameter>\n</function>\n</tool_call>"}, "", one},
		"a function element":        {Config{TextCalls: TextCallsAlways}, []string{`<function=f>{"n":1}</function>`}, "", one},
		"keys and values":           {Config{}, []string{"<tool_call>f\n<arg_key>n</arg_key>\n<arg_value>1</arg_value>\n</tool_call>"}, "", one},
		"a list":                    {Config{TextCalls: TextCallsAlways}, []string{`[TOOL_CALLS][{"name":"f","arguments":{"n":1}}]`}, "", one},
		"arguments as text":         {Config{}, []string{`<tool_call>{"name":"f","arguments":"{\"n\":1}"}</tool_call>`}, "", one},
		"broken arguments are text": {Config{}, []string{`<tool_call>{"name":"f","arguments":{"n":}}</tool_call>`}, `<tool_call>{"name":"f","arguments":{"n":}}</tool_call>`, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var payloads []string
			for _, p := range test.pieces {
				payloads = append(payloads, said(`"content":`+quote(p)))
			}
			got := hear(t, test.config, stream200(events(append(payloads, because("stop"))...)))
			if diff := cmp.Diff(test.calls, got.Calls); got.Text != test.text || got.Err != nil || diff != "" {
				t.Errorf("text %q, %v (-want +got)\n%s", got.Text, got.Err, diff)
			}
			want := troupe.FinishStop
			if test.calls != nil {
				want = troupe.FinishCalls
			}
			if got.End != nil && got.End.Finish != want {
				t.Errorf("finish %s", got.End.Finish)
			}
		})
	}
}

// What looks like a call and cannot be carried out is shown as what it is, and noted.
func TestCallsThatCannotBeCarriedOutAreNotedOnce(t *testing.T) {
	var log bytes.Buffer
	broken := `<tool_call>{"name":"f","arguments":{"n":}}</tool_call>`
	server := stream200(events(said(`"content":`+quote(broken)), because("stop")))
	m, err := New(Config{Model: "m", HTTPClient: &http.Client{Transport: server}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := listen(t.Context(), m, &troupe.Request{Messages: hello().Messages, Tools: offering(t, "f")}); got.Text != broken || got.Calls != nil {
			t.Errorf("%+v", got)
		}
	}
	if n := strings.Count(log.String(), "looks like a call"); n != 1 {
		t.Errorf("noted %d times:\n%s", n, &log)
	}
}

// A fence of a model that is known for calls in text is shown as it comes, once it
// is seen not to be a call.
func TestOrdinaryFencesAreNotKeptBack(t *testing.T) {
	payloads := []string{said(`"content":` + quote("Here:\n```json\n{\"title\": \"An ordinary document that is long enough to be told from a call\",")),
		said(`"content":` + quote(" \"more\": 1}\n```\nDone.")), because("stop")}
	got := hear(t, Config{Model: "qwen3"}, stream200(events(payloads...)))
	if !strings.HasSuffix(got.Text, "\n```\nDone.") || !strings.HasPrefix(got.Text, "Here:\n```json\n{") || strings.Count(got.Order, "t") < 2 {
		t.Errorf("%q in %s", got.Text, got.Order)
	}
}

func quote(text string) string { return string(wire.AppendString(nil, text)) }

// Mistyped members cost nothing but themselves, and are noted once.
func TestMistypedFieldsAreSkippedAndNotedOnce(t *testing.T) {
	var log bytes.Buffer
	server := stream200(events(
		`{"id":5,"model":["m"],"created":"now","choices":[{"index":"0","delta":{"role":7,"content":"a","refusal":{"x":1},"reasoning_content":["b"]},"logprobs":NaN,"finish_reason":null}],"usage":"none"}`,
		`{"id":5,"model":["m"],"choices":[{"index":0.0,"delta":{"content":[{"text":"b"},"c",{"type":"image"}]},"finish_reason":{"type":"stop"}}]}`,
		`{"choices":[],"usage":{"prompt_tokens":"7","completion_tokens":3,"prompt_tokens_details":[]}}`))
	m, err := New(Config{Model: "m", HTTPClient: &http.Client{Transport: server}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got := listen(t.Context(), m, hello())
		if got.Text != "abc" || got.Err != nil || got.End.Finish != troupe.FinishStop || got.End.Usage != (troupe.Usage{Input: 7, Output: 3}) {
			t.Errorf("got %+v, end %+v", got, got.End)
		}
	}
	if n := strings.Count(log.String(), "the field model"); n != 1 {
		t.Errorf("noted %d times:\n%s", n, &log)
	}
}

func TestErrorsInGoodAnswersInEveryPlace(t *testing.T) {
	hi := said(`"content":"hi"`)
	for name, test := range map[string]struct {
		stream, reason string
		temporary      bool
	}{
		"in the choice":        {events(hi, `{"choices":[{"index":0,"delta":{},"error":{"code":529,"message":"busy"},"finish_reason":"error"}]}`), "overloaded", true},
		"a field of its own":   {"data: " + hi + "\n\nerror: {\"code\":400,\"message\":\"the prompt exceeds the available context size\"}\n\n", "context", false},
		"a bare line":          {"data: " + hi + "\n\n{\"error\":{\"code\":429,\"message\":\"slow down\"}}\n", "rate", true},
		"an object of errors":  {events(`{"object":"error","message":"no such model","type":"NotFoundError","code":404}`), "model", false},
		"a type":               {events(hi, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), "overloaded", true},
		"a status of its own":  {events(`{"id":"x","choices":null,"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}`), "money", false},
		"Groq's own":           {events(hi, `{"choices":[],"x_groq":{"error":"over capacity, rate limit reached"}}`), "rate", true},
		"a detail":             {events(`{"detail":"invalid api key"}`), "key", false},
		"in an array":          {`[{"error":{"code":503,"message":"unavailable","status":"UNAVAILABLE"}}]`, "overloaded", true},
		"named":                {"event: error\ndata: {\"message\":\"content_filter\"}\n\n", "refused", false},
		"whole, other headers": {`{"error":"prompt too long; exceeded max context length by 4 tokens"}`, "context", false},
	} {
		t.Run(name, func(t *testing.T) {
			got := hear(t, Config{}, stream200(test.stream))
			e, ok := errors.AsType[*troupe.ModelError](got.Err)
			if !ok || e.Reason != test.reason || e.Temporary != test.temporary || got.End != nil || e.Message == "" {
				t.Errorf("got %#v", got.Err)
			}
			if isFull := test.reason == "context"; errors.Is(got.Err, troupe.ErrContextFull) != isFull {
				t.Errorf("a full context is %v", !isFull)
			}
		})
	}
	// What says nothing is no error.
	got := hear(t, Config{}, stream200("error: null\n\n"+events(`{"error":{"message":"","code":null,"param":0},"choices":[{"index":0,"delta":{},"error":false}]}`, `{"error":{},"choices":[{"index":0,"delta":{"content":"hi"},"error":null,"finish_reason":"stop"}],"base_resp":{"status_code":0}}`)))
	if got.Err != nil || got.Text != "hi" {
		t.Errorf("got %+v", got)
	}
}

func TestWaysToEnd(t *testing.T) {
	for name, test := range map[string]struct {
		stream string
		want   troupe.Finish
	}{
		"a number":              {events(said(`"content":"a"`), `{"choices":[{"index":0,"delta":{},"finish_reason":2}]}`), troupe.FinishLength},
		"capitals":              {events(said(`"content":"a"`), because("MAX_TOKENS")), troupe.FinishLength},
		"a hyphen":              {events(said(`"content":"a"`), because("content-filter")), troupe.FinishFiltered},
		"a recitation":          {events(because("RECITATION")), troupe.FinishFiltered},
		"empty, DONE":           {events(said(`"content":"a"`), because("")), troupe.FinishStop},
		"several lines, whole":  {"{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n", troupe.FinishStop},
		"a document":            {`{"choices":[{"message":{"content":"a"},"delta":{}}]}`, troupe.FinishStop},
		"message in a stream":   {events(`{"choices":[{"message":{"content":"a"},"delta":{},"finish_reason":"stop"}]}`), troupe.FinishStop},
		"said before":           {events(said(`"content":"a"`), `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`), troupe.FinishStop},
		"a choice, no list":     {events(`{"choices":{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}}`), troupe.FinishStop},
		"an empty list as end":  {events(said(`"content":"a"`), `{"choices":[{"index":0,"delta":[],"finish_reason":"stop"}]}`), troupe.FinishStop},
		"a text as delta":       {events(`{"choices":[{"index":0,"delta":"a","finish_reason":"stop"}]}`), troupe.FinishStop},
		"the older API":         {events(`{"choices":[{"index":0,"text":"a","finish_reason":"stop"}]}`), troupe.FinishStop},
		"in the delta":          {events(`{"choices":[{"index":0,"delta":{"content":"a","finish_reason":"length"}}]}`), troupe.FinishLength},
		"a prefix too many":     {"data: data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n", troupe.FinishStop},
		"DONE after a document": {"{\"choices\":[{\"message\":{\"content\":\"a\"}}]}\ndata: [DONE]\n", troupe.FinishStop},
		"counted from one":      {events(`{"choices":[{"index":1,"delta":{"content":"a"},"finish_reason":"stop"}]}`), troupe.FinishStop},
	} {
		t.Run(name, func(t *testing.T) {
			got := hear(t, Config{}, stream200(test.stream))
			if got.Err != nil || got.End == nil || got.End.Finish != test.want || test.want != troupe.FinishFiltered && got.Text != "a" {
				t.Errorf("got %+v, end %+v", got, got.End)
			}
		})
	}
}

func TestRawControlCharactersAreRead(t *testing.T) {
	got := hear(t, Config{}, stream200("data: {\"choices\":[{\"delta\":{\"content\":\"a\tb \\\"c\\\"\"},\"finish_reason\":\"stop\"}]}\n\n"))
	if got.Err != nil || got.Text != "a\tb \"c\"" {
		t.Errorf("%q, %v", got.Text, got.Err)
	}
}

// A call that follows thoughts without a beginning is one.
func TestACallAfterTheEndOfAThoughtIsMade(t *testing.T) {
	for _, pieces := range [][]string{
		{"Let me look.\n</think>\n\n<tool_call>\n{\"name\":\"f\",\"arguments\":{}}\n</tool_call>"},
		{"Let me look: <tool_call> it is.\n", "</think>\n\n<tool_", "call>\n{\"name\":\"f\",\"arguments\":{}}\n</tool_call>"},
	} {
		var payloads []string
		for _, p := range pieces {
			payloads = append(payloads, said(`"content":`+quote(p)))
		}
		for _, name := range []string{"QwQ-32B", "deepseek-r1", "qwen3"} {
			got := hear(t, Config{Model: name}, stream200(events(append(payloads, because("stop"))...)))
			if len(got.Calls) != 1 || got.Text != "" || !strings.HasPrefix(got.Thought, "Let me look") || got.Err != nil {
				t.Errorf("%s: %q: %+v", name, pieces, got)
			}
		}
	}
}

func TestAWholeTextMayHaveOnlyTheEndOfAThought(t *testing.T) {
	got := hear(t, Config{}, stream200(`{"choices":[{"message":{"content":"why not\n</think>\n\nso"},"finish_reason":"stop"}]}`))
	if got.Text != "so" || got.Thought != "why not" {
		t.Errorf("%+v", got)
	}
}

func TestUsageIsReadAsItIsBilled(t *testing.T) {
	cost := func(dollars float64) *float64 { return &dollars }
	for name, test := range map[string]struct {
		payloads []string
		want     troupe.Usage
		cost     *float64
	}{
		"by the book":     {[]string{`{"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}`}, troupe.Usage{Input: 10, CachedInput: 4, Output: 5, Reasoning: 2}, nil},
		"DeepSeek":        {[]string{`{"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_cache_hit_tokens":6,"prompt_cache_miss_tokens":4}}`}, troupe.Usage{Input: 10, CachedInput: 6, Output: 5}, nil},
		"Moonshot":        {[]string{`{"choices":[{"index":0,"delta":{},"usage":{"prompt_tokens":10,"completion_tokens":5,"cached_tokens":3}}]}`}, troupe.Usage{Input: 10, CachedInput: 3, Output: 5}, nil},
		"Groq":            {[]string{`{"x_groq":{"id":"r","usage":{"prompt_tokens":10,"completion_tokens":5}}}`}, troupe.Usage{Input: 10, Output: 5}, nil},
		"xAI":             {[]string{`{"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":115,"completion_tokens_details":{"reasoning_tokens":100},"cost_in_usd_ticks":25000000}}`}, troupe.Usage{Input: 10, Output: 105, Reasoning: 100}, cost(0.0025)},
		"in no total":     {[]string{`{"usage":{"prompt_tokens":10,"completion_tokens":52,"total_tokens":62,"completion_tokens_details":{"reasoning_tokens":232}}}`}, troupe.Usage{Input: 10, Output: 284, Reasoning: 232}, nil},
		"cached > prompt": {[]string{`{"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":40}}}`}, troupe.Usage{Input: 10, CachedInput: 10, Output: 5}, nil},
		"OpenRouter":      {[]string{`{"usage":{"prompt_tokens":10,"completion_tokens":5,"cost":0.25,"prompt_tokens_details":{"cached_tokens":2,"cache_write_tokens":6}}}`}, troupe.Usage{Input: 10, CachedInput: 2, CacheWrite: 6, Output: 5}, cost(0.25)},
		"own key":         {[]string{`{"usage":{"prompt_tokens":10,"completion_tokens":5,"cost":0.25,"is_byok":true,"cost_details":{"upstream_inference_cost":5}}}`}, troupe.Usage{Input: 10, Output: 5}, cost(5.25)},
		"Perplexity":      {[]string{`{"usage":{"prompt_tokens":10,"completion_tokens":1,"cost":{"total_cost":0.005}}}`, `{"usage":{"prompt_tokens":10,"completion_tokens":5,"cost":{"total_cost":0.006}}}`}, troupe.Usage{Input: 10, Output: 5}, cost(0.006)},
		"free":            {[]string{`{"usage":{"prompt_tokens":10,"completion_tokens":5,"cost":0}}`}, troupe.Usage{Input: 10, Output: 5}, cost(0)},
		"null after it":   {[]string{`{"usage":{"prompt_tokens":10,"completion_tokens":5}}`, `{"usage":null}`, `{"usage":{"prompt_tokens":0,"completion_tokens":0}}`}, troupe.Usage{Input: 10, Output: 5}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := hear(t, Config{}, stream200(events(append([]string{said(`"content":"a"`), because("stop")}, test.payloads...)...)))
			if got.Err != nil || got.End.Usage != test.want {
				t.Errorf("%v, usage %+v, want %+v", got.Err, got.End, test.want)
			}
			if diff := cmp.Diff(test.cost, got.End.Cost); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGrowingCallsAreShown(t *testing.T) {
	var payloads []string
	for i := range 20 {
		p := `{"index":0,"function":{"arguments":"` + strings.Repeat("x", 100) + `"}}`
		if i == 0 {
			p = `{"index":0,"id":"a","function":{"name":"f","arguments":"{\"s\":\""}}`
		}
		payloads = append(payloads, calling(p))
	}
	m := newModel(t, stream200(events(append(payloads, calling(`{"index":0,"function":{"arguments":"\"}"}}`), because("tool_calls"))...)))
	var shown []troupe.Chunk
	for chunk, err := range m.Generate(t.Context(), hello()) {
		if err != nil {
			t.Fatal(err)
		}
		if chunk.Growing != "" {
			shown = append(shown, chunk)
		}
	}
	if len(shown) < 3 || len(shown) > 6 || shown[0].Growing != "f" || shown[len(shown)-1].Grown <= shown[0].Grown {
		t.Errorf("shown %+v", shown)
	}
}
