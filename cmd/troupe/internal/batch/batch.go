// Package batch reads the inputs of runs that are many.
//
// A file has one JSON value to a line: a text, which is the task, or an object with
// the task, an id where it has one, and whatever else the steps should get.
package batch

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// An Input is what one of many runs is given.
type Input struct {
	Line int
	ID   string
	Task string
	// Custom is the rest of the object.
	Custom map[string]any
	// key is what tells the input from others: its id, or its text and how many
	// lines before it have the same.
	key string
}

// What a file may hold.
const (
	maxLine   = 4 << 20
	maxInputs = 100_000
)

// Read reads a file of inputs. Empty lines are passed over. Name is for errors.
func Read(name string, r io.Reader) ([]Input, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	var inputs []Input
	seen := map[string]int{}
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" {
			continue
		}
		input, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		input.Line = n
		if input.ID != "" {
			input.key = "id " + input.ID
			if seen[input.key] > 0 {
				return nil, fmt.Errorf("%s:%d: the id %q is there twice", name, n, input.ID)
			}
		} else {
			input.key = fmt.Sprintf("text %d %s", seen[text], text)
			seen[text]++
		}
		seen[input.key]++
		if inputs = append(inputs, input); len(inputs) > maxInputs {
			return nil, fmt.Errorf("%s: it has more than %d inputs", name, maxInputs)
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("%s: a line has more than %d bytes", name, maxLine)
	}
	if lines.Err() == nil && len(inputs) == 0 {
		return nil, fmt.Errorf("%s: there are no inputs in it", name)
	}
	return inputs, lines.Err()
}

func parse(text string) (Input, error) {
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return Input{}, fmt.Errorf("this is not JSON: %w; a line is a text in quotes, or an object with a task", err)
	}
	switch v := value.(type) {
	case string:
		if strings.TrimSpace(v) == "" {
			return Input{}, errors.New("the task is empty")
		}
		return Input{Task: v}, nil
	case map[string]any:
		return fromObject(v)
	}
	return Input{}, errors.New("a line is a text in quotes, or an object with a task")
}

func fromObject(object map[string]any) (Input, error) {
	task, ok := object["task"].(string)
	if !ok || strings.TrimSpace(task) == "" {
		return Input{}, errors.New(`the object has no "task", which is a text`)
	}
	input := Input{Task: task}
	switch id := object["id"].(type) {
	case nil:
	case string:
		input.ID = id
	case float64:
		input.ID = fmt.Sprint(id)
	default:
		return Input{}, errors.New(`"id" is a text or a number`)
	}
	delete(object, "task")
	delete(object, "id")
	if len(object) > 0 {
		input.Custom = object
	}
	return input, nil
}

// Session returns the id of the session for the input in a batch of that name, run
// by that flow or agent: the same whenever the batch is run.
func (in Input) Session(batch, runner string) string {
	sum := sha256.Sum256([]byte("troupe batch\x00" + batch + "\x00" + runner + "\x00" + in.key))
	sum[6] = sum[6]&0x0f | 0x80 // a UUID of version 8, whose bits are ours
	sum[8] = sum[8]&0x3f | 0x80
	id := hex.EncodeToString(sum[:16])
	return id[:8] + "-" + id[8:12] + "-" + id[12:16] + "-" + id[16:20] + "-" + id[20:]
}
