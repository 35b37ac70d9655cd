package answer_test

import (
	"math/rand/v2"
	"strings"
)

// texts are what real answers hold: code, markdown, addresses, paths, quotes.
var texts = []string{
	"", " ", "x", "MVP", "As a user I log in, so that I see my things", "true", "12", "-1.5e3", "null", "{}", "[]", "a, b", "a: b", "key: value, other: 1",
	`He said "yes", then left.`, `"quoted"`, `5" nails`, `say "hi"`, `{"a": 1, "b": ["c", "d"]}`, `"a": "b"`, `", "x": "`, `it's 'fine'`, `'tis`, "“curly” and ‘single’",
	"package main\n\nimport \"fmt\"\n\nfunc main() {\n\tm := map[string]int{\"a\": 1, \"b\": 2}\n\tfmt.Println(m[\"a\"], \"done\") // {ok}\n}\n",
	"# Title\n\n- one\n- two: \"three\"\n\n```json\n{\"a\": [1, 2]}\n```\n\nSee [docs](https://example.com/a?b=c&d=[1]#e).\n",
	`C:\Users\new\table.txt`, `\\server\share`, `C:\`, `^\s*path\(\s*['"]([^'"]+)['"]\s*,`, `\d+\.\d+`, "https://example.com/a//b?x={y}", "const f = async () => { return {}; }",
	"SELECT \"id\", name FROM t WHERE a = 'b'; -- end", "line one\nline two\r\n\tindented", "// not a comment", "# nor this", "/* nor */ this", "trailing space ", " leading space", "ends with a comma,",
	"ends with a quote\"", "\"starts with one", "emoji 🎉 and ünïcode", "a\\nb", "tab\there", "...", "…", "<think>no</think>", "}", "]", "\"}]}", "{\"", ", ", ":", "\\", "\"",
	"Step 1: do \"this\": then \"that\"", "a \"b\" c \"d\", \"e\"", "print('it\\'s')", "echo \"$A\" \"$B\"",
}

var names = []string{"id", "title", "content", "path", "status", "items", "notes", "a", "b-c", "user_stories", "with space", "x.y", "größe", "n1"}

// damageDocuments returns 64 documents: 16 answers of a kind that phases give, and 48
// of a generator, half of them indented.
func damageDocuments(random *rand.Rand) (all []document) {
	for i := range 16 {
		all = append(all, newDocument(phaseAnswer(random), i%2 == 0))
	}
	for i := range 48 {
		value := randomObject(random, 3)
		for len(value) < 2 {
			value = randomObject(random, 3)
		}
		all = append(all, newDocument(value, i%2 == 0))
	}
	return all
}

func text(random *rand.Rand) string { return texts[random.IntN(len(texts))] }

func phaseAnswer(random *rand.Rand) map[string]any {
	list := func() []any {
		items := []any{}
		for range random.IntN(4) {
			items = append(items, text(random))
		}
		return items
	}
	return map[string]any{
		"status": "success", "phase": "implementation",
		"outputs":    map[string]any{"files_changed": list(), "steps_completed": []any{map[string]any{"id": random.IntN(9), "title": text(random), "notes": list()}}, "total": random.IntN(40)},
		"artifacts":  []any{map[string]any{"name": "main.go", "path": "src/main.go", "content": texts[24] + text(random), "type": "file", "metadata": map[string]any{}}, map[string]any{"name": "a.md", "path": `docs\a.md`, "content": texts[25], "type": "file"}},
		"validation": map[string]any{"checks": list(), "passed": list(), "failed": []any{}},
		"next_phase": map[string]any{"ready": random.IntN(2) == 0, "blockers": list(), "requirements": nil},
		"errors":     []any{},
	}
}

func randomObject(random *rand.Rand, depth int) map[string]any {
	object := map[string]any{}
	for range random.IntN(5) {
		object[names[random.IntN(len(names))]] = randomValue(random, depth-1)
	}
	return object
}

func randomValue(random *rand.Rand, depth int) any {
	kinds := 8
	if depth <= 0 {
		kinds = 6
	}
	switch random.IntN(kinds) {
	case 0:
		return random.IntN(1000)
	case 1:
		return []any{true, false, nil, -0.5, 1e21, 0}[random.IntN(6)]
	case 2, 3, 4:
		return text(random)
	case 5:
		return text(random) + strings.Repeat(text(random), random.IntN(3))
	case 6:
		return randomObject(random, depth)
	}
	array := []any{}
	for range random.IntN(4) {
		array = append(array, randomValue(random, depth-1))
	}
	return array
}
