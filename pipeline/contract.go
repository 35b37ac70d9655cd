package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"regexp"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/argcheck"
	"github.com/troupe-dev/troupe/internal/rawjson"
)

// A Contract says what the answer of one phase must hold. It does not change and
// may be used concurrently.
//
// The schema asks for all that an answer should have. Only what the table lists is
// critical: an answer without it is not used. The rest of what the schema finds are
// warnings.
//
//	phase            critical
//	all              the JSON itself: sound, no field given twice, at most 64 levels
//	all              status (success, partial or failed), phase (this one)
//	unless failed    outputs (an object), next_phase.ready (a boolean)
//	requirements     outputs.user_stories
//	architecture     outputs.components
//	discovery        outputs.relevant_files or outputs.entry_points
//	planning         artifacts[0].content, the plan, or outputs.steps
//	implementation   outputs.files_changed, outputs.steps_completed or outputs.summary
//	qa               outputs.tests_passed or outputs.verdict
//	your own         the outputs that NewContract names
//
// The lower half must be there and not be empty, but only where the answer says that
// the next phase is ready to begin: an agent that is blocked may have nothing yet.
type Contract struct {
	phase    string
	schema   json.RawMessage
	whole    *argcheck.Schema
	critical *argcheck.Schema
	failed   *argcheck.Schema
	// needed are JSON pointers to what the next phase needs; "|" joins alternatives.
	needed []string
	// outputs says of each output whether it is a list.
	outputs map[string]bool
	// keeping is the type of the artifact that a markdown answer becomes.
	keeping string
}

// ContractOf returns the contract of a built-in phase: requirements, architecture,
// discovery, planning, implementation or qa.
func ContractOf(phase string) (*Contract, bool) {
	switch phase {
	case "requirements":
		return builtIn[Requirements](phase, "user_stories"), true
	case "architecture":
		return builtIn[Architecture](phase, "components"), true
	case "discovery":
		return builtIn[Discovery](phase, "relevant_files|entry_points"), true
	case "planning":
		c := builtIn[Planning](phase)
		c.needed = []string{planContent + "|/outputs/steps"}
		c.keeping = ArtifactKnowledge
		return c, true
	case "implementation":
		return builtIn[Implementation](phase, "files_changed|steps_completed|summary"), true
	case "qa":
		return builtIn[QA](phase, "tests_passed|verdict"), true
	}
	return nil, false
}

// planContent points to a plan that is written down as a document.
const planContent = "/artifacts/0/content"

func builtIn[Outputs any](phase string, critical ...string) *Contract {
	c, err := NewContract(phase, encodeSchema(schemaOf(reflect.TypeFor[Outputs]())), critical...)
	if err != nil {
		panic(err)
	}
	return c
}

var plainName = regexp.MustCompile(`^[^~/|]+$`)

// NewContract returns the contract of a phase of your own. The schema is that of
// "outputs" alone and must admit objects; nil admits any. Critical names the outputs
// without which the next phase cannot begin; "a|b" asks for at least one of them.
func NewContract(phase string, outputs json.RawMessage, critical ...string) (*Contract, error) {
	if phase == "" {
		return nil, errors.New("contract: a phase needs a name")
	}
	c := &Contract{phase: phase, outputs: map[string]bool{}, keeping: ArtifactFile}
	for _, alternatives := range critical {
		var pointers []string
		for name := range strings.SplitSeq(alternatives, "|") {
			if !plainName.MatchString(name) {
				return nil, fmt.Errorf("contract %s: %q is not the name of an output", phase, alternatives)
			}
			pointers = append(pointers, "/outputs/"+name)
		}
		c.needed = append(c.needed, strings.Join(pointers, "|"))
	}
	if outputs == nil {
		outputs = json.RawMessage(`{"type": "object"}`)
	}
	if _, err := argcheck.Compile(outputs); err != nil {
		return nil, fmt.Errorf("contract %s: outputs: %w", phase, err)
	}
	c.readOutputs(outputs)
	c.schema = encodeSchema(envelopeSchema(phase, withOwnReferences(outputs)))
	var err error
	if c.whole, err = argcheck.Compile(c.schema); err != nil {
		return nil, fmt.Errorf("contract %s: %w", phase, err)
	}
	if c.critical, err = argcheck.Compile(encodeSchema(criticalSchema(phase))); err != nil {
		return nil, fmt.Errorf("contract %s: %w", phase, err)
	}
	if c.failed, err = argcheck.Compile(encodeSchema(failedSchema(phase))); err != nil {
		return nil, fmt.Errorf("contract %s: %w", phase, err)
	}
	return c, nil
}

// withOwnReferences lets "#/..." in a schema still lead into that schema where it
// becomes part of another.
func withOwnReferences(schema json.RawMessage) any {
	var object map[string]any
	if json.Unmarshal(schema, &object) != nil || object["$id"] != nil || !strings.Contains(string(schema), `"$ref"`) {
		return schema
	}
	object["$id"] = "urn:troupe:outputs"
	return object
}

// readOutputs notes which outputs there are and which of them are lists.
func (c *Contract) readOutputs(schema []byte) {
	for _, f := range rawjson.Fields(rawjson.Fields(schema).At("/properties")) {
		c.outputs[f.Name] = strings.Contains(string(rawjson.Fields(f.Value).At("/type")), `"array"`)
	}
}

// Bind returns a model that is asked for answers of the contract's schema, for an agent of
// your own: providers that can bind an answer to a schema then do.
func (c *Contract) Bind(model troupe.Model) troupe.Model { return &boundModel{model, c} }

type boundModel struct {
	model    troupe.Model
	contract *Contract
}

// Generate implements [troupe.Model].
func (b *boundModel) Generate(ctx context.Context, req *troupe.Request) iter.Seq2[troupe.Chunk, error] {
	bound, params := *req, troupe.Params{}
	if req.Params != nil {
		params = *req.Params
	}
	if len(params.Schema) == 0 {
		params.Schema, params.SchemaName = b.contract.schema, slugOf(b.contract.phase)
	}
	bound.Params = &params
	return b.model.Generate(ctx, &bound)
}

// Phase returns the name of the phase.
func (c *Contract) Phase() string { return c.phase }

// Schema returns the JSON schema (draft 2020-12) of the whole answer.
func (c *Contract) Schema() json.RawMessage { return c.schema }
