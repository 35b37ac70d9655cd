package rawjson

import (
	"bytes"
	"encoding/json"
	"testing"
)

// read reads the next value as encoding/json does into an any, by the cursor's own means.
func read(c *Cursor) any {
	switch c.next() {
	case '{':
		object := map[string]any{}
		c.Object(func(name []byte) {
			key := NewCursor([]byte(`"` + string(name) + `"`))
			object[key.String()] = read(c)
		})
		return object
	case '"':
		return c.String()
	case '[', 't', 'f', 'n':
		var value any
		if raw := c.Skip(); json.Unmarshal(raw, &value) != nil {
			c.Broken = true
		}
		return value
	}
	return c.Number()
}

func FuzzCursor(f *testing.F) {
	for _, seed := range []string{
		`{}`, ` { "a" : 1 , "b":[{"x":"}"},"]\""] ,"c":"\u00e4\\"}`, `{"n":-1.5e3,"big":12345678901234567890,"t":true,"z":null}`,
		`{"a":"\ud83d\ude00","b":"` + "\xff" + `"}`, `{"a":1,}`, `{"a" 1}`, `{"a":"`, `{"a":[1,{"b":2}`, `nul`, `"\`, `{,}`, "", `{"":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := NewCursor(text)
		got := read(&c)
		var want any
		if json.Unmarshal(text, &want) != nil {
			return // it did not panic, and it ended
		}
		if c.Broken {
			t.Fatalf("%q: it is called broken", text)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if !bytes.Equal(a, b) {
			t.Errorf("%q is %s; want %s", text, a, b)
		}
	})
}

func TestACursorPicksAFewValues(t *testing.T) {
	c := NewCursor([]byte(`{"long":{"text":"} \" {","more":[1,[2]]},"n":42,"name":"Al\u0065x","none":null,"in":{"x":7,"y":8},"rest":"not read`))
	var n int64
	var name, none string
	var x float64
	c.Object(func(field []byte) {
		switch string(field) {
		case "n":
			n = c.Int()
		case "name":
			name = c.String()
		case "none":
			none = c.String()
		case "in":
			c.Object(func(field []byte) {
				if string(field) == "x" {
					x = c.Number()
				} else {
					c.Skip()
				}
			})
			c.Stop()
		default:
			c.Skip()
		}
	})
	if c.Broken || n != 42 || name != "Alex" || none != "" || x != 7 {
		t.Errorf("broken %v, n %d, name %q, none %q, x %v", c.Broken, n, name, none, x)
	}
}

func TestWhatACursorCannotReadIsBroken(t *testing.T) {
	for _, text := range []string{`{"a":1.5}`, `{"a":"1"}`, `{"a":tru}`, `{"a":99999999999999999999}`, `{"a":}`, `["a"]`, `{"a":1`, `{"a"`, `{"a":1 "b":2}`, `{a:1}`} {
		c := NewCursor([]byte(text))
		c.Object(func([]byte) { c.Int() })
		if !c.Broken {
			t.Errorf("%s is read as if it were an object with a whole number", text)
		}
	}
}
