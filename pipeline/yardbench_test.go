package pipeline_test

import (
	"fmt"
	"testing"

	"github.com/troupe-dev/troupe/pipeline"
)

// filledYard has many files and no checks.
func filledYard(b *testing.B, files, steps int) *yard {
	b.Helper()
	content := map[string]string{}
	for i := range files {
		content[fmt.Sprintf("dir%d/file%d.txt", i%100, i)] = fmt.Sprintf("line %d\nanother\n", i)
	}
	y := newYard(b, content)
	y.config.Repository.Unchecked, y.config.Repository.QARounds = true, -1
	y.answer = func(phase, step, _ string, _ int) string {
		switch phase {
		case "planning":
			var list []object
			for i := range steps {
				list = append(list, yardStep(fmt.Sprint(i+1), fmt.Sprintf("Step %d", i+1), object{"files": []string{"dir1/file1.txt"}}))
			}
			return thought(phase, list...)
		case "implementation":
			return built(fileOf("new/step"+step+".txt", "x\n"))
		}
		return thought(phase)
	}
	return y
}

// Troupe's own time for a step on 1,000 files: no model, no checks.
func BenchmarkStepIn1000Files(b *testing.B) {
	const steps = 20
	y := filledYard(b, 1000, steps)
	for b.Loop() {
		y.counts = map[string]int{}
		y.mustRun(pipeline.OutcomeDelivered)
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*steps), "ms/step")
}

// From the request to the first question to a model, in 50,000 files.
func BenchmarkStartIn50000Files(b *testing.B) {
	y := filledYard(b, 50_000, 1)
	y.config.To = "requirements"
	y.config.Repository.Documents = "outside"
	for b.Loop() {
		y.mustRun(pipeline.OutcomeDelivered)
	}
}
