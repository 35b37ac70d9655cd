package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/argcheck"
)

// synonyms are names that the tools of other programs have for the same argument. Models
// that were trained on those use them here. A name that differs only in case is none: it is
// refused.
var synonyms = [][]string{
	{"file_path", "path", "filePath", "filepath", "file", "filename", "file_name", "fileName", "target_file", "targetFile", "relative_path", "relativePath"},
	{"path", "directory", "dir", "folder", "dir_path", "directory_path", "folder_path"},
	{"content", "contents", "text", "file_text", "file_content", "fileContent", "new_content"},
	{searchName, "old_text", "old_str", "old_string", "oldText", "oldStr", "oldString", "old"},
	{replaceName, "new_text", "new_str", "new_string", "newText", "newStr", "newString", "new", "replacement"},
}

// What an edit consists of, and where it stands.
const editsName, searchName, replaceName = "edits", "search", "replace"

// meanTheSame says whether two names are known to stand for one argument.
func meanTheSame(a, b string) bool {
	return slices.ContainsFunc(synonyms, func(names []string) bool { return slices.Contains(names, a) && slices.Contains(names, b) })
}

// renamed returns a value whose unknown fields have the names that they are known by, and
// reports whether there are such. A field for which there are two names, or a name for which
// there are two fields, is left as it is. Whether the value fits then is for a check to say.
func renamed(value []byte, err error) ([]byte, bool) {
	mismatch, ok := errors.AsType[*argcheck.Mismatch](err)
	if !ok {
		return value, false
	}
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.UseNumber()
	var document any
	if decoder.Decode(&document) != nil {
		return value, false
	}
	changed := false
	for _, p := range mismatch.Problems {
		if p.IsRepeated {
			return value, false // decoding has chosen one of them
		}
		var known []string
		if json.Unmarshal([]byte(p.Known), &known) != nil {
			continue
		}
		steps := strings.Split(p.Path, "/")
		for _, object := range objectsAt(document, steps[1:len(steps)-1]) {
			changed = rename(object, known) || changed
		}
	}
	if !changed {
		return value, false
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(document) != nil {
		return value, false
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), true
}

// objectsAt returns the object at a path, and those beside it where it is in a list.
func objectsAt(document any, path []string) (objects []map[string]any) {
	for i, step := range path {
		switch at := document.(type) {
		case map[string]any:
			document = at[unescapeStep(step)]
		case []any:
			if i < len(path)-1 {
				return nil // a list within a list
			}
			for _, item := range at {
				if object, ok := item.(map[string]any); ok {
					objects = append(objects, object)
				}
			}
			return objects
		default:
			return nil
		}
	}
	if object, ok := document.(map[string]any); ok {
		objects = append(objects, object)
	}
	return objects
}

// rename gives the fields of an object the names that are known, as far as that can be done
// in one way only.
func rename(object map[string]any, known []string) (changed bool) {
	meant := make(map[string][]string) // by the name that is known: those that are given
	for name := range object {
		if slices.Contains(known, name) {
			continue
		}
		var names []string
		for _, k := range known {
			if _, given := object[k]; !given && meanTheSame(name, k) {
				names = append(names, k)
			}
		}
		if len(names) == 1 {
			meant[names[0]] = append(meant[names[0]], name)
		}
	}
	for k, names := range meant {
		if len(names) == 1 {
			object[k] = object[names[0]]
			delete(object, names[0])
			changed = true
		}
	}
	return listEdit(object, known) || changed
}

// listEdit puts an edit into the list of edits, where it stands beside it instead.
func listEdit(object map[string]any, known []string) bool {
	if _, given := object[editsName]; given || !slices.Contains(known, editsName) {
		return false
	}
	edit := make(map[string]any)
	var names []string
	for name := range object {
		for _, part := range []string{searchName, replaceName} {
			if _, isDouble := edit[part]; meanTheSame(name, part) && !slices.Contains(known, name) {
				if isDouble {
					return false
				}
				edit[part] = object[name]
				names = append(names, name)
			}
		}
	}
	if len(edit) != 2 {
		return false
	}
	for _, name := range names {
		delete(object, name)
	}
	object[editsName] = []any{edit}
	return true
}
