package pipeline

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/troupe-dev/troupe/internal/rawjson"
)

// An Item is an entry of an answer that agents write as text, as a number or as an
// object: "login" or {"id": "US-1", "title": "login"}. It keeps what was written and
// shows it as text. The zero Item is none.
type Item struct {
	json string // "" or a JSON value
}

// TextItem returns an item that is plain text.
func TextItem(text string) Item {
	data, _ := json.Marshal(text) // of a string it cannot fail
	return Item{string(data)}
}

// String returns a text as it is, and of an object its fields in one line, in their order.
func (i Item) String() string { return shown([]byte(i.json)) }

// Field returns a field of an object as text, and "" where there is none.
func (i Item) Field(name string) string {
	for _, f := range rawjson.Fields([]byte(i.json)) {
		if f.Name == name {
			return shown(f.Value)
		}
	}
	return ""
}

// IsZero reports whether there is nothing.
func (i Item) IsZero() bool { return i.json == "" }

// MarshalJSON returns what was written, and null for the zero Item.
func (i Item) MarshalJSON() ([]byte, error) {
	if i.IsZero() {
		return []byte("null"), nil
	}
	return []byte(i.json), nil
}

// UnmarshalJSON takes any value; null is the zero Item.
func (i *Item) UnmarshalJSON(data []byte) error {
	i.json = string(bytes.TrimSpace(data))
	if i.json == "null" {
		i.json = ""
	}
	return nil
}

// Items is a list in an answer. What an agent writes without a list around it is a
// list of one.
type Items []Item

// MarshalJSON returns a list even where there is nothing.
func (l Items) MarshalJSON() ([]byte, error) { return json.Marshal(append([]Item{}, l...)) }

// UnmarshalJSON takes any value; null and "" are no items.
func (l *Items) UnmarshalJSON(data []byte) error {
	*l = nil
	elements := rawjson.Elements(data)
	if data = bytes.TrimSpace(data); len(data) > 0 && data[0] != '[' {
		elements = [][]byte{data}
	}
	for _, element := range elements {
		var item Item
		if err := item.UnmarshalJSON(element); err != nil {
			return err
		}
		if !item.IsZero() && item.json != `""` {
			*l = append(*l, item)
		}
	}
	return nil
}

// Strings returns the items as text.
func (l Items) Strings() []string {
	texts := make([]string, len(l))
	for i, item := range l {
		texts[i] = item.String()
	}
	return texts
}

// shown returns a sound JSON value as text for a reader.
func shown(value []byte) string {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || string(value) == "null" {
		return ""
	}
	var parts []string
	switch value[0] {
	case '"':
		return rawjson.Unquote(value)
	case '{':
		for _, f := range rawjson.Fields(value) {
			if text := shown(f.Value); text != "" {
				parts = append(parts, f.Name+": "+text)
			}
		}
		return strings.Join(parts, "; ")
	case '[':
		for _, element := range rawjson.Elements(value) {
			parts = append(parts, shown(element))
		}
		return strings.Join(parts, ", ")
	}
	return string(value)
}
