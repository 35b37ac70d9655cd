package pipeline_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

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

// cpuTime is what this process and those that it waited for have computed: unlike the
// clock's time it means the same on a busy machine.
func cpuTime() (total time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if syscall.Getrusage(who, &u) == nil {
			total += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
	}
	return total
}

// reportEach reports both times of one of n equal parts.
func reportEach(b *testing.B, began time.Duration, n int, what string) {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 / float64(n) }
	b.ReportMetric(ms(b.Elapsed()), "ms/"+what)
	b.ReportMetric(ms(cpuTime()-began), "cpu-ms/"+what)
	b.ReportMetric(0, "ns/op")
}

// Troupe's own time for a step on 1,000 files: no model, no checks. At most 150 ms are wanted.
func BenchmarkStepIn1000Files(b *testing.B) {
	const few, many = 1, 21
	short, long := filledYard(b, 1000, few), filledYard(b, 1000, many)
	var spent, cpu time.Duration
	for b.Loop() {
		for _, y := range []*yard{short, long} {
			y.counts = map[string]int{}
			began, used := time.Now(), cpuTime()
			y.mustRun(pipeline.OutcomeDelivered)
			// What is not of a step is the same in both.
			if took, computed := time.Since(began), cpuTime()-used; y == long {
				spent, cpu = spent+took, cpu+computed
			} else {
				spent, cpu = spent-took, cpu-computed
			}
		}
	}
	n := float64(b.N * (many - few))
	b.ReportMetric(float64(spent.Microseconds())/1000/n, "ms/step")
	b.ReportMetric(float64(cpu.Microseconds())/1000/n, "cpu-ms/step")
	b.ReportMetric(0, "ns/op")
}

// From the request to the end of the first phase, in 50,000 files. At most 2 s are wanted.
func BenchmarkStartIn50000Files(b *testing.B) {
	y := filledYard(b, 50_000, 1)
	y.config.To = "requirements"
	y.config.Repository.Documents = "outside"
	began := cpuTime()
	for b.Loop() {
		y.mustRun(pipeline.OutcomeDelivered)
	}
	reportEach(b, began, b.N, "start")
}
