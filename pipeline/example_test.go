package pipeline_test

import (
	"encoding/json"
	"fmt"
	"log"

	"github.com/troupe-dev/troupe/pipeline"
)

// A contract for a phase of your own: what its answer must hold, and how it is read
// from what a model really says.
func ExampleNewContract() {
	contract, err := pipeline.NewContract("legal", json.RawMessage(`{"type":"object","properties":{"verdict":{"type":"string"}}}`), "verdict")
	if err != nil {
		log.Fatal(err)
	}
	parsed, err := contract.Parse("Here you are:\n```json\n" + `{"status":"success","phase":"legal","outputs":{"verdict":"MIT is fine"},
		"artifacts":[],"validation":{"checks":[],"passed":[],"failed":[]},"next_phase":{"ready":true,"blockers":[],"requirements":[]},"errors":[]}` + "\n```")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(parsed.Level, parsed.Output.Status, parsed.Output.NextPhase.Ready, string(parsed.Output.Outputs))

	for _, problem := range contract.Check([]byte(`{"status":"done","phase":"legal"}`)) {
		if problem.Critical {
			fmt.Println(problem)
		}
	}
	// Output:
	// extracted success true {"verdict":"MIT is fine"}
	// /status: expected one of "success", "partial", "failed", got string "done"
	// /next_phase: required, but missing
	// /outputs: required, but missing
}

// The built-in phases.
func ExampleSix() {
	for _, phase := range pipeline.Six() {
		fmt.Println(phase.Name)
	}
	// Output:
	// requirements
	// architecture
	// discovery
	// planning
	// implementation
	// qa
}
