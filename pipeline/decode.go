package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/troupe-dev/troupe/internal/rawjson"
)

// UnmarshalJSON takes the fields by their exact names: encoding/json alone would let
// "READY" overrule "ready".
func (o *Output) UnmarshalJSON(data []byte) error {
	*o = Output{Artifacts: []Artifact{}}
	if i := rawjson.SkipSpace(data, 0); i >= len(data) || data[i] != '{' {
		return fmt.Errorf("decode output: expected an object, got %.20q", data)
	}
	decode(data, map[string]any{
		"status":     (*anyText)(&o.Status),
		"phase":      (*anyText)(&o.Phase),
		"outputs":    &o.Outputs,
		"artifacts":  (*artifacts)(&o.Artifacts),
		"validation": &o.Validation,
		"next_phase": &o.NextPhase,
		"errors":     &o.Errors,
	})
	return nil
}

// UnmarshalJSON takes a content that is not text as the JSON that it is.
func (a *Artifact) UnmarshalJSON(data []byte) error {
	*a = Artifact{}
	decode(data, map[string]any{
		"name":     (*anyText)(&a.Name),
		"path":     (*anyText)(&a.Path),
		"content":  (*anyText)(&a.Content),
		"type":     (*anyText)(&a.Type),
		"metadata": &a.Metadata,
	})
	return nil
}

// UnmarshalJSON takes the fields by their exact names.
func (v *Validation) UnmarshalJSON(data []byte) error {
	*v = Validation{}
	decode(data, map[string]any{
		"checks":   &v.Checks,
		"passed":   &v.Passed,
		"failed":   &v.Failed,
		"warnings": &v.Warnings,
	})
	return nil
}

// UnmarshalJSON takes the fields by their exact names. Only true opens the gate, not "true".
func (n *NextPhase) UnmarshalJSON(data []byte) error {
	*n = NextPhase{}
	decode(data, map[string]any{
		"ready":        &n.Ready,
		"blockers":     &n.Blockers,
		"requirements": &n.Requirements,
	})
	return nil
}

// artifacts is a list of them. What stands in it and is no object is an artifact
// without a name.
type artifacts []Artifact

func (l *artifacts) UnmarshalJSON(data []byte) error {
	*l = artifacts{}
	for _, element := range rawjson.Elements(data) {
		var a Artifact
		if err := a.UnmarshalJSON(element); err != nil {
			return err
		}
		*l = append(*l, a)
	}
	return nil
}

// decode puts the fields of an object where the targets say. It leaves empty what
// has the wrong kind: that the contract complains of it is enough.
func decode(object []byte, targets map[string]any) {
	for _, f := range rawjson.Fields(object) {
		switch target := targets[f.Name].(type) {
		case nil:
		case json.Unmarshaler: // directly, as the value is known to be sound
			_ = target.UnmarshalJSON(f.Value)
		default:
			_ = json.Unmarshal(f.Value, target)
		}
	}
}

// anyText is a string that takes any value: what is not a string as the JSON that it is.
type anyText string

func (t *anyText) UnmarshalJSON(data []byte) error {
	switch data = bytes.TrimSpace(data); {
	case string(data) == "null":
		*t = ""
	case data[0] == '"':
		*t = anyText(rawjson.Unquote(data))
	default:
		*t = anyText(data)
	}
	return nil
}
