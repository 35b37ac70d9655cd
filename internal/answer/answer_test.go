package answer_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/answer"
)

const invoice = `{"type": "object", "required": ["number", "total", "paid"], "additionalProperties": false, "properties": {
	"number": {"type": "string"}, "total": {"type": "number"}, "paid": {"type": "boolean"}, "kind": {"enum": ["Invoice", "Credit note"]},
	"lines": {"type": "array", "items": {"type": "object", "properties": {"count": {"type": "integer"}}}}}}`

func TestReadTakesWhatHasOneMeaning(t *testing.T) {
	const good = `{"number": "7", "total": 12.5, "paid": true}`
	tests := []struct {
		name, schema, text, want string
		how                      answer.How
		warnings                 int
	}{
		{"as asked", invoice, good, good, answer.Whole, 0},
		{"in a fence", invoice, "```json\n" + good + "\n```", good, answer.Embedded, 0},
		{"after thoughts", invoice, "<think>{\"number\": \"8\", \"total\": 1, \"paid\": true}</think>" + good, good, answer.Embedded, 0},
		{"after thoughts that did not begin", invoice, `maybe {"number": "8", "total": 1, "paid": true} hmm</think>` + good, good, answer.Embedded, 0},
		{"after thoughts that did not begin, in words", invoice, `so {"number": "8"}</think>It is this: ` + good + " I think.", good, answer.Embedded, 0},
		{"with a tag in it", invoice, `It is: {"number": "a</think>b", "total": 12.5, "paid": true}`, `{"number": "a</think>b", "total": 12.5, "paid": true}`, answer.Embedded, 0},
		{"wrapped", invoice, `{"answer": ` + good + `}`, good, answer.Embedded, 0},
		{"wrapped, without an error", invoice, `{"result": ` + good + `, "error": null, "ok": true}`, good, answer.Embedded, 0},
		{"in a form that was asked for", invoice, "Here is the answer in the required format:\n```json\n" + good + "\n```\nLet me know if you need an example.", good, answer.Embedded, 0},
		{"after a word about an example", invoice, "I followed the example that you gave me.\n" + good, good, answer.Embedded, 0},
		{"twice the same", invoice, good + "\n\n" + strings.ReplaceAll(good, " ", ""), good, answer.Embedded, 0},
		{"trailing comma", invoice, `{"number": "7", "total": 12.5, "paid": true,}`, `{"number":"7","total":12.5,"paid":true}`, answer.Mended, 0},
		{"near misses", invoice, `{"number": 7, "total": "12.5", "paid": "True", "kind": "credit Note"}`, `{"number": "7", "total": 12.5, "paid": true, "kind": "Credit note"}`, answer.Whole, 4},
		{"near miss deep inside", invoice, `{"number": "7", "total": 1, "paid": true, "lines": [{}, {"count": "3"}]}`, `{"number": "7", "total": 1, "paid": true, "lines": [{}, {"count": 3}]}`, answer.Whole, 1},
		{"near miss in broken syntax", invoice, `{'number': '7', 'total': 1, 'paid': 'false'}`, `{"number":"7","total":1,"paid":false}`, answer.Mended, 1},
		{"an array", `{"type": "array", "items": {"type": "string"}}`, "These:\n```json\n[\"a\", \"b\"]\n```\n", `["a", "b"]`, answer.Embedded, 0},
		{"a broken array", `{"type": "array", "items": {"type": "string"}}`, "['a', 'b',]", `["a","b"]`, answer.Mended, 0},
		{"a number in a fence", `{"type": "integer"}`, "```\n42\n```", "42", answer.Embedded, 0},
		{"brackets that were closed already", invoice, good + "}]", good, answer.Embedded, 0},
		{"an empty value after it", invoice, good + ", []", good, answer.Embedded, 0},
		{"the wrong bracket", invoice, `{"number": "7", "total": 12.5, "paid": true]`, `{"number":"7","total":12.5,"paid":true}`, answer.Mended, 0},
		{"the wrong bracket inside", invoice, `{"number": "7", "total": 1, "paid": true, "lines": [{}, {"count": 3}}, "kind": "Invoice"}`, `{"number":"7","total":1,"paid":true,"lines":[{},{"count":3}],"kind":"Invoice"}`, answer.Mended, 0},
		{"one quote in a text", `{"type": "object"}`, `{"size": "5" nails", "n": 1}`, `{"size":"5\" nails","n":1}`, answer.Mended, 0},
		{"quotes in a name", `{"type": "object"}`, `{"k"e"y": 1}`, `{"k\"e\"y":1}`, answer.Mended, 0},
		{"a range, a fraction, a unit, a path", `{"type": "object"}`, `{"a": 10-20, "b": 1/2, "c": 12px, d: /usr/bin}`, `{"a":"10-20","b":"1/2","c":"12px","d":"/usr/bin"}`, answer.Mended, 0},
		{"a tuple", `{"type": "object"}`, `{'at': (1, 2.5), 'of': ('a',), 'none': None}`, `{"at":[1,2.5],"of":["a"],"none":null}`, answer.Mended, 0},
		{"quotes of books that are escaped", `{"type": "object"}`, `{"a": "say \„so\" and go"}`, `{"a":"say „so\" and go"}`, answer.Mended, 0},
		{"a name without quotes and colon", `{"type": "object"}`, `{a 'b'}`, `{"a":"b"}`, answer.Mended, 0},
		{"quotes that are all doubled", `{"type": "object"}`, `{""a"": ""b"", ""c"": [""""]}`, `{"a":"b","c":[""]}`, answer.Mended, 0},
		{"accents for quotes", `{"type": "object"}`, "{`a´: `b´}", `{"a":"b"}`, answer.Mended, 0},
		{"a field given twice, with the same value", invoice, `{"number": "7", "total": 12.5, "paid": true, "total": 12.5}`, good, answer.Whole, 1},
		{"fields given twice within each other", `{"type": "object"}`, `{"a": {"b": 1}, "c": 2, "a": {"b": 1, "b": 1}, "c": 2}`, `{"a": {"b": 1}, "c": 2}`, answer.Whole, 3},
		{"words in brackets, and nothing else", `{"type": "array"}`, "```\n[red, green,blue]\n```", `["red","green","blue"]`, answer.Mended, 0},
		{"a list whose first quote is missing", `{"type": "array"}`, `[a","b"]`, `["a","b"]`, answer.Mended, 0},
		{"a tuple, and nothing else", `{"type": "array"}`, `(("a", 1), ("b", None), "c")`, `[["a",1],["b",null],"c"]`, answer.Mended, 0},
		{"a schema beyond common keywords", `{"anyOf": [{"type": "object", "required": ["a"], "properties": {"a": {"const": "Yes"}}}]}`, `{"a": "yes"}`, `{"a": "Yes"}`, answer.Whole, 1},
	}
	for _, test := range tests {
		value, err := answer.Read(test.text, schemaOf(t, test.schema))
		if err != nil || string(value.JSON) != test.want || value.How != test.how || len(value.Warnings) != test.warnings {
			t.Errorf("%s: %s (%s), %v, %v", test.name, value.JSON, value.How, value.Warnings, err)
		}
	}
}

// Commas before closing brackets are told from damage by which something may be lost.
func TestSpareCommasLoseNothing(t *testing.T) {
	check := schemaOf(t, `{"type": "object", "required": ["a"]}`)
	for text, spare := range map[string]bool{
		`{"a": 1,}`: true, "Here:\n```json\n{\"a\": [1, 2,], \"b\": {\"c\": \"x,}\",\n},}\n```\n": true, "<think>so {</think>{\"a\": \",]\\\"\", }": true,
		`{"a": 1,, }`: false, `{'a': 1,}`: false, `{"a": 1, "b": 2 "c": 3,}`: false, `{"a": "x" y",}`: false, `{"a": 1, b: 2,}`: false, `{"a": 1]`: false, `{"a": 1`: false,
		`{"a": "one, "b": 2,}`: false, `{"a": 1,} and {"a": 2,}`: false,
	} {
		if value, err := answer.Read(text, check); err == nil && value.SpareCommas != spare || err != nil && spare {
			t.Errorf("%s: %+v, %v", text, value, err)
		}
	}
}

func TestAnAnswerThatIsEncodedAsAStringIsRead(t *testing.T) {
	const good = `{"number": "7", "total": 12.5, "paid": true}`
	encoded, _ := json.Marshal(good)
	check := schemaOf(t, invoice)
	for _, text := range []string{string(encoded), "\n" + string(encoded) + "\n", "```json\n" + string(encoded) + "\n```"} {
		if value, err := answer.Read(text, check); err != nil || string(value.JSON) != good {
			t.Errorf("%s: %s, %v", text, value.JSON, err)
		}
	}
	if value, err := answer.Read(string(encoded[:len(encoded)-4]), check); err == nil {
		t.Errorf("%s was read of what breaks off", value.JSON)
	}
}

func TestReadSaysWhyItReadsNothing(t *testing.T) {
	const good = `{"number": "7", "total": 12.5, "paid": true}`
	other := strings.Replace(good, "7", "8", 1)
	tests := []struct {
		name, text string
		reason     answer.Reason
		want       string
	}{
		{"prose", "I cannot do that.", answer.NoJSON, "holds no JSON"},
		{"a missing field", `{"number": "7", "paid": true}`, answer.Misfit, "/total: required, but missing"},
		{"a wrong kind", `{"number": "7", "total": "much", "paid": true}`, answer.Misfit, `/total: expected number, got string "much"`},
		{"null is no near miss", `{"number": "7", "total": null, "paid": true}`, answer.Misfit, "/total: expected number, got null"},
		{"two that differ", good + "\nor\n" + other, answer.Ambiguous, "different JSON values"},
		{"two that differ, one broken", good + "\nor\n" + strings.Replace(other, "}", ",}", 1), answer.Ambiguous, "different JSON values"},
		{"two that differ, both broken", strings.Replace(good, "}", ",}", 1) + "\nor\n" + strings.Replace(other, "}", ",}", 1), answer.Ambiguous, "different JSON values"},
		{"wrapped with an error", `{"result": ` + good + `, "error": "the invoice could not be read"}`, answer.Ambiguous, `"error" reports a failure`},
		{"wrapped with an error further out", `{"ok": false, "data": {"result": ` + good + `}}`, answer.Ambiguous, `"ok" reports a failure`},
		{"wrapped with an error, in words", "I tried:\n" + `{"status": "failed", "result": ` + good + `}` + "\nSorry.", answer.Ambiguous, `"status" reports a failure`},
		{"an example", "I cannot find an invoice. A valid answer would look like this: " + good, answer.Ambiguous, "calls its only JSON value that fits an example"},
		{"an example in a fence", "There is none. For example:\n```json\n" + good + "\n```\nPlease send it.", answer.Ambiguous, "an example"},
		{"an example, as is said behind it", good + "\nThis is just an example, as no invoice was attached.", answer.Ambiguous, "an example"},
		{"a broken example", "There is none. For example: " + strings.Replace(good, "}", ",}", 1), answer.Ambiguous, "an example"},
		{"cut in a string", `{"number": "7`, answer.Cut, "/number: it breaks off"},
		{"cut after a value", `{"number": "7", "total": 12.5, "paid": true`, answer.Cut, "/paid: it breaks off"},
		{"cut after a draft", good + "\nNo, rather:\n" + `{"number": "9", "tot`, answer.Cut, "/number: it breaks off"},
		{"cut in thoughts", "<think>" + good, answer.Cut, "within the thoughts"},
		{"a draft in thoughts that did not begin", "maybe " + good + " hmm</think>I could not find an invoice.", answer.NoJSON, "holds no JSON"},
		{"a swallowed field", `{"number: "7", "total": 12.5, "paid": true}`, answer.Broken, "cannot be mended with certainty"},
		{"a missing value", `{"number": "7", "total": , "paid": true}`, answer.Broken, "a field has no value"},
		{"something left out", `{"number": "7", "total": 12.5, "paid": true, ...}`, answer.LeftOut, "leaves something out"},
		{"a field given twice, with other values", `{"number": "7", "total": 12.5, "paid": true, "total": 13}`, answer.Broken, "/total: given twice"},
		{"an array of which the beginning is left out", "[..., 7, 8, 9]", answer.LeftOut, "leaves something out"},
		{"an array of which all is left out", "[ ... ]", answer.LeftOut, "leaves something out"},
		{"cut in a number", `{"total": -`, answer.Cut, "breaks off"},
		{"all left out", "{ ... }", answer.LeftOut, "leaves something out"},
		{"two objects in a row", good + ", " + other, answer.Broken, "a bracket is missing"},
		{"a bracket too many inside", `{"number": "7", "more": {"total": 12.5}}, "paid": true}`, answer.Broken, "a bracket is missing"},
		{"a bracket too many at the end, or one inside", `{"a": {"b": {}}, "number": "7"}}`, answer.Broken, "a bracket is missing"},
		{"fields that are set unevenly beside a quote", `{"number":"7", "x": "5" nails","total":1,"paid":true}`, answer.Broken, "cannot be mended with certainty"},
		{"a list of words in brackets", `{"number": (seven, eight), "total": 12.5, "paid": true}`, answer.Broken, "cannot be mended with certainty"},
		{"backslashes", `{"number": "C:\data\new", "total": 12.5, "paid": true}`, answer.Broken, "backslashes"},
		{"a field that mending leaves out", `{"number": "7", "paid": true,}`, answer.Broken, "/total: required, but missing"},
		{"too long", strings.Repeat(" ", answer.MaxText+1), answer.TooLong, "more than the"},
	}
	check := schemaOf(t, invoice)
	for _, test := range tests {
		_, err := answer.Read(test.text, check)
		failure, ok := errors.AsType[*answer.Error](err)
		if !ok || failure.Reason != test.reason || !strings.Contains(failure.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		correction := answer.Correction(err, "the invoice")
		if !strings.HasPrefix(correction, "Your last answer cannot be used as the invoice:\n- ") || !strings.Contains(correction, test.want) || !strings.Contains(correction, "Answer again") {
			t.Errorf("%s: %s", test.name, correction)
		}
	}
}

// A draft on one line that makes no sense does not hide the answer after it, unless nobody
// can say where the draft ends.
func TestADraftBeforeTheAnswer(t *testing.T) {
	const good = `{"number": "7", "total": 12.5, "paid": true}`
	check := schemaOf(t, invoice)
	for draft, isRead := range map[string]bool{
		`{"a": 1, 2}`: true, `{"a" "b"}`: true, `{"a": [1, 2}`: true, `{"a": "x\"", 2}`: true, `{"a": 1, "b c", 2}`: true,
		`{"a": "x}`: false, `{"a": "x", "}`: false, `{"a": "x\\"", 2}`: false, "{\"a\": 1,\n2}": false,
	} {
		value, err := answer.Read("I thought of "+draft+" first.\n"+good, check)
		if isRead != (err == nil) || isRead && string(value.JSON) != good {
			t.Errorf("%s: %s, %v", draft, value.JSON, err)
		}
	}
}

func TestCutOffIsNeverAnAnswer(t *testing.T) {
	failure := answer.CutOff(`{"number": "7", "lines": [{"count": 3}, {"cou`)
	if failure.Reason != answer.Cut || string(failure.Part) != `{"number":"7","lines":[{"count":3},{}]}` || failure.Problems[0].Pointer != "/lines/1" {
		t.Errorf("%+v, part %s", failure, failure.Part)
	}
	if failure := answer.CutOff(`{"number": "7"}`); failure.Reason != answer.Cut || failure.Error() == "" {
		t.Errorf("%+v", failure)
	}
}
