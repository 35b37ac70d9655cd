package wire

import (
	"encoding/json"
	"fmt"
	"html"
	"strconv"
	"strings"
)

// A complaint is what a server says about a request that it did not serve.
type complaint struct {
	text   string
	code   string // the server's name for the failure
	kind   string // its class of failures, such as "invalid_request_error"
	number string // a code that is a number
	status int    // a code that is an HTTP status
	wait   string // how long to wait, such as "34s"
	isPage bool   // it is for a browser
}

// readComplaint reads the body of an error in any of the forms that servers have.
func readComplaint(body []byte) complaint {
	var c complaint
	var value any
	if json.Unmarshal(body, &value) == nil {
		c.read(value, 0)
	}
	if c.text == "" {
		c.text = plainText(body)
		c.isPage = strings.HasPrefix(strings.TrimSpace(string(body)), "<")
	}
	for _, name := range []string{c.kind, c.number} {
		if c.code == "" {
			c.code = name
		}
	}
	return c
}

// read looks for names and a text where servers put them; the outermost count.
func (c *complaint) read(value any, depth int) {
	if depth > 8 {
		return
	}
	switch value := value.(type) {
	case string:
		c.readText(value, depth)
	case []any:
		if len(value) > 0 {
			c.read(value[0], depth+1)
		}
	case map[string]any:
		c.readNames(value)
		for _, key := range []string{"error", "errors", "base_resp", "message", "msg", "status_msg", "detail", "error_description"} {
			if c.text == "" {
				c.read(value[key], depth+1)
			}
		}
		c.readDetails(value)
	}
}

// readText takes a text, or reads the JSON that some servers quote as text.
func (c *complaint) readText(text string, depth int) {
	var quoted any
	if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &quoted) == nil {
		c.read(quoted, depth+1)
	}
	if c.text == "" {
		c.text = text
	}
}

func (c *complaint) readNames(object map[string]any) {
	for _, key := range []string{"code", "status_code", "status"} {
		name, _ := object[key].(string)
		number, isNumber := object[key].(float64)
		if n, err := strconv.Atoi(name); err == nil {
			number, isNumber = float64(n), true
		}
		switch {
		case isNumber && c.number == "":
			c.number = strconv.FormatFloat(number, 'f', -1, 64)
			if number >= 400 && number <= 599 {
				c.status = int(number)
			}
		case !isNumber && c.code == "":
			c.code = name
		}
	}
	if kind, _ := object["type"].(string); c.kind == "" || c.kind == "error" { // what is within says more
		c.kind = kind
	}
}

// readDetails adds what some servers put beside the text: the field that a
// validator dislikes, the words of the provider behind OpenRouter, what the model
// wrote that Groq could not read, and how long Google wants to be left alone.
func (c *complaint) readDetails(object map[string]any) {
	if path, ok := object["loc"].([]any); ok && object["msg"] == c.text {
		c.text = strings.Trim(strings.ReplaceAll(fmt.Sprint(path), " ", "."), "[]") + ": " + c.text
	}
	if metadata, ok := object["metadata"].(map[string]any); ok {
		if raw, _ := metadata["raw"].(string); raw != "" {
			c.text += ": " + raw
		}
	}
	if written, _ := object["failed_generation"].(string); written != "" {
		c.text += ": " + written
	}
	details, _ := object["details"].([]any)
	for _, detail := range details {
		fields, _ := detail.(map[string]any)
		if wait, _ := fields["retryDelay"].(string); wait != "" {
			c.wait = wait
		}
	}
}

func (c *complaint) mentions(phrases ...string) bool {
	said := strings.ToLower(c.code + "\n" + c.kind + "\n" + c.text)
	for _, phrase := range phrases {
		if strings.Contains(said, phrase) {
			return true
		}
	}
	return false
}

// plainText is a body as one line of text: the title of a page, or all there is.
func plainText(body []byte) string {
	text := string(body)
	if strings.HasPrefix(strings.TrimSpace(text), "<") {
		if _, rest, ok := strings.Cut(text, "<title>"); ok {
			title, _, _ := strings.Cut(rest, "</title>")
			text = html.UnescapeString(title)
		}
	}
	return strings.Join(strings.Fields(text), " ")
}
