package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter is how long a server asks to be left alone: in milliseconds, in
// seconds, or until a date; or else until what it counts for us is no longer used
// up, where its headers tell of that.
func RetryAfter(header http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil {
		return bounded(ms, time.Millisecond)
	}
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return bounded(seconds, time.Second)
	}
	if date, err := http.ParseTime(value); err == nil {
		return bounded(time.Until(date).Seconds(), time.Second)
	}
	return untilReset(header)
}

// untilReset is the longest wait for a count that has come to 0. The names are
// those of OpenAI and Azure, Anthropic, and OpenRouter.
func untilReset(header http.Header) (wait time.Duration) {
	for name, values := range header {
		before, counted, ok := strings.Cut(name, "-Remaining")
		if !ok || !strings.Contains(name, "Ratelimit") || len(values) == 0 || values[0] != "0" {
			continue
		}
		for _, reset := range []string{before + "-Reset" + counted, before + counted + "-Reset"} {
			wait = max(wait, waitOf(header.Get(reset)))
		}
	}
	return wait
}

// waitOf reads the time of a reset: a duration such as 6m0s, seconds, a date, or
// milliseconds or seconds since 1970.
func waitOf(text string) time.Duration {
	const longAgo = 5e8 // seconds since 1970: smaller numbers are seconds to wait
	if d, err := time.ParseDuration(text); err == nil {
		return bounded(d.Seconds(), time.Second)
	}
	if date, err := time.Parse(time.RFC3339, text); err == nil {
		return bounded(time.Until(date).Seconds(), time.Second)
	}
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil:
		return 0
	case n > longAgo*1000:
		return bounded(time.Until(time.UnixMilli(int64(n))).Seconds(), time.Second)
	case n > longAgo:
		return bounded(time.Until(time.Unix(int64(n), 0)).Seconds(), time.Second)
	}
	return bounded(n, time.Second)
}

func bounded(n float64, unit time.Duration) time.Duration {
	if !(n > 0) { // not a number is not
		return 0
	}
	return time.Duration(min(n, float64(maxRetry/unit)) * float64(unit))
}
