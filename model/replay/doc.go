// Package replay records a model's answers to a file and plays them back.
//
// Record once, with a real model:
//
//	recorder, err := replay.Record(model, "testdata/answers.jsonl")
//	...
//	defer recorder.Close()
//
// and from then on test without one:
//
//	player, err := replay.Open("testdata/answers.jsonl")
//
// A [Player] never asks a model. A request that was not recorded is an error that
// says how it differs from what was.
//
// The file has one JSON object to a line, one for each exchange. It holds what was
// said and what was reported as an error, and nothing else: no keys and no headers.
package replay
