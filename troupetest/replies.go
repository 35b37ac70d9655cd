package troupetest

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/troupe-dev/troupe"
)

// parseReplies reads turns, which are separated by empty lines. See [Transcript].
func parseReplies(text string) ([]Turn, error) {
	var turns []Turn
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	begun := false
	for i := 0; i < len(lines); {
		first, line := i, lines[i]
		for i++; i < len(lines) && strings.HasPrefix(lines[i], "|"); i++ {
			line += "\n" + strings.TrimPrefix(lines[i][1:], " ")
		}
		if strings.TrimSpace(line) == "" {
			begun = false
			continue
		}
		if !begun {
			turns, begun = append(turns, Turn{}), true
		}
		turn := &turns[len(turns)-1]
		var err error
		if *turn, err = turn.told(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", first+1, err)
		}
	}
	return turns, nil
}

// told adds what a line of replies says.
func (t Turn) told(line string) (Turn, error) {
	verb, rest, _ := strings.Cut(line, " ")
	text, err := unquoted(rest)
	if err != nil {
		return t, err
	}
	switch verb {
	case "say":
		return t.Say(text), nil
	case "think":
		return t.Think(text), nil
	case "refuse":
		return t.with(troupe.Chunk{Refusal: text}), nil
	case "call":
		tool, arguments, _ := strings.Cut(rest, " ")
		return t.Call(tool, arguments), nil
	case "wait":
		d, err := time.ParseDuration(rest)
		return t.Wait(d), err
	case "usage":
		var u troupe.Usage
		if _, err := fmt.Sscanf(rest, "%d %d", &u.Input, &u.Output); err != nil {
			return t, fmt.Errorf("usage %q: want the numbers of input and output tokens", rest)
		}
		return t.Using(u), nil
	case "finish":
		return t.Finish(troupe.Finish(rest)), nil
	case "fail":
		return t.Fail(failureOf(text)), nil
	case "cut":
		t.cut = true
		return t, nil
	}
	return t, fmt.Errorf("%q is none of say, think, refuse, call, wait, usage, finish, fail and cut", verb)
}

// unquoted returns a Go string's value, and other text as it is.
func unquoted(text string) (string, error) {
	if !strings.HasPrefix(text, `"`) {
		return text, nil
	}
	value, err := strconv.Unquote(text)
	if err != nil {
		return "", fmt.Errorf("%s is not a Go string", text)
	}
	return value, nil
}

// failureOf makes a provider's error of text that begins with an HTTP status.
func failureOf(text string) error {
	number, message, _ := strings.Cut(text, " ")
	status, err := strconv.Atoi(number)
	if err != nil {
		return errors.New(text)
	}
	passing := status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
	return &troupe.ModelError{Status: status, Message: message, Temporary: passing}
}
