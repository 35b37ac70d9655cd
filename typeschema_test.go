package troupe_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
)

// A level is an enum that encodes itself, as generated ones do.
type level int

func (l level) MarshalText() ([]byte, error) { return []byte([]string{"low", "high"}[l]), nil }
func (l *level) UnmarshalText(b []byte) error {
	switch string(b) {
	case "low":
		*l = 0
	case "high":
		*l = 1
	default:
		return fmt.Errorf("no level %q", b)
	}
	return nil
}

type uuid [16]byte

func (u uuid) MarshalText() ([]byte, error)  { return fmt.Appendf(nil, "%x", u[:]), nil }
func (u *uuid) UnmarshalText(b []byte) error { copy(u[:], b); return nil }

// A span encodes itself as it likes.
type span struct{ from, to int }

func (s span) MarshalJSON() ([]byte, error) { return json.Marshal([]int{s.from, s.to}) }
func (s *span) UnmarshalJSON(b []byte) error {
	var ends []int
	if err := json.Unmarshal(b, &ends); err != nil || len(ends) != 2 {
		return fmt.Errorf("a span is [from, to], not %s", b)
	}
	s.from, s.to = ends[0], ends[1]
	return nil
}

type holder[T any] struct {
	V T `json:"v"`
}

type quoted struct {
	V int64 `json:"v,string"`
}

// ask has a model give answers until one fits, and returns what came of them.
func ask[T any](t *testing.T, answers ...string) (T, string, error) {
	t.Helper()
	n, told := 0, ""
	agent := newAgent(t, modelFunc(func(req *troupe.Request) turn {
		told = req.Messages[len(req.Messages)-1].Text
		n++
		return turn{text: answers[min(n, len(answers))-1]}
	}))
	got, _, err := troupe.Ask[T](t.Context(), newEngine(t, troupe.Config{}), agent, troupe.Input{Text: "go"})
	return got, told, err
}

// mustTake has an answer read at once.
func mustTake[T any](t *testing.T, answer string, want T) {
	t.Helper()
	got, told, err := ask[T](t, answer)
	if err != nil || told != "go" || !reflect.DeepEqual(got, want) {
		t.Errorf("%T of %s: got %+v, %v (told %q)", want, answer, got, err, told)
	}
}

// mustRefuse has an answer refused, in words that name the field and what is wanted.
func mustRefuse[T any](t *testing.T, answer string, words ...string) {
	t.Helper()
	got, told, err := ask[T](t, answer)
	if err == nil {
		t.Errorf("%s was taken for %+v", answer, got)
	}
	for _, word := range words {
		if !strings.Contains(told, word) {
			t.Errorf("%s: the model was told %q, not %q", answer, told, word)
		}
	}
}

// What encoding/json reads into a type is what the model is asked for.
func TestTypesThatEncodeThemselvesAreAskedForAsTheyDo(t *testing.T) {
	mustTake(t, `{"v":"high"}`, holder[level]{1})
	mustTake(t, `{"v":"10.0.0.1"}`, holder[netip.Addr]{netip.MustParseAddr("10.0.0.1")})
	mustTake(t, `{"v":[1,2]}`, holder[span]{span{1, 2}})
	mustTake(t, `{"v":"12"}`, quoted{12})
	mustTake(t, `{"v":12}`, quoted{12})
	mustTake(t, `{"v":12.5}`, holder[json.Number]{"12.5"})
	mustTake(t, `{"v":12}`, holder[big.Int]{*big.NewInt(12)})
	mustTake(t, `{"v":"aGk="}`, holder[[]byte]{[]byte("hi")})
	mustTake(t, `{"v":"2026-01-02T10:00:00Z"}`, holder[time.Time]{time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC)})
	mustTake(t, `{"v":{"low":1}}`, holder[map[level]int]{map[level]int{0: 1}})
	mustTake(t, `{"v":{"7":"x"}}`, holder[map[int]string]{map[int]string{7: "x"}})
	mustTake(t, `{"v":null}`, holder[map[string]int]{})
	mustTake(t, `{"v":null}`, holder[[]int]{})
	mustTake(t, `{"v":null}`, holder[*json.RawMessage]{})

	mustRefuse[holder[level]](t, `{"v":1}`, "/v: ", "no level")
	mustRefuse[holder[[]level]](t, `{"v":["low","odd"]}`, `/v/1: no level "odd"`)
	mustRefuse[holder[map[string]holder[level]]](t, `{"v":{"a":{"v":"odd"}}}`, `/v/a/v: no level "odd"`)
	mustRefuse[holder[span]](t, `{"v":[1]}`, "/v: a span is [from, to]")
	mustRefuse[quoted](t, `{"v":"twelve"}`, "/v: ", "^-?")
	mustRefuse[holder[[]byte]](t, `{"v":"~"}`, "/v: ", "base64")
	mustRefuse[holder[time.Time]](t, `{"v":"2026-01-02"}`, `/v: expected a time such as 2006-01-02T15:04:05Z`, `"2026-01-02"`)
	mustRefuse[holder[map[int]string]](t, `{"v":{"x":"y"}}`, "/v/x: ")
}

func TestSchemasOfTypes(t *testing.T) {
	type inner struct {
		ID string `json:"id"`
	}
	type outer struct {
		inner
		Name   string   `json:"name"`
		Shadow struct{} `json:"-"`
		ID     int      `json:"id"`
	}
	for want, output := range map[string]*troupe.Output{
		`{"v":{"type":"string"}}`:                                                   troupe.OutputOf[holder[uuid]](),
		`{"v":{"type":"string","format":"date-time"}}`:                              troupe.OutputOf[holder[time.Time]](),
		`{"v":{"type":["null","string"],"format":"date-time"}}`:                     troupe.OutputOf[holder[*time.Time]](),
		`{"v":{"type":["null","string"],"contentEncoding":"base64"}}`:               troupe.OutputOf[holder[[]byte]](),
		`{"v":{"type":"integer"}}`:                                                  troupe.OutputOf[holder[big.Int]](),
		`{"v":{"type":["null","object"],"additionalProperties":{"type":"string"}}}`: troupe.OutputOf[holder[map[int]string]](),
		`{"v":true}`: troupe.OutputOf[holder[span]](),
		`{"name":{"type":"string"},"id":{"type":"integer"}}`: troupe.OutputOf[outer](),
	} {
		if !strings.Contains(string(output.Schema), `"properties":`+want) {
			t.Errorf("%s has no %s", output.Schema, want)
		}
	}
}

type tree struct {
	Name string  `json:"name" minLength:"1"`
	Kids []*tree `json:"kids"`
}

type chain struct {
	N    int    `json:"n"`
	Next *chain `json:"next"`
}

type document struct {
	Left  tree           `json:"left"`
	Right *tree          `json:"right,omitempty"`
	Index map[int]chain2 `json:"index,omitempty"`
}

type chain2 struct {
	To []chain3 `json:"to,omitempty"`
}
type chain3 struct {
	Back *chain2 `json:"back,omitempty"`
}

// A type may hold itself, as an answer and as what a tool takes.
func TestTypesThatHoldThemselves(t *testing.T) {
	mustTake(t, `{"name":"a","kids":[{"name":"b","kids":[]}]}`, tree{"a", []*tree{{"b", []*tree{}}}})
	mustTake(t, `{"n":1,"next":{"n":2,"next":null}}`, chain{1, &chain{2, nil}})
	mustTake(t, `{"answer":[{"name":"a","kids":[]}]}`, []tree{{"a", []*tree{}}})
	mustTake(t, `{"left":{"name":"a","kids":[]},"right":null,"index":{"1":{"to":[{"back":{}}]}}}`,
		document{Left: tree{"a", []*tree{}}, Index: map[int]chain2{1: {[]chain3{{&chain2{}}}}}})
	mustRefuse[tree](t, `{"name":"a","kids":[{"name":"","kids":[]}]}`, "/kids/0/name: expected at least 1 character")
	mustRefuse[chain](t, `{"n":1,"next":{"n":"two","next":null}}`, "/next/n: ")

	var given tree
	tool := troupe.NewTool("plant", "Plants.", func(_ context.Context, in tree) (tree, error) { given = in; return in, nil })
	model := inTurn(t, turn{calls: []troupe.ToolCall{call("1", "plant", `{"name":"a","kids":[{"name":"b","kids":null}]}`)}}, turn{text: "ok"})
	mustAnswer(t, newEngine(t, troupe.Config{}), newAgent(t, model, tool), "go")
	if len(given.Kids) != 1 || given.Kids[0].Name != "b" {
		t.Errorf("the tool was given %+v", given)
	}
}

func TestATypeWithoutASchemaIsToldByFieldAndRemedy(t *testing.T) {
	type deep struct {
		In []struct{ C chan int }
	}
	type bounds struct {
		N int `json:"n" minimum:"5" maximum:"3"`
	}
	type lengths struct {
		S string `json:"s" minLength:"5" maxLength:"3"`
	}
	type keys struct {
		M map[[2]int]string `json:"m"`
	}
	type tagged struct {
		S string `json:"s" jsonschema:"enum=a"`
	}
	type hidden struct{ _, _ int }
	type expression struct {
		A string `json:"a" pattern:"[a-"`
	}
	for want, make := range map[string]func(){
		`field V of troupe_test.holder[fmt.Stringer]: fmt.Stringer is an interface, and encoding/json cannot know what to make of it; use a type that is none, any for anything, or leave it out with json:"-"`: func() { troupe.OutputOf[holder[fmt.Stringer]]() },
		`troupe.OutputOf: error: error is an interface`:                                           func() { troupe.OutputOf[error]() },
		`troupe_test.hidden has no exported fields, so that nothing is read into it; export some`: func() { troupe.OutputOf[hidden]() },
		`field V[] of troupe_test.holder[[]sync.Mutex]: sync.Mutex has no exported fields`:        func() { troupe.OutputOf[holder[[]sync.Mutex]]() },
		`field A of troupe_test.expression: tag pattern:"[a-": it is not a regular expression: `:  func() { troupe.OutputOf[expression]() },
		`tool x: input: field V of troupe_test.holder[io.Reader]: io.Reader is an interface`: func() {
			troupe.NewTool("x", "", func(context.Context, holder[io.Reader]) (string, error) { return "", nil })
		},
		`field In[].C of troupe_test.deep: chan int has no form in JSON; leave it out with json:"-", or give its type a method JSONSchema() json.RawMessage`: func() { troupe.OutputOf[deep]() },
		`field N of troupe_test.bounds: its minimum 5 is more than its maximum 3`:                                                                            func() { troupe.OutputOf[bounds]() },
		`field S of troupe_test.lengths: its minLength 5 is more than its maxLength 3`:                                                                       func() { troupe.OutputOf[lengths]() },
		`field M of troupe_test.keys: a map with keys of type [2]int has no form in JSON`:                                                                    func() { troupe.OutputOf[keys]() },
		`field S of troupe_test.tagged: tag jsonschema:"enum=a": it is a description`:                                                                        func() { troupe.OutputOf[tagged]() },
		`tool x: output: chan int has no form in JSON`: func() {
			troupe.NewTool("x", "", func(context.Context, struct{}) (chan int, error) { return nil, nil })
		},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			}()
			make()
		}()
	}
}

// What may be anything, holds nothing by intent or is only written has a schema.
func TestTypesThatLookAsIfNothingWereReadIntoThem(t *testing.T) {
	type left struct {
		_ int
		A int `json:"-"`
	}
	type embeds struct{ inside }
	troupe.OutputOf[holder[any]]()
	troupe.OutputOf[holder[left]]()
	troupe.OutputOf[holder[struct{}]]()
	troupe.OutputOf[holder[url.URL]]()
	troupe.OutputOf[holder[embeds]]()
	troupe.NewTool("x", "", func(context.Context, struct{}) (holder[fmt.Stringer], error) { return holder[fmt.Stringer]{}, nil })
}

type inside struct{ A int }

// What cannot be a tool is found when it is made, not when a model calls it.
func TestAToolThatCannotBeCalledIsRefused(t *testing.T) {
	for want, make := range map[string]func(){
		"troupe.NewTool: tool x: there is no function to call": func() { troupe.NewTool[struct{}, string]("x", "", nil) },
		"troupe.NewTool: tool y: there is no function to call": func() { troupe.NewToolWithCall[struct{}, string]("y", "", nil) },
		"troupe.NewTool: tool z: output: chan int has no form": func() {
			troupe.NewTool("z", "", func(context.Context, struct{}) (chan int, error) { return nil, nil })
		},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			}()
			make()
		}()
	}
	fn := func(context.Context, *troupe.Invocation) (troupe.Result, error) { return troupe.Result{}, nil }
	if _, err := troupe.NewRawTool(troupe.ToolSpec{Name: "r"}, nil); err == nil || err.Error() != "tool r: there is no function to call" {
		t.Errorf("got %v", err)
	}
	for schema, isTool := range map[string]bool{
		`{"type":"string"}`: false, `{"type":["array","null"]}`: false, `true`: true, `{}`: true, `{"type":["object","null"]}`: true,
		`{"anyOf":[{"type":"object"}]}`: true, ``: true,
	} {
		_, err := troupe.NewRawTool(troupe.ToolSpec{Name: "r", Input: json.RawMessage(schema)}, fn)
		if (err == nil) != isTool || err != nil && !strings.Contains(err.Error(), "tool r: input schema: it must describe an object, and is of type") {
			t.Errorf("%s: got %v", schema, err)
		}
	}
}
