package argcheck

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// eachLine calls visit with each JSON line of a corpus file.
func eachLine(t *testing.T, path string, visit func(line []byte)) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, len(data)+1)
	for lines.Scan() {
		visit(lines.Bytes())
	}
}

func TestRealCallsAreCheckedAsTheyWere(t *testing.T) {
	path := filepath.Join(corpus.Path(t, "tool-calls"), "real-calls.jsonl")
	var undeclared, byNodes, byFull, fit int
	var unfit []string
	eachLine(t, path, func(line []byte) {
		var call struct {
			Source, Model, Tool, Arguments string
			Schema                         json.RawMessage
		}
		if err := json.Unmarshal(line, &call); err != nil {
			t.Fatal(err)
		}
		if string(call.Schema) == "null" {
			undeclared++
			return
		}
		schema, err := Compile(call.Schema)
		if err != nil {
			t.Errorf("%s %s: %v", call.Source, call.Tool, err)
			return
		}
		if schema.rest == nil {
			byNodes++
		} else {
			byFull++
		}
		err = schema.Check([]byte(call.Arguments))
		if err == nil {
			fit++
		} else {
			unfit = append(unfit, fmt.Sprintf("%s %s %q: %v", call.Model, call.Tool, call.Arguments, err))
		}
		if _, isMalformed := errors.AsType[*Malformed](err); isMalformed != (call.Arguments == "") {
			t.Errorf("%s %s: %q: got %v", call.Source, call.Tool, call.Arguments, err)
		}
		if full := fullOf(t, call.Schema).Check([]byte(call.Arguments)); (full == nil) != (err == nil) {
			t.Errorf("%s %s: nodes say %v, jsonschema says %v", call.Source, call.Tool, err, full)
		}
	})
	t.Logf("%d schemas by nodes, %d by jsonschema, %d tools undeclared; %d calls fit, %d do not:\n%s",
		byNodes, byFull, undeclared, fit, len(unfit), strings.Join(unfit, "\n"))
	if undeclared != 1 || byNodes+byFull != 213 || fit != 211 || len(unfit) != 2 {
		t.Error("the counts are not those of the corpus")
	}
}

// lenient maps the types of the benchmark, which are those of Python, to JSON Schema's.
var lenient = strings.NewReplacer(
	`"type": "dict"`, `"type": "object"`, `"type": "float"`, `"type": "number"`,
	`"type": "tuple"`, `"type": "array"`, `"type": "any"`, `"x-type": "any"`)

func TestPythonTypesAreNamedInTheErrorAndTheRestCompiles(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(corpus.Path(t, "tool-calls"), "bfcl", "*.jsonl"))
	count := 0
	for _, file := range files {
		eachLine(t, file, func(line []byte) {
			var entry struct {
				Functions []struct{ Parameters json.RawMessage }
			}
			if err := json.Unmarshal(line, &entry); err != nil {
				t.Fatal(err)
			}
			for _, function := range entry.Functions {
				count++
				_, err := Compile(function.Parameters)
				if err == nil || !strings.HasSuffix(err.Error(), "is not a JSON Schema type") {
					t.Errorf("%s: got %v", function.Parameters, err)
				}
				if _, err = Compile([]byte(lenient.Replace(string(function.Parameters)))); err != nil {
					t.Errorf("%s: %v", function.Parameters, err)
				}
			}
		})
	}
	t.Logf("%d schemas", count)
	if count < 1000 {
		t.Error("too few schemas were read")
	}
}
