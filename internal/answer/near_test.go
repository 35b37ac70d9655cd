package answer_test

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/answer"
)

const nearSchema = `{"type": "object", "additionalProperties": false, "required": ["id", "done"], "properties": {
	"id": {"type": "integer"}, "done": {"type": "boolean"}, "title": {"type": "string"}, "share": {"type": "number"},
	"state": {"enum": ["open", "Closed", "in progress"]}, "numbers": {"type": "array", "items": {"type": "integer"}},
	"parts": {"type": "array", "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "count": {"type": "integer"}, "fixed": {"const": "yes"}}}},
	"maybe": {"type": ["string", "null"]}, "either": {"anyOf": [{"type": "integer"}, {"type": "object"}]}}}`

// nearValues are ways to write each field: as asked for, nearly so, and otherwise.
var nearValues = map[string][]string{
	"id":      {`7`, `"7"`, `" 7 "`, `7.0`, `"7.0"`, `"seven"`, `null`, `1e2`, `"-0"`, `true`},
	"done":    {`true`, `"true"`, `"True"`, `"yes"`, `1`, `"false"`, `null`, `false`},
	"title":   {`"a"`, `5`, `5.50`, `true`, `null`, `["a"]`, `""`, `1e3`},
	"share":   {`0.5`, `"0.5"`, `"50 %"`, `".5"`, `1`, `"1e3"`, `false`},
	"state":   {`"open"`, `"Open"`, `"CLOSED"`, `"closed "`, `"in_progress"`, `"In Progress"`, `"done"`, `3`},
	"numbers": {`[1,2]`, `["1",2]`, `[]`, `"1"`, `[1,"x"]`, `["3","4"]`, `{}`, `1`},
	"parts":   {`[{"name":"a"}]`, `[{"name":3,"count":"2"}]`, `[{"count":2}]`, `[{"name":"a","fixed":"Yes"},{"name":false}]`, `{"name":"a"}`},
	"maybe":   {`null`, `"x"`, `5`, `"null"`, `false`},
	"either":  {`3`, `"3"`, `{}`, `"x"`, `[]`},
}

// What is nearly as a schema asks is read where it has one meaning, with a warning for each
// field; all else is refused, and the reasons are told field by field. Which is which is on
// record, with a digest of what was said.
func TestWhatIsNearlyAsAskedForIsOnRecord(t *testing.T) {
	check := schemaOf(t, nearSchema)
	random := rand.New(rand.NewPCG(3, 5))
	fields := []string{"id", "done", "title", "share", "state", "numbers", "parts", "maybe", "either"}
	var record strings.Builder
	for _, wrapped := range []string{"%s", "Here:\n```json\n%s\n```", `{"result": %s}`, "[%s]", "%s,", "%s or so"} {
		digest := fnv.New64a()
		read, warned := 0, 0
		const tries = 400
		for range tries {
			var b strings.Builder
			for _, name := range fields {
				if name != "id" && name != "done" && random.IntN(3) == 0 {
					continue
				}
				ways := nearValues[name]
				way := ways[0]
				if random.IntN(3) == 0 {
					way = ways[random.IntN(len(ways))]
				}
				for range 1 + random.IntN(12)/11 { // some are given twice
					fmt.Fprintf(&b, "%q: %s, ", name, way)
				}
			}
			if random.IntN(8) == 0 {
				b.WriteString(`"extra": 1, `)
			}
			text := fmt.Sprintf(wrapped, "{"+strings.TrimSuffix(b.String(), ", ")+"}")
			value, err := answer.Read(text, check)
			fmt.Fprintln(digest, string(value.JSON), value.How, value.Warnings, err)
			if err != nil {
				continue
			}
			read++
			if len(value.Warnings) > 0 {
				warned++
			}
			if problems := check.Check(value.JSON); problems != nil || !json.Valid(value.JSON) {
				t.Errorf("%s was read of %s: %v", value.JSON, text, problems)
			}
		}
		fmt.Fprintf(&record, "%-24q %d texts, %d read, %d of them with warnings, %016x\n", wrapped, tries, read, warned, digest.Sum64())
	}
	compare(t, "near.txt", record.String())
}
