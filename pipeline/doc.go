// Package pipeline runs phases whose JSON output is checked against a contract,
// writes artifacts and stops at a closed gate.
package pipeline
