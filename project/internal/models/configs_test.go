package models_test

import (
	"reflect"
	"testing"

	"github.com/troupe-dev/troupe/model/anthropic"
	"github.com/troupe-dev/troupe/model/gemini"
	"github.com/troupe-dev/troupe/model/ollama"
	"github.com/troupe-dev/troupe/model/openai"
	"github.com/troupe-dev/troupe/model/responses"
)

// Each client has a configuration of its own, which can be written without any other
// package. What they have in common has one name and one type in all of them.
func TestClientsAreConfiguredAlike(t *testing.T) {
	book := reflect.TypeFor[openai.Config]()
	for _, config := range []reflect.Type{reflect.TypeFor[anthropic.Config](), reflect.TypeFor[gemini.Config](), reflect.TypeFor[responses.Config](), reflect.TypeFor[ollama.Config]()} {
		for _, name := range []string{"BaseURL", "Key", "KeyHeader", "Model", "Headers", "HTTPClient", "IdleTimeout", "BeginTimeout", "AnswerTimeout", "Log", "MaxAnswer", "MaxLine"} {
			want, _ := book.FieldByName(name)
			if got, ok := config.FieldByName(name); !ok || got.Type != want.Type {
				t.Errorf("%s has %s of type %v, want %v", config, name, got.Type, want.Type)
			}
		}
		for field := range config.Fields() {
			if same, ok := book.FieldByName(field.Name); ok && same.Type != field.Type {
				t.Errorf("%s.%s is a %v, and a %v in %s", config, field.Name, field.Type, same.Type, book)
			}
		}
	}
}
