package bundle

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/troupe-dev/troupe/internal/laxyaml"
)

// A tomlLayer is one of several files that are laid over each other.
type tomlLayer struct {
	file   string // relative to the project
	values map[string]any
	mended []Finding // see readTOML
}

// maxMended bounds the lines of a file that are left out so that the others count.
const maxMended = 20

// readTOML reads a layer as parseTOML does, but leaves out lines that are no TOML, and
// notes them: an agent with all but one of its settings is worth more than none. The
// error is that of a file in which there is nothing else.
func readTOML(file, src string) (tomlLayer, error) {
	layer, err := parseTOML(file, src)
	if err == nil {
		return layer, nil
	}
	first := err
	lines := strings.SplitAfter(src, "\n")
	var mended []Finding
	for range maxMended {
		found, ok := errors.AsType[*Finding](err)
		if !ok || found.Code != CodeTOML || found.Line < 1 || found.Line > len(lines) || strings.TrimSpace(lines[found.Line-1]) == "" {
			break
		}
		lines[found.Line-1] = "\n"
		mended = append(mended, withAdvice(err, file, "; the line is passed over"))
		if layer, err = parseTOML(file, strings.Join(lines, "")); err == nil {
			break
		}
	}
	if err != nil || len(layer.values) == 0 {
		return tomlLayer{file: file}, first
	}
	layer.mended = mended
	return layer, nil
}

// parseTOML reads a layer. The error is a *Finding.
func parseTOML(file, src string) (tomlLayer, error) {
	if len(src) > laxyaml.MaxBytes {
		return tomlLayer{}, problem(CodeUnreadable, file, 1, "more than %d bytes", laxyaml.MaxBytes)
	}
	src = strings.TrimPrefix(src, "\ufeff")
	layer := tomlLayer{file: file}
	if err := toml.Unmarshal([]byte(src), &layer.values); err != nil {
		line := 1
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ = at.Position()
		}
		return tomlLayer{}, problem(CodeTOML, file, line, "%v", err)
	}
	return layer, nil
}

// mergeLayers lays files over each other by BMAD's rules: a later scalar replaces an
// earlier one, tables are merged, lists of tables that all have a code, or else all an
// id, are merged by it, and other lists follow one another.
func mergeLayers(layers ...tomlLayer) (map[string]any, error) {
	merged := map[string]any{}
	for _, layer := range layers {
		var err error
		if merged, err = mergeTables(merged, layer.values); err != nil {
			return nil, problem(CodeTOML, layer.file, 1, "%v", err)
		}
	}
	return merged, nil
}

func mergeTables(base, over map[string]any) (map[string]any, error) {
	merged := make(map[string]any, len(base)+len(over))
	for key, value := range base {
		merged[key] = value
	}
	for key, value := range over {
		below, exists := merged[key]
		if !exists {
			below = nil
		}
		var err error
		if merged[key], err = mergeValues(below, value); err != nil {
			return nil, err
		}
	}
	return merged, nil
}

func mergeValues(base, over any) (any, error) {
	switch over := over.(type) {
	case map[string]any:
		if below, ok := base.(map[string]any); ok {
			return mergeTables(below, over)
		}
		return mergeTables(nil, over)
	case []any:
		if below, ok := base.([]any); ok {
			return mergeLists(below, over)
		}
	}
	return over, nil
}

// mergeLists merges by a key that all items of both lists have, or appends.
func mergeLists(base, over []any) (any, error) {
	all := append(append([]any{}, base...), over...)
	key := commonKey(all)
	if key == "" {
		return all, nil
	}
	var merged []any
	place := map[string]int{}
	for i, item := range all {
		table := item.(map[string]any)
		name, isText := table[key].(string)
		switch {
		case !isText:
			return nil, fmt.Errorf("the %s of an item in a list must be a text, and is %v", key, table[key])
		case name == "":
			return nil, fmt.Errorf("the %s of an item in a list must not be empty", key)
		}
		if at, ok := place[name]; ok && i >= len(base) {
			merged[at] = item
			continue
		}
		place[name] = len(merged)
		merged = append(merged, item)
	}
	return merged, nil
}

// commonKey returns the key by which items are told apart: code, or else id, if all
// are tables that have it.
func commonKey(items []any) string {
	for _, key := range []string{"code", "id"} {
		all := len(items) > 0
		for _, item := range items {
			table, ok := item.(map[string]any)
			all = all && ok && table[key] != nil
		}
		if all {
			return key
		}
	}
	return ""
}
