package argcheck

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// fullOf compiles a schema for jsonschema even where nodes would do.
func fullOf(t testing.TB, schema []byte) *Schema {
	t.Helper()
	document, err := decode(schema)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := new(compiler).compile("", document); err != nil {
		t.Fatal(err)
	}
	rest, err := newValidator(document)
	if err != nil {
		t.Fatalf("%s: %v", schema, err)
	}
	return &Schema{root: anything, rest: rest}
}

type suiteGroup struct {
	file        string
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

func suiteGroups(t *testing.T, draft string) (groups []suiteGroup) {
	t.Helper()
	dir := filepath.Join(corpus.Path(t, "json-schema-suite"), "tests", draft)
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var list []suiteGroup
		if err := json.Unmarshal(data, &list); err != nil {
			return err
		}
		file, err := filepath.Rel(dir, path)
		for _, group := range list {
			group.file = filepath.ToSlash(file)
			if draft == "draft7" {
				group.Schema = withDraft7(group.Schema)
			}
			groups = append(groups, group)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

// withDraft7 names the draft, which the suite leaves to the reader.
func withDraft7(schema json.RawMessage) json.RawMessage {
	rest, isObject := strings.CutPrefix(strings.TrimSpace(string(schema)), "{")
	if !isObject {
		return schema
	}
	head := `{"$schema": "http://json-schema.org/draft-07/schema#"`
	if strings.TrimSpace(rest) != "}" {
		head += ","
	}
	return json.RawMessage(head + rest)
}

// fetching lists the groups that need another document. Nothing is ever fetched, so
// they must not compile.
var fetching = map[string][]string{
	"draft2020-12": {
		"dynamicRef.json: $ref and $dynamicAnchor are independent of order - $defs first",
		"dynamicRef.json: $ref and $dynamicAnchor are independent of order - $ref first",
		"dynamicRef.json: $ref to $dynamicRef finds detached $dynamicAnchor",
		"dynamicRef.json: strict-tree schema, guards against misspelled properties",
		"dynamicRef.json: tests for implementation dynamic anchor and reference link",
		"refRemote.json: $ref to $ref finds detached $anchor",
		"refRemote.json: Location-independent identifier in remote ref",
		"refRemote.json: anchor within remote ref",
		"refRemote.json: base URI change",
		"refRemote.json: base URI change - change folder",
		"refRemote.json: base URI change - change folder in subschema",
		"refRemote.json: fragment within remote ref",
		"refRemote.json: ref within remote ref",
		"refRemote.json: remote HTTP ref with different $id",
		"refRemote.json: remote HTTP ref with different URN $id",
		"refRemote.json: remote HTTP ref with nested absolute ref",
		"refRemote.json: remote ref",
		"refRemote.json: remote ref with ref to defs",
		"refRemote.json: retrieved nested refs resolve relative to their URI not $id",
		"refRemote.json: root ref in remote ref",
		"vocabulary.json: ignore unrecognized optional vocabulary",
		"vocabulary.json: schema that uses custom metaschema with with no validation vocabulary",
	},
	"draft7": {
		"refRemote.json: $ref to $ref finds location-independent $id",
		"refRemote.json: Location-independent identifier in remote ref",
		"refRemote.json: base URI change",
		"refRemote.json: base URI change - change folder",
		"refRemote.json: base URI change - change folder in subschema",
		"refRemote.json: fragment within remote ref",
		"refRemote.json: ref within remote ref",
		"refRemote.json: remote ref",
		"refRemote.json: remote ref with ref to definitions",
		"refRemote.json: retrieved nested refs resolve relative to their URI not $id",
		"refRemote.json: root ref in remote ref",
	},
}

func TestEveryVerdictOfTheOfficialSuiteIsRight(t *testing.T) {
	for draft, refused := range fetching {
		t.Run(draft, func(t *testing.T) {
			fetches := map[string]bool{}
			for _, name := range refused {
				fetches[name] = true
			}
			var run suiteRun
			for _, group := range suiteGroups(t, draft) {
				name := group.file + ": " + group.Description
				schema, err := Compile(group.Schema)
				switch {
				case fetches[name]:
					delete(fetches, name)
					run.refused++
					if !errors.Is(err, errOutside) {
						t.Errorf("%s: compiled, or not for want of fetching: %v", name, err)
					}
				case err != nil:
					t.Errorf("%s: %v", name, err)
				default:
					run.group(t, group, schema)
				}
			}
			for name := range fetches {
				t.Errorf("%s: is not in the suite", name)
			}
			t.Logf("%d groups by nodes, %d by jsonschema, %d refused for fetching; %d verdicts right twice, %d formats not asserted",
				run.byNodes, run.byFull, run.refused, run.verdicts, run.formats)
			if run.byNodes < 50 || run.byFull < 50 || run.verdicts < 900 {
				t.Error("too few groups were checked")
			}
		})
	}
}

// A suiteRun counts what was checked.
type suiteRun struct{ byNodes, byFull, refused, verdicts, formats int }

// group checks the group's verdicts on the path that its schema takes and on the full path.
func (run *suiteRun) group(t *testing.T, group suiteGroup, schema *Schema) {
	if schema.rest == nil {
		run.byNodes++
	} else {
		run.byFull++
	}
	full := fullOf(t, group.Schema)
	for _, test := range group.Tests {
		isFormat := strings.HasPrefix(group.file, "optional/format/") // formats are notes, so all strings fit
		for path, err := range map[string]error{"chosen": schema.Check(test.Data), "full": full.Check(test.Data)} {
			_, isMismatch := errors.AsType[*Mismatch](err)
			if (err == nil) != (test.Valid || isFormat) || err != nil && !isMismatch {
				t.Errorf("%s: %s: %s: %s path: got %v", group.file, group.Description, test.Description, path, err)
			}
		}
		if isFormat && !test.Valid {
			run.formats++
		} else {
			run.verdicts++
		}
	}
}
