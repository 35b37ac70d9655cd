package postgres

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/internal/postgrestest"
)

// BenchmarkAppend measures appends of many sessions at the same time, each waited for
// until it is on disk.
func BenchmarkAppend(b *testing.B) {
	server := postgrestest.Start(b, "fsync=on")
	s := openAt(b, server.Address("postgres"))
	const sessions = 64
	text := strings.Repeat("a message of some length. ", 20)
	var leases [sessions]troupe.Lease
	for n := range leases {
		leases[n] = mustAcquire(b, s, id(n))
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	times := make([][]time.Duration, sessions)
	b.ResetTimer()
	var wg sync.WaitGroup
	for n := range sessions {
		wg.Go(func() {
			for seq := int64(1); left.Add(-1) >= 0; seq++ {
				began := time.Now()
				if err := s.Append(b.Context(), id(n), under(leases[n], eventsOf(id(n), seq, said(text)))...); err != nil {
					b.Error(err)
					return
				}
				times[n] = append(times[n], time.Since(began))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	all := slices.Sorted(slices.Values(slices.Concat(times...)))
	b.ReportMetric(float64(len(all))/b.Elapsed().Seconds(), "appends/s")
	b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
}
