package main

import "testing"

// A server carries out what is due, and what is to be made up for.
func TestAServerCarriesOutSchedules(t *testing.T) {
	dir := write(t, oneClerk)
	for _, args := range [][]string{
		{"schedule", "add", "sums", "clerk", "Calculate 6*7", "--cron", "0 7 * * *"},
		{"schedule", "add", "often", "clerk", "Calculate 1+1", "--cron", "@every 1s"},
		{"schedule", "backfill", "sums", "--from", "2026-03-02T00:00:00Z", "--until", "2026-03-05T00:00:00Z"},
	} {
		if p := start(t, dir, nil, nil, args...); p.code() != 0 {
			t.Fatalf("%v: %s", args, &p.err)
		}
	}
	base, token, stop := serveIn(t, dir)
	completed := func(title string) (n int) {
		var found []struct{ Title, Status string }
		request(t, "GET", base+"/api/sessions", token, "", &found)
		for _, s := range found {
			if s.Title == title && s.Status == "completed" {
				n++
			}
		}
		return n
	}
	until(t, "three days are made up for", func() bool { return completed("Calculate 6*7") == 3 })
	until(t, "what is due is run", func() bool { return completed("Calculate 1+1") >= 2 })
	if p := start(t, dir, nil, nil, "schedule", "remove", "often"); p.code() != 0 {
		t.Errorf("%s", &p.err)
	}
	if err := stop(); err != nil {
		t.Errorf("it did not end well: %v", err)
	}
}
