package bundle

import (
	"embed"
	"encoding/json"
	"errors"
	"path"
	"strings"

	"github.com/troupe-dev/troupe"
)

//go:embed engine/*.md
var engineFiles embed.FS

// IsProvided says whether a path means a task of the method's engine that works without
// being installed: bundles name them, and not every version brings them along.
func IsProvided(name string) bool { return engineTask(name) != "" }

// engineTask returns the text of a task that the engine itself provides, empty if the
// path means none. Where the file is there, that is what counts.
func engineTask(name string) string {
	base := path.Base(strings.TrimSpace(name))
	task := strings.TrimSuffix(base, path.Ext(base))
	isTask := path.Base(path.Dir(name)) == "tasks" && (strings.HasSuffix(base, ".xml") || strings.HasSuffix(base, ".md"))
	if !isTask || task != "workflow" && task != "validate-workflow" {
		return ""
	}
	text, err := engineFiles.ReadFile("engine/" + task + ".md")
	if err != nil {
		return ""
	}
	return string(text)
}

// provide answers a call of read_file that found nothing with the task that the engine
// provides, if it asked for one.
func provide(arguments json.RawMessage, result troupe.Result, err error) (troupe.Result, error) {
	failed, ok := errors.AsType[*troupe.ToolError](err)
	if !ok || failed.Class != "not_found" && failed.Class != "invalid_arguments" {
		return result, err
	}
	var in struct {
		FilePath string `json:"file_path"`
	}
	if json.Unmarshal(arguments, &in) != nil {
		return result, err
	}
	text := engineTask(in.FilePath)
	if text == "" {
		return result, err
	}
	content, encoding := encode(map[string]any{"success": true, "path": in.FilePath, "content": text, "size": len(text), "note": "provided by Troupe: the bundle does not bring it along"})
	return troupe.Result{Content: content}, encoding
}
